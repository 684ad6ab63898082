package team

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/auth/attempt"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/ident"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// good is every user's password in the tests, hashed once.
const good = "correct horse battery"

var hashed = sync.OnceValues(func() (string, error) { return argon2id.CreateHash(good, cost) })

// home is the network of sign-ins in the tests.
const home = "203.0.113.7"

var atHome = From{Address: home}

// office is a service with an organization on a separate database.
type office struct {
	testing.TB
	*Service
	pool  *pgxpool.Pool
	clock *clock.Manual
	org   string
}

func newOffice(t testing.TB) *office {
	t.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	o := &office{TB: t, pool: pgtest.New(t), clock: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	o.Service = New(Service{
		Pool: o.pool, Keeper: keeper, Clock: o.clock, BaseURL: "https://rail.example", Mail: &mail.Outbox{Configured: true},
	})
	o.org = o.newOrg("Acme")
	return o
}

func (o *office) newOrg(name string) string {
	o.Helper()
	id := ident.New(ident.Organization)
	require.NoError(o, queries.OrganizationInsert(o.Context(), o.pool, db.OrganizationInsertParams{
		ID: id, Name: name, CreatedAt: o.clock.Now(),
	}))
	return id
}

// person creates a user of the organization with the password good.
func (o *office) person(name string, role Role) User { return o.personOf(o.org, name, role) }

func (o *office) personOf(org, name string, role Role) User {
	o.Helper()
	hash, err := hashed()
	require.NoError(o, err)
	row := db.UserInsertParams{
		ID: ident.New(ident.User), OrgID: org, Email: name + "@acme.example", Name: name, Role: string(role), PasswordHash: &hash,
		CreatedAt: o.clock.Now(),
	}
	require.NoError(o, queries.UserInsert(o.Context(), o.pool, row))
	return o.get(User{ID: row.ID, OrgID: org})
}

// as returns a unit with a user as its actor.
func (o *office) as(u User) *work.Unit { return o.asPerson(u.OrgID, u.ID) }

// operator returns a unit of the command line.
func (o *office) operator() *work.Unit {
	return work.NewRun(o.pool, work.Actor{Kind: work.Operator}, o.clock.Now()).For(o.org)
}

// get reads a user again.
func (o *office) get(u User) User {
	o.Helper()
	got, err := o.User(o.Context(), o.as(u), u.ID)
	require.NoError(o, err)
	return got
}

// signedIn begins a session of a user with the password good and no second factor.
func (o *office) signedIn(u User) string {
	o.Helper()
	c, err := o.SignIn(o.Context(), u.Email, good, atHome)
	require.NoError(o, err)
	require.True(o, c.Ready())
	token, err := o.Begin(o.Context(), c, "Browser", home)
	require.NoError(o, err)
	return token
}

// in reports whether a token belongs to a session.
func (o *office) in(token string) bool {
	o.Helper()
	_, err := o.Session(o.Context(), token)
	if err != nil {
		require.ErrorIs(o, err, ErrSignedOut)
	}
	return err == nil
}

// refused requires a refusal with a code and a parameter.
func refused(t require.TestingT, err error, code problem.Code, param string) {
	var p *problem.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, []any{code, param}, []any{p.Code, p.Param}, p.Message)
}

// count returns a number from a statement.
func (o *office) count(sql string, args ...any) (n int64) {
	o.Helper()
	require.NoError(o, o.pool.QueryRow(o.Context(), sql, args...).Scan(&n))
	return n
}

// race runs do n times concurrently and returns how many succeeded; the others must end with one of the errors.
func race(t testing.TB, n int, do func(i int) error, lost ...error) (won int) {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		expected := false
		for _, l := range lost {
			expected = expected || errors.Is(err, l)
		}
		require.True(t, expected, "%v", err)
	}
	return won
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	c, err := o.SignIn(t.Context(), " Ada@Acme.example ", good, atHome)
	require.NoError(t, err)
	require.True(t, c.Ready())
	require.Equal(t, ada.ID, c.User.ID)
	none := o.person("none", Viewer)
	_, err = o.pool.Exec(t.Context(), "UPDATE users SET password_hash = NULL WHERE id = $1", none.ID)
	require.NoError(t, err)
	off := o.person("off", Viewer)
	require.NoError(t, o.Disable(t.Context(), o.as(ada), off.ID))
	for _, c := range [][2]string{
		{ada.Email, "wrong horse battery"},
		{ada.Email, ""},
		{ada.Email, good + string(make([]byte, maxPassword))},
		{"nobody@acme.example", good},
		{none.Email, good},
		{none.Email, ""},
		{off.Email, good},
		{"no address", good},
		{"nul\x00@acme.example", "\x00\xff"},
		{"", ""},
	} {
		_, err := o.SignIn(t.Context(), c[0], c[1], atHome)
		require.Equal(t, ErrWrong, err, c[0])
	}
}

// An address may be a user of several organizations; the password decides.
func TestSignInOfSeveral(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.person("ada", Owner)
	other := o.personOf(o.newOrg("Other"), "ada", Owner)
	hash, err := argon2id.CreateHash("another password", cost)
	require.NoError(t, err)
	_, err = o.pool.Exec(t.Context(), "UPDATE users SET password_hash = $1 WHERE id = $2", hash, other.ID)
	require.NoError(t, err)
	c, err := o.SignIn(t.Context(), "ada@acme.example", "another password", atHome)
	require.NoError(t, err)
	require.Equal(t, other.ID, c.User.ID)
	c, err = o.SignIn(t.Context(), "ada@acme.example", good, atHome)
	require.NoError(t, err)
	require.Equal(t, o.org, c.User.OrgID)
}

// A hash waits for its turn, and a timeout counts as an attempt.
func TestHashesAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.patience = time.Millisecond
	for range hashesAtOnce {
		done, err := o.hashes.acquire(t.Context(), "somebody", true, time.Minute)
		require.NoError(t, err)
		defer done()
	}
	_, err := o.hash(t.Context(), "ada@acme.example", good)
	refused(t, err, problem.RateLimitExceeded, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.patience = time.Minute
	_, err = o.hash(ctx, "ada@acme.example", good)
	require.ErrorIs(t, err, context.Canceled)
	o.patience = time.Millisecond
	_, err = o.SignIn(t.Context(), "ada@acme.example", good, atHome)
	refused(t, err, problem.RateLimitExceeded, "")
	require.Equal(t, int64(2), o.count("SELECT count(*) FROM sign_in_failures"), "a flood that finds no place is counted")
}

// TestHashQueue: unknown browsers have one hash, known ones the other, and networks take turns.
func TestHashQueue(t *testing.T) {
	t.Parallel()
	var q hashQueue
	release, err := q.acquire(t.Context(), "10.0.0.1", false, time.Minute)
	require.NoError(t, err)
	_, err = q.acquire(t.Context(), "10.0.0.1", false, time.Millisecond)
	require.ErrorIs(t, err, errBusy)
	releaseKnown, err := q.acquire(t.Context(), "ada@acme.example", true, time.Minute)
	require.NoError(t, err)
	_, err = q.acquire(t.Context(), "ada@acme.example", true, time.Millisecond)
	require.ErrorIs(t, err, errBusy)
	releaseKnown()

	var order []string
	var waiting []chan struct{}
	for _, key := range []string{"a", "a", "a", "b", "c", "b"} {
		own := make(chan struct{}, 1)
		require.True(t, q.join(own, key, false))
		waiting = append(waiting, own)
	}
	for range waiting {
		release()
		release = func() { q.release(false) }
		for i, own := range waiting {
			select {
			case <-own:
				order = append(order, []string{"a", "a", "a", "b", "c", "b"}[i])
			default:
			}
		}
	}
	require.Equal(t, []string{"a", "b", "c", "a", "b", "a"}, order)
	for range waitingAtOnce {
		require.True(t, q.join(make(chan struct{}, 1), "d", false))
	}
	_, err = q.acquire(t.Context(), "d", false, time.Minute)
	require.ErrorIs(t, err, errBusy, "too many of a network wait")
}

// TestFlood: wrong passwords from 100 networks, also for a user's account, do not lock the user out of a browser
// with an earlier sign-in.
func TestFlood(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	c, err := o.SignIn(t.Context(), ada.Email, good, atHome)
	require.NoError(t, err)
	browser, err := o.Remember(c)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	for i := range 100 {
		flood.Go(func() {
			for ctx.Err() == nil {
				from := From{Address: "198.51.100." + strconv.Itoa(i)}
				_, err := o.SignIn(ctx, []string{ada.Email, "nobody@acme.example", strconv.Itoa(i) + "@acme.example"}[i%3], "wrong", from)
				require.Error(t, err)
			}
		})
	}
	wait.Until(t, func() bool {
		_, err := o.SignIn(t.Context(), ada.Email, good, atHome)
		return err != nil
	}, "the flood has begun")
	for range 8 {
		begun := time.Now()
		_, err := o.SignIn(t.Context(), ada.Email, good, From{Address: "198.51.100.1", Browser: browser})
		require.NoError(t, err)
		require.Less(t, time.Since(begun), patience, "it waits for no unknown browser")
	}
	stop()
	flood.Wait()

	for range perAccount {
		_, err = o.SignIn(t.Context(), ada.Email, "wrong", From{Browser: browser})
		require.ErrorIs(t, err, ErrWrong)
	}
	_, err = o.SignIn(t.Context(), ada.Email, good, From{Browser: browser})
	refused(t, err, problem.RateLimitExceeded, "")
	ben := o.person("ben", Viewer)
	require.Empty(t, o.rememberedUser(From{Browser: browser}, ben.Email), "it is of its person alone")
	o.clock.Advance(RememberedLife)
	require.Empty(t, o.rememberedUser(From{Browser: browser}, ada.Email))
	require.Empty(t, o.rememberedUser(From{Browser: "forged"}, ada.Email))
}

// TestAttemptsOfProvider: many IPv6 networks of one customer count as one.
func TestAttemptsOfProvider(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for i := range perProvider {
		_, err := o.attempt(t.Context(), strconv.Itoa(i), "", "2001:db8:0:"+strconv.Itoa(i)+"::1")
		require.NoError(t, err)
	}
	_, err := o.attempt(t.Context(), "somebody", "", "2001:db8:0:ffff::1")
	refused(t, err, problem.RateLimitExceeded, "")
	_, err = o.attempt(t.Context(), "somebody", "", "2001:db8:1::1")
	require.NoError(t, err)
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Viewer)
	wrong := func() error { return ErrWrong }
	for range perAccount {
		require.Equal(t, ErrWrong, o.limited(t.Context(), ada.Email, "", home, wrong))
	}
	_, err := o.SignIn(t.Context(), "ADA@acme.example", good, From{Address: "198.51.100.1"})
	refused(t, err, problem.RateLimitExceeded, "")
	var p *problem.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, int(attempt.Window.Seconds()), p.RetryAfter)
	require.Contains(t, p.Message, "15 minutes")
	_, err = o.SignIn(t.Context(), ben.Email, good, atHome)
	require.NoError(t, err, "another account")
	o.clock.Advance(attempt.Window)
	_, err = o.SignIn(t.Context(), ada.Email, good, atHome)
	require.NoError(t, err, "the window has passed")
	require.Equal(t, int64(2*perAccount), o.count("SELECT count(*) FROM sign_in_failures"), "what succeeded counts not")
}

// A whole IPv6 network counts as one address.
func TestAttemptsByAddress(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for i := range perAddress {
		_, err := o.attempt(t.Context(), string(rune('a'+i)), "", "2001:db8::"+string(rune('1'+i%9)))
		require.NoError(t, err)
	}
	_, err := o.attempt(t.Context(), "somebody", "", "2001:db8:0:0:ffff::1")
	refused(t, err, problem.RateLimitExceeded, "")
	_, err = o.attempt(t.Context(), "somebody", "", "2001:db8:0:1::1")
	require.NoError(t, err, "the next network")
	_, err = o.attempt(t.Context(), "somebody", "", "")
	require.NoError(t, err)
}

// Concurrent attempts count like sequential ones.
func TestAttemptsRace(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var mu sync.Mutex
	tried := 0
	race(t, 4*perAccount, func(int) error {
		err := o.limited(t.Context(), "ada@acme.example", "", home, func() error {
			mu.Lock()
			defer mu.Unlock()
			tried++
			return ErrWrong
		})
		var p *problem.Error
		if errors.As(err, &p) && p.Code == problem.RateLimitExceeded {
			return nil
		}
		return err
	}, ErrWrong)
	require.LessOrEqual(t, tried, perAccount)
	require.Equal(t, int64(2*tried), o.count("SELECT count(*) FROM sign_in_failures"), "who was refused has not failed")
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for from, want := range map[string][2]string{
		"203.0.113.7":         {"203.0.113.7", "203.0.113.0/24"},
		"::ffff:203.0.113.7":  {"203.0.113.7", "203.0.113.0/24"},
		"2001:db8:1:2:3::4":   {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"fe80::1%eth0":        {"fe80::/64", "fe80::/48"},
		"no address":          {"no address", ""},
		"":                    {"", ""},
		"203.0.113.7:80\x00a": {"203.0.113.7:80\x00a", ""},
	} {
		require.Equal(t, want, [2]string{attempt.Network(from), storedNetwork(from)}, from)
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]problem.Code{
		good: "", "ÄÖÜäöüßéèêáà": "", "twelve chars": "",
		"": problem.ParameterMissing, "eleven char": problem.ParameterInvalid, "aaaaaaaabbbbbbbb": problem.ParameterInvalid,
		"Ada@Acme.example": problem.ParameterInvalid, "not text \xff\xfe\xfd": problem.ParameterInvalid,
		string(make([]rune, maxPassword+1)): problem.ParameterInvalid,
	} {
		err := checkPassword(password, "ada@acme.example")
		if want == "" {
			require.NoError(t, err, password)
			continue
		}
		refused(t, err, want, "password")
	}
}

// A hash has the PHC format, with OWASP's parameters.
func TestHashForm(t *testing.T) {
	t.Parallel()
	hash, err := hashed()
	require.NoError(t, err)
	require.Regexp(t, `^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$`, hash)
	params, _, _, err := argon2id.DecodeHash(unusableHash)
	require.NoError(t, err)
	require.Equal(t, *cost, *params, "a miss costs what a hit does")
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	here, there := o.signedIn(ada), o.signedIn(ada)
	s, err := o.Session(t.Context(), here)
	require.NoError(t, err)
	u := o.as(ada)
	refused(t, o.ChangePassword(t.Context(), u, "wrong", "a better password", s.ID), problem.ParameterInvalid, "current_password")
	refused(t, o.ChangePassword(t.Context(), u, good, "short", s.ID), problem.ParameterInvalid, "password")
	require.NoError(t, o.ChangePassword(t.Context(), u, good, "a better password", s.ID))
	require.True(t, o.in(here))
	require.False(t, o.in(there))
	_, err = o.SignIn(t.Context(), ada.Email, good, atHome)
	require.ErrorIs(t, err, ErrWrong)
	_, err = o.SignIn(t.Context(), ada.Email, "a better password", atHome)
	require.NoError(t, err)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	token := o.signedIn(ada)
	require.Zero(t, o.count("SELECT count(*) FROM user_sessions WHERE token_hash = $1", []byte(token)))
	s, err := o.Session(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, ada.ID, s.User.ID)
	require.Equal(t, "Acme", s.Org.Name)
	require.Equal(t, o.clock.Now(), *s.User.SeenAt)
	began := s.SeenAt
	o.clock.Advance(59 * time.Second)
	s, err = o.Session(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, began, s.SeenAt, "once a minute is enough")
	o.clock.Advance(time.Second)
	s, err = o.Session(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, o.clock.Now(), s.SeenAt)
	require.Equal(t, o.clock.Now(), *o.get(ada).SeenAt)
	require.False(t, o.in("another"))

	o.clock.Advance(Idle)
	require.False(t, o.in(token), "idle")
	token = o.signedIn(ada)
	for range 2 * 14 {
		require.True(t, o.in(token))
		o.clock.Advance(Idle - time.Minute)
	}
	require.True(t, o.in(token))
	o.clock.Advance(28 * time.Minute)
	require.False(t, o.in(token), "two weeks are over")
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Viewer)
	stranger := o.personOf(o.newOrg("Other"), "eve", Owner)
	first, second := o.signedIn(ben), o.signedIn(ben)
	require.NoError(t, o.End(t.Context(), first))
	require.False(t, o.in(first))
	list, err := o.Sessions(t.Context(), o.as(ben), ben.ID)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, []string{"Browser", "203.0.113.0/24"}, []string{list[0].UserAgent, list[0].Address})
	_, err = o.Sessions(t.Context(), o.as(stranger), ben.ID)
	refused(t, err, problem.ResourceNotFound, "")
	refused(t, o.Revoke(t.Context(), o.as(stranger), ben.ID, list[0].ID), problem.ResourceNotFound, "")
	refused(t, o.Revoke(t.Context(), o.as(ben), ada.ID, ""), problem.ResourceNotFound, "")
	refused(t, o.Revoke(t.Context(), o.as(ben), ben.ID, "uss_\x00"), problem.ResourceNotFound, "")
	refused(t, o.Revoke(t.Context(), o.as(ben), ben.ID, "uss_0"), problem.ResourceNotFound, "")
	require.True(t, o.in(second))
	require.NoError(t, o.Revoke(t.Context(), o.as(ada), ben.ID, list[0].ID))
	require.False(t, o.in(second))
	third := o.signedIn(ben)
	require.NoError(t, o.Revoke(t.Context(), o.as(ben), ben.ID, ""))
	require.False(t, o.in(third))
}

// A user has a maximum of sessions; user agents are cut.
func TestBegin(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	_, err := o.Begin(t.Context(), Challenge{User: ada}, "", home)
	require.ErrorIs(t, err, ErrSignedOut, "nothing was shown")
	for range maxSessions + 1 {
		o.clock.Advance(time.Second)
		_, err := o.Begin(t.Context(), Challenge{User: ada, ready: true}, "a\x00\xff"+string(make([]rune, 300)), "x")
		require.NoError(t, err)
	}
	require.Equal(t, int64(maxSessions), o.count("SELECT count(*) FROM user_sessions"))
	agent := ""
	for range 300 {
		agent += "ä"
	}
	require.Equal(t, agent[:2*maxAgent], cut(agent))
	require.NoError(t, o.Remove(t.Context(), o.as(o.person("ben", Owner)), ada.ID))
	_, err = o.Begin(t.Context(), Challenge{User: ada, ready: true}, "", home)
	require.ErrorIs(t, err, ErrSignedOut)
}
