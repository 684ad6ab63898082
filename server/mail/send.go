package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	gomail "github.com/wneessen/go-mail"
	"github.com/yuin/goldmark"

	"rail/gen/db"
	"rail/server/clock"
)

const (
	writeTimeout = 5 * time.Second
	sendTimeout  = 30 * time.Second
	// lostAfter is when a mail that is still being sent has lost its worker.
	lostAfter = 10 * time.Minute
)

// waits are the times from one attempt to the next.
var waits = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 12 * time.Hour}

// Transport carries one mail.
type Transport interface {
	Send(ctx context.Context, m *gomail.Msg) error
}

// NewTransport reads RAIL_SMTP_URL: smtp:// (STARTTLS where the server has it),
// smtps://, or dir:PATH, which writes each mail as a file.
func NewTransport(address string) (Transport, error) {
	if path, ok := strings.CutPrefix(address, "dir:"); ok {
		return folder(path), nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	options := []gomail.Option{gomail.WithTimeout(sendTimeout), gomail.WithTLSPolicy(gomail.TLSOpportunistic)}
	if u.Scheme == "smtps" {
		options = append(options, gomail.WithSSLPort(false))
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil {
			return nil, err
		}
		options = append(options, gomail.WithPort(n))
	}
	if u.User != nil {
		password, _ := u.User.Password()
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	return smtp{host: u.Hostname(), options: options}, nil
}

type smtp struct {
	host    string
	options []gomail.Option
}

// Send opens a connection a mail: transactional mails are few.
func (s smtp) Send(ctx context.Context, m *gomail.Msg) error {
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, m)
}

type folder string

// Send writes the mail as ID.eml.
func (f folder) Send(_ context.Context, m *gomail.Msg) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	return m.WriteToFile(filepath.Join(string(f), strings.Trim(m.GetMessageID(), "<>")+".eml"))
}

// Sender sends what the outbox holds.
type Sender struct {
	Pool      *pgxpool.Pool
	Transport Transport
	From      string // address
	Name      string // shown beside the address
	Log       *slog.Logger
}

// Run sends everything that is due.
func (s Sender) Run(ctx context.Context, now clock.Time) error {
	if s.Transport == nil {
		return nil
	}
	before := now.Plus(-lostAfter)
	if _, err := queries.MailsLost(ctx, s.Pool, &before); err != nil {
		return err
	}
	for ctx.Err() == nil { // one at a time: what is taken is sent, whatever happens
		taken, err := queries.MailsTake(ctx, s.Pool, db.MailsTakeParams{Now: &now, Lim: 1})
		if err != nil || len(taken) == 0 {
			return err
		}
		if err := s.send(ctx, taken[0], now); err != nil {
			return err
		}
	}
	return nil
}

// send sends one mail and writes how it went.
func (s Sender) send(ctx context.Context, m db.Mail, now clock.Time) error {
	msg, err := s.message(m)
	if err == nil {
		if err = s.Transport.Send(ctx, msg); msg.IsDelivered() {
			err = nil // what went wrong after that does not concern the mail
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout) // also when the server stops
	defer cancel()
	if err == nil {
		return queries.MailSent(ctx, s.Pool, db.MailSentParams{Now: &now, ID: m.ID})
	}
	text := err.Error()
	s.Log.Warn("mail not sent", "id", m.ID, "purpose", m.Purpose, "attempt", m.Attempts, "error", text)
	if n := int(m.Attempts); again(err) && n <= len(waits) {
		next := now.Plus(waits[n-1])
		return queries.MailAgain(ctx, s.Pool, db.MailAgainParams{NextAttemptAt: &next, Error: &text, ID: m.ID})
	}
	return queries.MailFailed(ctx, s.Pool, db.MailFailedParams{Error: &text, ID: m.ID})
}

// again tells whether a mail has surely not gone and may go later: not after the
// server had all of it, and not where the server refuses it for good.
func again(err error) bool {
	var refused *gomail.SendError
	if !errors.As(err, &refused) {
		return true // no connection
	}
	if refused.Reason == gomail.ErrSMTPDataClose { // an answer is clear, a lost connection is not
		return refused.ErrorCode() >= 400 && refused.ErrorCode() < 500
	}
	return refused.IsTemp()
}

// message builds the mail: plain text as written, and HTML from the Markdown.
func (s Sender) message(m db.Mail) (*gomail.Msg, error) {
	msg := gomail.NewMsg()
	if err := msg.FromFormat(s.Name, s.From); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	if err := msg.To(m.Recipient); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	var html bytes.Buffer
	if err := goldmark.Convert([]byte(m.Body), &html); err != nil {
		return nil, err
	}
	_, host, _ := strings.Cut(s.From, "@")
	msg.SetMessageIDWithValue(m.ID + "@" + host)
	msg.SetDateWithValue(m.CreatedAt.Time)
	msg.Subject(m.Subject)
	msg.SetBodyString(gomail.TypeTextPlain, m.Body)
	msg.AddAlternativeString(gomail.TypeTextHTML, html.String())
	return msg, nil
}
