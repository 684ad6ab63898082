package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"time"

	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/secret"
	"rail/server/team"
	"rail/server/work"
)

// What a page of the console may take of the server's time, and weigh before it is compressed.
const (
	maxPage  = 100 * time.Millisecond
	maxBytes = 40_000
	looks    = 15 // at each page, of which the first ones warm up
)

// pagePaths are the pages of a program that are measured.
var pagePaths = []string{
	"", "?days=365", "/setup", "/partners", "/applications", "/customers", "/sales", "/commissions", "/payouts", "/rules",
	"/reports", "/risk", "/mails", "/resources", "/settings", "/groups", "/integrations", "/webhooks", "/keys", "/log",
}

// page is how long a page of the console took, in the median, and what it weighs.
type page struct {
	Path  string
	Took  time.Duration
	Bytes int
}

// pages measures the pages of the console one after another, as one person sees them, and returns how many
// take too long or weigh too much.
func (b *bench) pages(ctx context.Context) (out []page, missed int, err error) {
	token, err := b.signIn(ctx)
	if err != nil {
		return nil, 0, err
	}
	// As a server's job does: what it has not summed yet is summed by every report.
	if err := report.Sum(ctx, b.server.pool, clock.System{}.Now()); err != nil {
		return nil, 0, err
	}
	fmt.Fprintf(b.Out, "\npages of the console: at most %s and %d bytes\n", maxPage, maxBytes)
	for _, at := range pagePaths {
		p, err := b.look(ctx, token, at)
		if err != nil {
			return nil, 0, err
		}
		word := "holds "
		if p.Took > maxPage || p.Bytes > maxBytes {
			word = "missed"
			missed++
		}
		fmt.Fprintf(b.Out, "%s  %-15s %8.1f ms %7d bytes\n", word, cmp.Or(p.Path, "(home)"), float64(p.Took.Microseconds())/1000, p.Bytes)
		out = append(out, p)
	}
	return out, missed, nil
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

// look asks for a page several times.
func (b *bench) look(ctx context.Context, token, at string) (page, error) {
	p, took := page{Path: at}, []time.Duration{}
	for range looks {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			"http://"+b.server.addr+"/console/p/"+id("prg", programBase)+at, http.NoBody)
		if err != nil {
			return p, err
		}
		r.AddCookie(&http.Cookie{Name: "rail_console", Value: token})
		began := time.Now()
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return p, err
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			return p, err
		}
		if res.StatusCode != http.StatusOK {
			return p, fmt.Errorf("the page %s answers %d", at, res.StatusCode)
		}
		took, p.Bytes = append(took, time.Since(began)), len(body)
	}
	took = took[looks/3:]
	slices.Sort(took)
	p.Took = took[len(took)/2]
	return p, nil
}
