package mail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/locale"
	"rail/server/postgres/pgtx"
	"rail/server/telemetry/outage"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var start = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

// ada is an English-speaking recipient.
var ada = named("Acme")

// named returns ada as a partner of a program with a name.
func named(program string) Recipient {
	return Recipient{"ada@example.com", "prg_1", program, locale.English}
}

func outbox(t *testing.T) (*pgxpool.Pool, *Outbox) {
	t.Helper()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'A', now())")
	require.NoError(t, err)
	return pool, &Outbox{Configured: true}
}

// carrier is a transport that records mails, or fails.
type carrier struct {
	mu  sync.Mutex
	got []string
	err error
}

func (c *carrier) Send(_ context.Context, m *gomail.Msg) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.got = append(c.got, m.GetMessageID())
	}
	return c.err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func state(t *testing.T, pool *pgxpool.Pool) (status string, attempts int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT status, attempts FROM mails").Scan(&status, &attempts))
	return status, attempts
}

// TestOnce: a mail is unique by purpose and key, and several workers send it once.
func TestOnce(t *testing.T) {
	pool, o := outbox(t)
	for range 3 {
		require.NoError(t, o.Queue(t.Context(), pool, "org_1", PayoutPaid(ada, "pyt_1", 4999, "USD"), start))
	}
	c := &carrier{}
	s := Sender{
		Pool: pool, Transport: c, From: "rail@rail.example", Name: "Rail", Clock: clock.NewManual(start.Time), Log: quiet(),
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _ = s.Run(context.Background(), start) })
	}
	wg.Wait()
	require.Len(t, c.got, 1)
	status, _ := state(t, pool)
	require.Equal(t, "sent", status)
	require.NoError(t,
		(&Outbox{}).Queue(t.Context(), pool, "org_1", PayoutPaid(ada, "pyt_2", 1, "USD"), start))
	var none *Outbox
	require.NoError(t, none.Queue(t.Context(), pool, "org_1", PayoutPaid(ada, "pyt_2", 1, "USD"), start))
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT status FROM mails").Scan(&status),
		"still one: nothing is configured")
}

// TestBackOff: mails that certainly failed are retried at growing intervals, then given up.
func TestBackOff(t *testing.T) {
	pool, o := outbox(t)
	require.NoError(t, o.Queue(t.Context(), pool, "org_1", PayoutPaid(ada, "pyt_1", 1, "USD"), start))
	c := &carrier{err: errors.New("connection refused")}
	var output bytes.Buffer
	r := prometheus.NewRegistry()
	log, still := slog.New(slog.NewTextHandler(&output, nil)), clock.NewManual(start.Time)
	s := Sender{
		Pool: pool, Transport: c, From: "rail@rail.example", Name: "Rail", Clock: still, Log: log,
		Outcomes: NewOutcomes(r), Outages: outage.New(log, still, "the mail server", ""),
	}
	now := start
	for n, wait := range waits {
		require.NoError(t, s.Run(t.Context(), now))
		require.NoError(t, s.Run(t.Context(), now.Plus(wait-time.Second)), "not before its time")
		status, attempts := state(t, pool)
		require.Equal(t, []any{"queued", n + 1}, []any{status, attempts})
		now = now.Plus(wait)
	}
	require.NoError(t, s.Run(t.Context(), now))
	status, attempts := state(t, pool)
	require.Equal(t, []any{"failed", len(waits) + 1}, []any{status, attempts})
	require.InDelta(t, len(waits), counted(t, r, retried), 0)
	require.InDelta(t, 1, counted(t, r, failed), 0)
	require.Equal(t, 1, strings.Count(output.String(), "the mail server began to fail"), "no line a try")
	require.Equal(t, 1, strings.Count(output.String(), "mail failed"))

	require.NoError(t, o.Queue(t.Context(), pool, "org_1", PayoutPaid(ada, "pyt_2", 1, "USD"), now))
	c.err = nil
	require.NoError(t, s.Run(t.Context(), now))
	require.InDelta(t, 1, counted(t, r, sent), 0)
	require.Contains(t, output.String(), "the mail server recovered")
}

// counted returns the number of attempts with an outcome.
func counted(t *testing.T, r *prometheus.Registry, outcome string) float64 {
	t.Helper()
	all, err := r.Gather()
	require.NoError(t, err)
	for _, m := range all[0].GetMetric() {
		if m.GetLabel()[0].GetValue() == outcome {
			return m.GetCounter().GetValue()
		}
	}
	return 0
}

// TestAtMostOnce: a mail whose worker died while sending is not sent again.
func TestAtMostOnce(t *testing.T) {
	pool, o := outbox(t)
	require.NoError(t, o.Queue(t.Context(), pool, "org_1", PayoutPaid(ada, "pyt_1", 1, "USD"), start))
	_, err := pool.Exec(t.Context(), "UPDATE mails SET status = 'sending', next_attempt_at = NULL, taken_at = $1", start)
	require.NoError(t, err)
	c := &carrier{}
	s := Sender{
		Pool: pool, Transport: c, From: "rail@rail.example", Name: "Rail", Clock: clock.NewManual(start.Time), Log: quiet(),
	}
	require.NoError(t, s.Run(t.Context(), start.Plus(lostAfter)))
	status, _ := state(t, pool)
	require.Equal(t, "sending", status)
	require.NoError(t, s.Run(t.Context(), start.Plus(lostAfter+time.Second)))
	status, _ = state(t, pool)
	require.Equal(t, "failed", status)
	require.Empty(t, c.got)
	require.False(t, retryable(&gomail.SendError{Reason: gomail.ErrSMTPDataClose}), "the server may have it")
}

// TestFolder: dir: writes complete mails, plain and HTML, in which text by others stays text.
func TestFolder(t *testing.T) {
	pool, o := outbox(t)
	m := Rejected(named("Shop *best*\nBcc: evil@example.com"), "app_1",
		"See <script>alert(1)</script> [here](http://evil.example)")
	require.NoError(t, o.Queue(t.Context(), pool, "org_1", m, start))
	dir := filepath.Join(t.TempDir(), "mail")
	carried, err := NewTransport("dir:" + dir)
	require.NoError(t, err)
	require.NoError(t,
		Sender{
			Pool: pool, Transport: carried, From: "rail@rail.example", Name: "Räil", Clock: clock.NewManual(start.Time),
			Log: quiet(),
		}.Run(t.Context(), start))
	files, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	raw, err := os.ReadFile(files[0])
	require.NoError(t, err)
	text := string(raw)
	for _, want := range []string{"To: <ada@example.com>", "text/plain", "text/html", "Message-ID: <mail_"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "\nBcc:")
	require.NotContains(t, text, "=0A")
	_, page, _ := strings.Cut(text, "text/html")
	require.NotContains(t, page, "<script>")
	require.NotContains(t, page, "<a href")
}

// TestSMTP uses a minimal mail server.
func TestSMTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() // a test's
	got := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close() // a test's
		in := bufio.NewReader(conn)
		say := func(s string) { _, _ = io.WriteString(conn, s+"\r\n") }
		say("220 test")
		var data strings.Builder
		for reading := false; ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			switch {
			case reading && line == ".\r\n":
				reading = false
				got <- data.String()
				say("250 taken")
			case reading:
				data.WriteString(line)
			case strings.HasPrefix(line, "EHLO"):
				say("250 test")
			case strings.HasPrefix(line, "DATA"):
				reading = true
				say("354 go")
			case strings.HasPrefix(line, "QUIT"):
				say("221 bye")
				return
			default:
				say("250 ok")
			}
		}
	}()
	pool, o := outbox(t)
	require.NoError(t, o.Queue(t.Context(), pool, "org_1", NewReferral(ada, "cus_1", true), start))
	carried, err := NewTransport("smtp://" + l.Addr().String())
	require.NoError(t, err)
	require.NoError(t,
		Sender{
			Pool: pool, Transport: carried, From: "rail@rail.example", Name: "Rail", Clock: clock.NewManual(start.Time),
			Log: quiet(),
		}.Run(t.Context(), start))
	require.Contains(t, <-got, "Subject: Your first referral")
	status, _ := state(t, pool)
	require.Equal(t, "sent", status)
}

// dropping is a mail server that hangs up at a line with a prefix.
func dropping(t *testing.T, at string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go hangUp(conn, at)
		}
	}()
	return "smtp://" + l.Addr().String()
}

func hangUp(conn net.Conn, at string) {
	defer conn.Close() // a test's
	in := bufio.NewScanner(conn)
	_, _ = io.WriteString(conn, "220 test\r\n")
	for reading := false; in.Scan() && !strings.HasPrefix(in.Text(), at); {
		switch {
		case reading:
			continue
		case in.Text() == "DATA":
			reading = true
			_, _ = io.WriteString(conn, "354 go\r\n")
		default:
			_, _ = io.WriteString(conn, "250 ok\r\n")
		}
	}
}

// TestLostConnection: a mail is retried if the connection was lost before the mail's end, and only then.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"EHLO": "queued", "NOOP": "queued", "MAIL": "queued", "RCPT": "queued", "DATA": "queued", ".": "failed",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			pool, o := outbox(t)
			require.NoError(t, o.Queue(t.Context(), pool, "org_1", PayoutPaid(ada, "pyt_1", 1, "USD"), start))
			carried, err := NewTransport(dropping(t, at))
			require.NoError(t, err)
			s := Sender{
				Pool: pool, Transport: carried, From: "rail@rail.example", Name: "Rail", Clock: clock.NewManual(start.Time),
				Log: quiet(),
			}
			require.NoError(t, s.Run(t.Context(), start))
			status, _ := state(t, pool)
			require.Equal(t, want, status)
		})
	}
	for code, want := range map[gomail.SendErrReason]bool{
		gomail.ErrWriteContent: true, gomail.ErrConnCheck: true, gomail.ErrSMTPDataClose: false,
	} {
		require.Equal(t, want, retryable(&gomail.SendError{Reason: code}), code)
	}
}

// TestErrorsHaveNoAddresses: the text of an error has no email address, so that logs have none.
func TestErrorsHaveNoAddresses(t *testing.T) {
	t.Parallel()
	refused := &gomail.SendError{Reason: gomail.ErrSMTPRcptTo}
	err := discreet{fmt.Errorf("550 <bob.o'hara+x@mail.example>: unknown, affected recipient(s): ada@example.com, <b@c.de>: %w",
		refused)}
	require.Equal(t, "550 <(address)>: unknown, affected recipient(s): (address), <(address)>: "+refused.Error(), err.Error())
	require.ErrorIs(t, err, refused)
	require.Equal(t, retryable(refused), retryable(err))
}

// TestRetryOfResult: writing a result is retried after a transient error.
func TestRetryOfResult(t *testing.T) {
	t.Parallel()
	pool, _ := outbox(t)
	for code, want := range map[string]int{"55P03": 3, "40P01": 3, "57P01": 3, "08006": 3, "23514": 1, "42P01": 1} {
		tries := 0
		err := insist(t.Context(), pool, func(context.Context, *pgtx.Tx) error {
			if tries++; tries < 3 {
				return &pgconn.PgError{Code: code}
			}
			return nil
		})
		require.Equal(t, []any{want, want == 3}, []any{tries, err == nil}, code)
	}
}

// TestResultAndDeletion: writing a result and changing the campaign wait for each other without a deadlock.
func TestResultAndDeletion(t *testing.T) {
	t.Parallel()
	pool, _ := outbox(t)
	for _, sql := range []string{
		"ALTER TABLE campaigns DROP CONSTRAINT campaigns_program_fkey", // no program is needed here
		"INSERT INTO campaigns (id, org_id, program_id, name, subject, body, group_ids, tag_ids, statuses, status, started_at, total, created_at, updated_at) VALUES ('camp_1', 'org_1', 'prg_1', 'C', 's', 'b', '{}', '{}', '{}', 'sending', now(), 1, now(), now())",
		"INSERT INTO campaign_recipients (campaign_id, partner_id, org_id, program_id, status) VALUES ('camp_1', 'part_1', 'org_1', 'prg_1', 'mailed')",
		"INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, attempts, taken_at, created_at, partner_id, campaign_id) VALUES ('mail_1', 'org_1', 'campaign', 'camp_1', 'a@example.com', 's', 'b', 'sending', 1, now(), now(), 'part_1', 'camp_1')",
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	changing, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer changing.Rollback(context.Background()) // after its end
	_, err = changing.Exec(t.Context(), "SELECT 1 FROM campaigns FOR NO KEY UPDATE")
	require.NoError(t, err)
	partner, campaign := "part_1", "camp_1"
	written := make(chan error, 1)
	go func() {
		s := Sender{Pool: pool, now: func() clock.Time { return start }}
		written <- s.finish(context.Background(),
			db.Mail{ID: "mail_1", OrgID: "org_1", Attempts: 1, PartnerID: &partner, CampaignID: &campaign}, sent, "")
	}()
	wait.ForLocks(t, pool, "", 1)
	_, err = changing.Exec(t.Context(), "SELECT 1 FROM campaign_recipients FOR UPDATE NOWAIT")
	require.NoError(t, err, "who waits for the campaign locks nothing of it")
	require.NoError(t, changing.Commit(t.Context()))
	require.NoError(t, <-written)
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT sent FROM campaigns").Scan(&n))
	require.Equal(t, 1, n)
}
