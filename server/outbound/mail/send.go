package mail

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	gomail "github.com/wneessen/go-mail"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
	"rail/server/telemetry/outage"
	"rail/server/work/queue"
)

const (
	readTimeout = 10 * time.Second
	sendTimeout = 30 * time.Second
	// lostAfter is when a mail in state sending counts as abandoned by its worker.
	lostAfter = 10 * time.Minute
)

// waits are the times between attempts; after the last one a mail has failed.
var waits = queue.Backoff{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 12 * time.Hour}

// Transport sends one mail.
type Transport interface {
	Send(ctx context.Context, m *gomail.Msg) error
}

// NewTransport parses RAIL_SMTP_URL: smtp:// (with STARTTLS if offered), smtps://, or dir:PATH, which writes
// each mail to a file.
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
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(u.User.Username()),
			gomail.WithPassword(password))
	}
	return smtp{host: u.Hostname(), options: options}, nil
}

type smtp struct {
	host    string
	options []gomail.Option
}

// Send opens a connection for each mail, since most mails come one at a time.
func (s smtp) Send(ctx context.Context, m *gomail.Msg) error {
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, m)
}

type folder string

// Send writes the mail as ID.eml, for development without a mail server.
func (f folder) Send(_ context.Context, m *gomail.Msg) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	return m.WriteToFile(filepath.Join(string(f), strings.Trim(m.GetMessageID(), "<>")+".eml"))
}

// Sender sends the mails of the outbox.
type Sender struct {
	Pool      *pgxpool.Pool
	Transport Transport
	From      string // address
	Name      string // shown beside the address
	BaseURL   string // address of the service, without a trailing slash
	Keeper    *secret.Keeper
	// Link returns the address of a partner's link, for placeholders.
	Link func(page, param, value string) string
	// Pixel adds an image to campaigns that reports openings.
	Pixel bool
	Clock clock.Clock
	Log   *slog.Logger
	// Outcomes counts the outcomes of attempts; may be nil.
	Outcomes *prometheus.CounterVec
	// Outages reports failures of the mail server; may be nil.
	Outages *outage.Log
	now     func() clock.Time // of the run
}

// NewOutcomes registers the counter of outcomes in r.
func NewOutcomes(r prometheus.Registerer) *prometheus.CounterVec {
	c := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "rail_mails_total", Help: "Attempts to send a mail, by outcome.",
	}, []string{"outcome"})
	for _, outcome := range []string{sent, retried, failed, skipped} {
		c.WithLabelValues(outcome)
	}
	return c
}

// count counts an attempt.
func (s Sender) count(outcome string) {
	if s.Outcomes != nil {
		s.Outcomes.WithLabelValues(outcome).Inc()
	}
}

// workers is the number of mails that one replica sends concurrently.
const workers = 4

// Run sends all mails that are due. Its clock starts at now and advances, since a run may be long and includes
// mails that become due in the meantime.
func (s Sender) Run(ctx context.Context, now clock.Time) error {
	if s.Transport == nil {
		return nil
	}
	began := s.Clock.Now()
	s.now = func() clock.Time { return now.Plus(s.Clock.Now().Sub(began.Time)) }
	q := queue.Queue[db.Mail]{Workers: workers, Clock: s.Clock, Claim: s.take, Work: s.sendEach}
	return errors.Join(s.giveUp(ctx), q.Run(ctx))
}

// giveUp fails mails whose worker died while sending. It is unknown whether they were sent, and no mail is sent
// twice.
func (s Sender) giveUp(ctx context.Context) error {
	before := s.now().Plus(-lostAfter)
	lost, failures := queries.MailsAbandoned(ctx, s.Pool, &before)
	for _, m := range lost {
		failures = errors.Join(failures, s.finish(ctx, m, failed, "The server stopped while sending it."))
	}
	return failures
}

// take marks the next mail as being sent and returns it. It completes even while the server stops: a marked mail
// that was not read would be lost. A worker takes one mail at a time, and sends or returns it even then.
func (s Sender) take(ctx context.Context, _ clock.Time) ([]db.Mail, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	now := s.now()
	return queries.MailsTake(ctx, s.Pool, db.MailsTakeParams{Now: &now, Lim: 1})
}

func (s Sender) sendEach(ctx context.Context, mails []db.Mail) error { return s.send(ctx, mails[0]) }

// skippedText is the error of a skipped mail.
const skippedText = "The partner has unsubscribed, or the partner, campaign or sequence was deleted."

// send makes one attempt and writes its result.
func (s Sender) send(ctx context.Context, m db.Mail) error {
	reader, err := s.recipient(ctx, m)
	switch {
	case err != nil:
		return errors.Join(err, s.later(ctx, m, 0, "The recipient of the mail could not be read."))
	case ctx.Err() != nil:
		return s.later(ctx, m, 0, "The server stopped before sending it.")
	case reader != nil && reader.Verdict == "skip":
		return s.finish(ctx, m, skipped, skippedText)
	case reader != nil && reader.Verdict == "back":
		return s.write(ctx, func(ctx context.Context, tx *pgtx.Tx) error { return s.back(ctx, tx, m) })
	}
	values, err := s.values(ctx, m)
	if err != nil {
		return errors.Join(err, s.later(ctx, m, 0, "The values of the placeholders could not be read."))
	}
	msg, err := s.message(m, reader, values)
	if err == nil {
		if err = s.Transport.Send(ctx, msg); msg.IsDelivered() {
			err = nil // later errors do not concern the mail
		}
	}
	if err != nil {
		err = discreet{err}
	}
	if err == nil {
		s.Outages.Note("", nil)
		return s.finish(ctx, m, sent, "")
	}
	if retryable(err) {
		s.Outages.Note("", err)
		// m.Attempts counts this attempt.
		if wait, again := waits.After(int(m.Attempts)); again {
			return s.later(ctx, m, wait, err.Error())
		}
	}
	s.Log.Warn("mail failed", "id", m.ID, "purpose", m.Purpose, "attempts", m.Attempts, "error", err)
	return s.finish(ctx, m, failed, err.Error())
}

// discreet is an error of a mail server without the email addresses in its text, which belong neither to logs nor to
// the reason that is stored.
type discreet struct{ error }

var address = regexp.MustCompile(`[^\s<>(),:;"]+@[^\s<>(),:;"]+`)

func (d discreet) Error() string { return address.ReplaceAllString(d.error.Error(), "(address)") }

func (d discreet) Unwrap() error { return d.error }

// values returns the values of a bulk mail's placeholders, or those stored with a mail; nil for none.
func (s Sender) values(ctx context.Context, m db.Mail) (values Values, err error) {
	if m.Placeholders != nil {
		return values, json.Unmarshal(m.Placeholders, &values)
	}
	if m.PartnerID == nil || !braced.MatchString(m.Subject) && !braced.MatchString(m.Body) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	return s.layout().ValuesOf(ctx, s.Pool, m.OrgID, *m.PartnerID)
}

// retryable reports whether a mail was certainly not delivered and may be retried. It may not after the server
// received all of it, or after a permanent refusal.
func retryable(err error) bool {
	var refused *gomail.SendError
	if !errors.As(err, &refused) {
		return true // no connection
	}
	if refused.Reason == gomail.ErrSMTPDataClose { // an answer is clear, a lost connection is not
		return refused.ErrorCode() >= 400 && refused.ErrorCode() < 500
	}
	return refused.IsTemp() || refused.ErrorCode() == 0 // a lost connection has no code
}
