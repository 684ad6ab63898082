package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/cli/sample"
	"rail/server/clock"
	"rail/server/harness/crawl"
	"rail/server/money/payout"
	"rail/server/money/report"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
	"rail/server/team"
	"rail/server/work"
)

// Limits of a console page: the server's time, and its size before compression.
const (
	maxPage  = 100 * time.Millisecond
	maxBytes = 60_000
	looks    = 9 // at each page, of which the first ones warm up
)

// page is a kind of page of the console: how long the slowest one took, in the median, and
// what the largest one weighs.
type page struct {
	Path  string
	Took  time.Duration
	Bytes int
}

// missed reports whether it takes too long or weighs too much.
func (p page) missed() bool { return p.Took > maxPage || p.Bytes > maxBytes }

// pages measures the pages of the console one after another, as one person sees them who follows all
// links: those of a program with many rows, and of the sample, which has rows of all kinds. It returns
// how many kinds of pages miss their goal.
func (b *bench) pages(ctx context.Context) (out []page, missed int, err error) {
	if err := b.settle(ctx); err != nil {
		return nil, 0, err
	}
	w := walk{kinds: map[string]page{}, at: "http://" + b.server.addr}
	if w.token, err = b.signIn(ctx); err != nil {
		return nil, 0, err
	}
	programs, err := db.New().SamplePrograms(ctx, b.server.pool, org)
	if err != nil {
		return nil, 0, err
	}
	for _, program := range append(programs, id("prg", programBase)) {
		get := func(at string) (string, error) { return w.fetch(ctx, at) }
		if err := crawl.Walk("/console/p/"+program, get); err != nil {
			return nil, 0, err
		}
	}
	fmt.Fprintf(b.Out, "\npages of the console: at most %s and %d bytes\n", maxPage, maxBytes)
	for _, p := range slices.SortedFunc(maps.Values(w.kinds), func(x, y page) int { return cmp.Compare(x.Path, y.Path) }) {
		word := "holds "
		if p.missed() {
			word = "missed"
			missed++
		}
		fmt.Fprintf(b.Out, "%s %8.1f ms %7d bytes  %s\n", word, float64(p.Took.Microseconds())/1000, p.Bytes, p.Path)
		out = append(out, p)
	}
	return out, missed, nil
}

// settle leaves the database as a server's jobs would have: what is not summed is read row by row by
// every report. Of the large programs only the one to look at is as old as its sales, since the job
// takes a transaction for each of their days.
func (b *bench) settle(ctx context.Context) error {
	keeper, err := secret.New(b.config.SecretKey)
	if err != nil {
		return err
	}
	now := clock.System{}.Now()
	if err := sample.Load(ctx, b.server.pool, keeper, org, now); err != nil && !errors.Is(err, sample.ErrLoaded) {
		return err
	}
	_, err = b.server.pool.Exec(ctx, "UPDATE programs SET created_at = $1 WHERE id = $2", now.Days(-366),
		id("prg", programBase))
	if err != nil {
		return err
	}
	if err := report.Sum(ctx, b.server.pool, now); err != nil {
		return fmt.Errorf("report sums: %w", err)
	}
	if err := b.collect(ctx, now); err != nil {
		return fmt.Errorf("payout runs: %w", err)
	}
	return b.unlimited(ctx, "ANALYZE report_sums, report_spans")
}

// collect makes the payout runs of the months before the last one, so that a month's commissions are left to collect.
func (b *bench) collect(ctx context.Context, now clock.Time) error {
	_, err := b.server.pool.Exec(ctx, "UPDATE partners SET payout_method = 'paypal' WHERE program_id = $1", id("prg", programBase))
	if err != nil {
		return err
	}
	u := work.NewRun(b.server.pool, work.Actor{Kind: work.Operator}, now).For(org)
	until := clock.MonthOf(now.DayIn(time.UTC)).AddDate(0, -1, -1).Format(time.DateOnly)
	err = u.Within(ctx, func(u *work.Unit) error {
		if _, err := u.Tx.Exec(ctx, pgtx.Unhurried); err != nil {
			return err
		}
		_, _, err := payout.GenerateIn(ctx, u, id("prg", programBase), payout.Order{Until: until})
		return err
	})
	if err != nil {
		return err
	}
	return b.unlimited(ctx, "VACUUM ANALYZE commissions")
}

// signIn makes an owner and returns the token of a session.
func (b *bench) signIn(ctx context.Context) (string, error) {
	keeper, err := secret.New(b.config.SecretKey)
	if err != nil {
		return "", err
	}
	people := team.New(team.Service{Pool: b.server.pool, Keeper: keeper, Clock: clock.System{}, BaseURL: b.config.BaseURL})
	u := work.NewRun(b.server.pool, work.Actor{Kind: work.Operator}, clock.System{}.Now()).For(org)
	_, link, err := people.Create(ctx, u, team.NewUser{Email: "bench@acme.example", Name: "Bench", Role: team.Owner})
	if err != nil {
		return "", err
	}
	c, err := people.Reset(ctx, path.Base(link), "a password for the bench")
	if err != nil {
		return "", err
	}
	return people.Begin(ctx, c, "bench", "127.0.0.1")
}

// walk is a person who looks at pages, several times at each.
type walk struct {
	at, token string
	kinds     map[string]page
}

// fetch asks for a page and returns its body.
func (w *walk) fetch(ctx context.Context, at string) (body string, err error) {
	var took []time.Duration
	for range looks {
		began := time.Now()
		if body, err = w.get(ctx, at); err != nil {
			return "", err
		}
		took = append(took, time.Since(began))
	}
	took = took[looks/3:]
	slices.Sort(took)
	kind := cmp.Or(strings.TrimPrefix(crawl.Kind(at), "/console/p/{id}"), "(home)")
	p := w.kinds[kind]
	w.kinds[kind] = page{kind, max(p.Took, took[len(took)/2]), max(p.Bytes, len(body))}
	return body, nil
}

// get asks for a page once.
func (w *walk) get(ctx context.Context, at string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.at+at, http.NoBody)
	if err != nil {
		return "", err
	}
	r.AddCookie(&http.Cookie{Name: "rail_console", Value: w.token})
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %d", res.StatusCode)
	}
	return string(body), err
}
