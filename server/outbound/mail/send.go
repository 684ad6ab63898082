package mail

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
)

const (
	readTimeout = 10 * time.Second
	sendTimeout = 30 * time.Second
	// lostAfter is when a mail that is still being sent has lost its worker.
	lostAfter = 10 * time.Minute
)

// waits are the times between attempts; after the last one a mail has failed.
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
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(u.User.Username()),
			gomail.WithPassword(password))
	}
	return smtp{host: u.Hostname(), options: options}, nil
}

type smtp struct {
	host    string
	options []gomail.Option
}

// Send opens a connection for each mail, since most mails come one by one.
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
	BaseURL   string // where the pages of mails are reached, without a slash at its end
	Keeper    *secret.Keeper
	// Pixel puts a picture into campaigns that shows their opening.
	Pixel bool
	Clock clock.Clock
	Log   *slog.Logger
	// Outcomes counts how attempts end; nil for nobody.
	Outcomes *prometheus.CounterVec
	// Outages tells when the mail server fails; nil for nobody.
	Outages *outage.Log
	now     func() clock.Time // of the run
}

// NewOutcomes returns the counter of a sender's outcomes, in r.
func NewOutcomes(r prometheus.Registerer) *prometheus.CounterVec {
	c := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "rail_mails_total", Help: "Attempts to send a mail, by what became of the mail.",
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

// workers is how many mails one replica sends at once.
const workers = 4

// Run sends everything that is due. Its time begins at now and advances with the
// clock, since a run may be long and takes what becomes due meanwhile.
func (s Sender) Run(ctx context.Context, now clock.Time) error {
	if s.Transport == nil {
		return nil
	}
	began := s.Clock.Now()
	s.now = func() clock.Time { return now.Plus(s.Clock.Now().Sub(began.Time)) }
	failures := make([]error, workers+1)
	failures[workers] = s.giveUp(ctx)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() { failures[i] = s.drain(ctx) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// giveUp ends mails whose worker died while sending. They count as failed: whether
// they were sent is not known, and no mail is sent twice.
func (s Sender) giveUp(ctx context.Context) error {
	before := s.now().Plus(-lostAfter)
	lost, failures := queries.MailsLost(ctx, s.Pool, &before)
	for _, m := range lost {
		failures = errors.Join(failures, s.done(ctx, m, failed, "The server stopped while it was sent."))
	}
	return failures
}

// drain takes one mail at a time until none is due. A mail that was taken is sent
// or given back, also when the server stops.
func (s Sender) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		taken, err := s.take(ctx)
		if err != nil || len(taken) == 0 {
			return err
		}
		if err := s.send(ctx, taken[0]); err != nil {
			return err
		}
	}
	return nil
}

// take marks the next mail as being sent and returns it. It ends also while the
// server stops: a mail that was marked and not read would be lost.
func (s Sender) take(ctx context.Context) ([]db.Mail, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	now := s.now()
	return queries.MailsTake(ctx, s.Pool, db.MailsTakeParams{Now: &now, Lim: 1})
}

// gone is the error of a mail that was skipped.
const gone = "The partner has unsubscribed or is gone, or the campaign or sequence is."

// send makes one attempt and writes its result.
func (s Sender) send(ctx context.Context, m db.Mail) error {
	reader, err := s.reader(ctx, m)
	switch {
	case err != nil:
		return errors.Join(err, s.later(ctx, m, 0, "It could not be read whom the mail is for."))
	case ctx.Err() != nil:
		return s.later(ctx, m, 0, "The server stopped before it was sent.")
	case reader != nil && reader.Verdict == "skip":
		return s.done(ctx, m, skipped, gone)
	case reader != nil && reader.Verdict == "back":
		return s.write(ctx, func(ctx context.Context, tx *pgtx.Tx) error { return s.back(ctx, tx, m) })
	}
	msg, err := s.message(m, reader)
	if err == nil {
		if err = s.Transport.Send(ctx, msg); msg.IsDelivered() {
			err = nil // what went wrong after that does not concern the mail
		}
	}
	if err == nil {
		s.Outages.Note("", nil)
		return s.done(ctx, m, sent, "")
	}
	if again(err) {
		s.Outages.Note("", err)
		// m.Attempts counts this attempt.
		if n := int(m.Attempts); n <= len(waits) {
			return s.later(ctx, m, waits[n-1], err.Error())
		}
	}
	s.Log.Warn("mail failed", "id", m.ID, "purpose", m.Purpose, "attempts", m.Attempts, "error", err)
	return s.done(ctx, m, failed, err.Error())
}

// again reports whether a mail was certainly not delivered and may be later. It
// may not once the server had all of it, or if the server refused it for good.
func again(err error) bool {
	var refused *gomail.SendError
	if !errors.As(err, &refused) {
		return true // no connection
	}
	if refused.Reason == gomail.ErrSMTPDataClose { // an answer is clear, a lost connection is not
		return refused.ErrorCode() >= 400 && refused.ErrorCode() < 500
	}
	return refused.IsTemp() || refused.ErrorCode() == 0 // a lost connection gives no code
}
