package bar

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rail/server/clock"
	"rail/server/harness/process"
	"rail/server/inbound/connection"
	"rail/server/team"
	"rail/server/work"
)

const (
	// slowBodies is the number of callers of processors' addresses that never end their bodies. mostMemory is the
	// memory in MiB that the server may use meanwhile: 110 at the start, places of 2 MiB each, and as much for a late
	// garbage collection. All bodies together have 600.
	slowBodies, mostMemory = 300, 256
	// largest is the size of the largest body that is read, and places is how many the server waits for at a time.
	largest, places = 2 << 20, 24
	// mostSignIn bounds the sign-in of a known browser during a flood: what a hash may wait for its turn, and the
	// work of the machine.
	mostSignIn = 3 * time.Second
	attacked   = "a good password of the bar"
)

// underAttack is G12: slow bodies without a key, a flood of wrong passwords, and a database without disk or memory.
func underAttack(ctx context.Context, sys *system, size Size) (f figures, err error) {
	o, err := sys.org(ctx, "Attacked")
	if err != nil {
		return nil, err
	}
	a := &assault{sys: sys, o: o}
	a.program = o.createID(ctx, "/v1/programs", M{
		"name": "Attacked", "website_url": "https://a.example", "currency": "USD",
	})
	if a.server, err = sys.process(sys.dsn); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.server.end()) }()
	err = errors.Join(a.slow(ctx, &f), a.flood(ctx, size.of(40, 8), &f), a.short(ctx, &f))
	return f, err
}

// assault is the state of G12, with a server whose memory and queues no other stage has used.
type assault struct {
	sys     *system
	o       *org
	program string
	server  *instance
}

// slow sends bodies that each lack the last byte. The server has a limited number of places for them and refuses the
// rest, and its memory stays within the limit.
func (a *assault) slow(ctx context.Context, f *figures) error {
	var at string
	err := a.o.unit().Within(ctx, func(u *work.Unit) error {
		c, _, err := connection.Service{Keeper: a.sys.keeper}.Connect(ctx, u, connection.Input{
			ProgramID: a.program, Processor: connection.Generic, Live: true,
		})
		at = "/hooks/generic/" + c.ID
		return err
	})
	if err != nil {
		return err
	}
	answers := make(chan shown, slowBodies)
	junk := bytes.Repeat([]byte(" "), largest-1)
	for i := range slowBodies {
		conn, err := a.begin(ctx, at, fmt.Sprintf("198.51.100.%d", i%20))
		if err != nil {
			return err
		}
		defer conn.Close()                      //nolint:errcheck // its body never ends
		go func() { _, _ = conn.Write(junk) }() // the server need not read it
		go func() {
			if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				answers <- shown{status: res.StatusCode, header: res.Header}
				_ = res.Body.Close() // nothing is lost
			}
		}()
	}
	for n := range slowBodies - places {
		select {
		case res := <-answers:
			if again := res.header.Get("Retry-After"); res.status != http.StatusTooManyRequests || again == "" {
				a.sys.fault("a slow body answered %d, Retry-After %q", res.status, again)
			}
		case <-time.After(time.Minute):
			return fmt.Errorf("only %d of %d slow bodies are refused", n, slowBodies-places)
		}
	}
	mib, err := process.PeakMemory(a.server.cmd.Process.Pid)
	if err == nil && mib > mostMemory {
		a.sys.fault("%d slow bodies take %d MiB of memory, more than %d", slowBodies, mib, mostMemory)
	}
	f.add("slow bodies", slowBodies)
	f.add("MiB of memory at most", mib)
	return nil // a system without /proc does not say
}

// begin opens a connection and sends the head of a request that has a signature, though a wrong one.
func (a *assault) begin(ctx context.Context, path, from string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.server.addr)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nwebhook-id: a\r\nwebhook-timestamp: %d\r\nwebhook-signature: v1,YQ==\r\n\r\n",
		path, from, largest, time.Now().Unix())
	return conn, err
}

// flood guesses passwords from 100 networks. The owner, who has signed in from a browser before, signs in from it as
// often as n.
func (a *assault) flood(ctx context.Context, n int, f *figures) error {
	people := team.New(team.Service{
		Pool: a.sys.pool, Keeper: a.sys.keeper, Clock: clock.System{}, BaseURL: "http://" + a.server.addr,
	})
	email := a.sys.unique("owner") + "@attacked.example"
	_, link, err := people.Create(ctx, a.o.unit(), team.NewUser{Email: email, Name: "Owner", Role: team.Owner})
	if err == nil {
		_, err = people.Reset(ctx, path.Base(link), attacked)
	}
	if err != nil {
		return err
	}
	token, err := a.formToken(ctx)
	if err != nil {
		return err
	}
	sign := func(ctx context.Context, from, password, cookie string) (shown, error) {
		return a.signIn(ctx, url.Values{"form_token": {token}, "email": {email}, "password": {password}}, from, cookie)
	}
	res, err := sign(ctx, "203.0.113.1", attacked, "")
	if err != nil || res.status != http.StatusSeeOther {
		return errors.Join(err, fmt.Errorf("the owner's sign-in answered %d", res.status))
	}
	browser := ""
	for _, c := range (&http.Response{Header: res.header}).Cookies() {
		if strings.HasSuffix(c.Name, "_browser") {
			browser = c.Name + "=" + c.Value
		}
	}
	flooding, stop := context.WithCancel(ctx)
	defer stop()
	var callers sync.WaitGroup
	var guesses atomic.Int64
	for i := range 100 {
		callers.Go(func() {
			for flooding.Err() == nil {
				if _, err := sign(flooding, fmt.Sprintf("192.0.2.%d", i), "a wrong password", ""); err == nil {
					guesses.Add(1)
				}
			}
		})
	}
	slowest, err := a.through(ctx, n, browser, func(cookie string) (shown, error) {
		return sign(ctx, "203.0.113.1", attacked, cookie)
	})
	stop()
	callers.Wait()
	f.add("guesses of passwords", guesses.Load())
	f.add("ms at most to sign in from a known browser", slowest.Milliseconds())
	return err
}

// through waits until strangers are refused, even with the right password, and then signs in from the known browser.
func (a *assault) through(
	ctx context.Context, n int, browser string, sign func(cookie string) (shown, error),
) (slowest time.Duration, err error) {
	for {
		res, err := sign("")
		if err != nil || ctx.Err() != nil {
			return 0, errors.Join(err, ctx.Err())
		}
		if res.status == http.StatusTooManyRequests {
			break
		}
	}
	for range n {
		began := time.Now()
		res, err := sign(browser)
		if err != nil {
			return slowest, err
		}
		took := time.Since(began)
		if res.status != http.StatusSeeOther || took > mostSignIn {
			a.sys.fault("a known browser's sign-in answered %d after %s in a flood", res.status, took)
		}
		slowest = max(slowest, took)
	}
	return slowest, nil
}

var formTokens = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

// formToken returns the token of the sign-in page's form.
func (a *assault) formToken(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.server.addr+"/console/sign-in", http.NoBody)
	if err != nil {
		return "", err
	}
	page, err := a.page(r)
	if err != nil {
		return "", err
	}
	found := formTokens.FindStringSubmatch(page.text)
	if found == nil {
		return "", errors.New("the sign-in page has no form")
	}
	return found[1], nil
}

// signIn sends the form of the sign-in page from an address.
func (a *assault) signIn(ctx context.Context, form url.Values, from, cookie string) (shown, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.server.addr+"/console/sign-in",
		strings.NewReader(form.Encode()))
	if err != nil {
		return shown{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Forwarded-For", from)
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	return a.page(r)
}

// shown is the answer of a page.
type shown struct {
	status int
	header http.Header
	text   string
}

// page returns what a page answers.
func (a *assault) page(r *http.Request) (shown, error) {
	res, err := a.sys.http.Do(r)
	if err != nil {
		return shown{}, err
	}
	defer res.Body.Close() //nolint:errcheck // the body is read to its end
	var text bytes.Buffer
	_, err = text.ReadFrom(res.Body)
	return shown{res.StatusCode, res.Header, text.String()}, err
}

// shortages are states of a database that has too little of something, with the check that says it.
var shortages = []struct{ state, check string }{{"53100", "disk"}, {"53200", "memory"}}

// short has the database refuse writes as with a full disk, and as without memory. Writes are 503 and say when to come
// again, reads go on, and writes do afterwards.
func (a *assault) short(ctx context.Context, f *figures) error {
	a.sys.unavailable.Store(true)
	defer a.sys.unavailable.Store(false)
	refused := 0
	for _, s := range shortages {
		_, err := a.sys.pool.Exec(ctx, fmt.Sprintf(`CREATE FUNCTION bar_short() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE EXCEPTION 'the bar refuses it' USING ERRCODE = '%s'; END $$;
			CREATE TRIGGER bar_short BEFORE INSERT ON partners EXECUTE FUNCTION bar_short()`, s.state))
		if err != nil {
			return err
		}
		for range 4 {
			got := a.partner(ctx)
			again := got.header.Get("Retry-After")
			if got.status != http.StatusServiceUnavailable || again == "" || got.code() != "unavailable" {
				a.sys.fault("too little %s answered %d, Retry-After %q: %s", s.check, got.status, again, got.raw)
			}
			refused++
		}
		if got := a.o.get(ctx, "/v1/partners?program_id="+a.program); got.status != http.StatusOK {
			a.sys.fault("a list with too little %s answered %d", s.check, got.status)
		}
		ready := "http://" + a.sys.processes[0].addr + "/readyz?verbose"
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, ready, http.NoBody)
		if err != nil {
			return err
		}
		page, err := a.page(r)
		if err == nil && !strings.Contains(page.text, "[-]"+s.check+" failed") {
			a.sys.fault("too little %s is not in /readyz?verbose: %s", s.check, page.text)
		}
		_, dropped := a.sys.pool.Exec(ctx, "DROP TRIGGER bar_short ON partners; DROP FUNCTION bar_short()")
		if err := errors.Join(err, dropped); err != nil {
			return err
		}
		if got := a.partner(ctx); got.status != http.StatusCreated {
			a.sys.fault("a write after too little %s answered %d: %s", s.check, got.status, got.raw)
		}
	}
	f.add("writes refused for lack of disk space or memory", refused)
	return nil
}

// partner writes a partner.
func (a *assault) partner(ctx context.Context) answer {
	name := a.sys.unique("attacked")
	return a.o.post(ctx, "/v1/partners", M{"program_id": a.program, "email": name + "@a.example", "handle": name})
}
