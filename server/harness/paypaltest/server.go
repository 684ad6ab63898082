package paypaltest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"rail/server/clock"
)

// maxBody bounds a request's body. It holds 15,000 items of usual length.
const maxBody = 4 << 20

// Config has the settings of a fake. Clock is required.
type Config struct {
	Clock clock.Clock
	// ClientID and Secret are the credentials; "client" and "secret" if empty.
	ClientID, Secret string
	// TokenTTL is the validity of access tokens; nine hours if zero.
	TokenTTL time.Duration
	// Seed determines ids, and the decisions of Plan.
	Seed uint64
	Plan Plan
	// PostsPerMinute limits submissions, as PayPal does with 400; 0 for no limit.
	PostsPerMinute int
	// FeeCurrency is the currency of fees; USD if empty.
	FeeCurrency string
	// LinkBase is the beginning of links in answers; https://api.sandbox.paypal.com if empty, which is not the
	// host of the API.
	LinkBase string
	// CertName is the host that webhooks' certificates are for; messageverificationcerts.paypal.com if empty.
	// They are also for the host of the fake.
	CertName string
	// Client delivers webhooks; http.DefaultClient if nil.
	Client *http.Client
}

func (c Config) withDefaults() Config {
	for value, otherwise := range map[*string]string{
		&c.ClientID: "client", &c.Secret: "secret", &c.FeeCurrency: "USD",
		&c.LinkBase: "https://api.sandbox.paypal.com", &c.CertName: "messageverificationcerts.paypal.com",
	} {
		if *value == "" {
			*value = otherwise
		}
	}
	if c.TokenTTL == 0 {
		c.TokenTTL = 9 * time.Hour
	}
	if c.Client == nil {
		c.Client = http.DefaultClient
	}
	return c
}

// Server is a fake PayPal. It is safe for concurrent use.
type Server struct {
	config    Config
	mux       *http.ServeMux
	authority *authority

	mu          sync.Mutex
	url         string
	tokens      map[string]time.Time // until when they are valid
	batches     map[string]*batch
	latest      map[string]*batch // by sender_batch_id
	items       map[string]*item
	sent        map[string][]*item // by sender_item_id, in the order of acceptance
	due         timeline
	fates       map[string]Fate
	ends        map[string]BatchStatus // by sender_batch_id
	faults      map[Operation][]Fault
	draws       map[string]int
	names       map[string]string // of sender_batch_ids in draws
	calls       map[Operation]int
	submissions map[string]int
	posts       map[int64]int // by the minute
	funds       map[string]int64
	refusal     *answer
	hooks       []*hook
	hookFaults  []WebhookFault
	queue       []*delivery
	serial      int
}

// New returns a fake without a network address. SetURL sets the address if it sends webhooks.
func New(c Config) *Server {
	s := &Server{
		config:      c.withDefaults(),
		tokens:      map[string]time.Time{},
		batches:     map[string]*batch{},
		latest:      map[string]*batch{},
		items:       map[string]*item{},
		sent:        map[string][]*item{},
		fates:       map[string]Fate{},
		ends:        map[string]BatchStatus{},
		faults:      map[Operation][]Fault{},
		draws:       map[string]int{},
		names:       map[string]string{},
		calls:       map[Operation]int{},
		submissions: map[string]int{},
		posts:       map[int64]int{},
	}
	s.authority = newAuthority(s.now())
	s.mux = s.routes()
	return s
}

// Start serves a fake on a local address until the test ends.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	s := New(c)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.SetURL(server.URL)
	return s
}

// SetURL sets the address at which the fake is served, such as http://127.0.0.1:8080.
func (s *Server) SetURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url = url
}

// URL returns the address at which the fake is served.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Settle makes every change that is due by the clock. Each request does it first.
func (s *Server) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
}

// Calls returns the number of requests of an operation.
func (s *Server) Calls(op Operation) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// Submissions returns the number of submissions with a sender_batch_id that the fake received, with any answer.
func (s *Server) Submissions(senderBatchID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.submissions[senderBatchID]
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Operation is a kind of request.
type Operation string

// The operations of the API.
const (
	Token       Operation = "token"
	Submit      Operation = "submit"
	ShowBatch   Operation = "show_batch"
	ShowItem    Operation = "show_item"
	CancelItem  Operation = "cancel_item"
	Hooks       Operation = "webhooks"
	Verify      Operation = "verify_signature"
	Certificate Operation = "certificate"
)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/oauth2/token", s.handle(Token, s.token))
	mux.HandleFunc("POST /v1/payments/payouts", s.handle(Submit, s.submit))
	mux.HandleFunc("GET /v1/payments/payouts/{id}", s.handle(ShowBatch, s.showBatch))
	mux.HandleFunc("GET /v1/payments/payouts-item/{id}", s.handle(ShowItem, s.showItem))
	mux.HandleFunc("POST /v1/payments/payouts-item/{id}/cancel", s.handle(CancelItem, s.cancelItem))
	mux.HandleFunc("POST /v1/notifications/webhooks", s.handle(Hooks, s.createHook))
	mux.HandleFunc("GET /v1/notifications/webhooks", s.handle(Hooks, s.listHooks))
	mux.HandleFunc("GET /v1/notifications/webhooks/{id}", s.handle(Hooks, s.showHook))
	mux.HandleFunc("DELETE /v1/notifications/webhooks/{id}", s.handle(Hooks, s.deleteHook))
	mux.HandleFunc("POST /v1/notifications/verify-webhook-signature", s.handle(Verify, s.verify))
	mux.HandleFunc("GET /v1/notifications/certs/{id}", s.handle(Certificate, s.certificate))
	return mux
}

// An answer is a response, or a connection that closes without one.
type answer struct {
	status     int
	body       any // JSON, or text as it is
	retryAfter string
	lost       bool
}

// handle reads a request, works under the lock, and writes the answer without it.
func (s *Server) handle(op Operation, work func(*http.Request, []byte) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var a answer
		switch {
		case errors.As(err, new(*http.MaxBytesError)):
			a = fail(http.StatusRequestEntityTooLarge, "REQUEST_ENTITY_TOO_LARGE")
		case err != nil:
			a.lost = true
		default:
			a = s.answer(op, r, body, work)
		}
		if a.lost {
			panic(http.ErrAbortHandler)
		}
		write(w, a)
	}
}

// answer settles the past, applies the fault of the request, checks its token, and works.
func (s *Server) answer(op Operation, r *http.Request, body []byte, work func(*http.Request, []byte) answer) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	s.calls[op]++
	key := r.URL.Path
	if op == Submit {
		key = senderBatchID(body)
		s.submissions[key]++
	}
	fault := s.fault(op, key)
	if a, ok := s.before(fault); ok {
		return a
	}
	if op != Token && op != Certificate && !s.authorized(r) {
		return invalidToken
	}
	return fault.after(work(r, body))
}

func write(w http.ResponseWriter, a answer) {
	if a.retryAfter != "" {
		w.Header().Set("Retry-After", a.retryAfter)
	}
	if text, ok := a.body.(string); ok {
		w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		w.WriteHeader(a.status)
		fmt.Fprint(w, text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body) // the caller has gone
	}
}

// now returns the time of the clock.
func (s *Server) now() time.Time { return s.config.Clock.Now().Time }

// stamp formats a time as PayPal does.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// hash returns a hash of the seed and the parts.
func (s *Server) hash(parts ...any) [32]byte {
	return sha256.Sum256(fmt.Append(nil, s.config.Seed, fmt.Sprintf("%q", parts)))
}

// id returns an id with n characters that the seed and the parts determine.
func (s *Server) id(n int, parts ...any) string {
	sum := s.hash(parts...)
	return base32.StdEncoding.EncodeToString(sum[:])[:n]
}

// next returns the next id of a kind without a natural key.
func (s *Server) next(n int, kind string) string {
	s.serial++
	return s.id(n, kind, s.serial)
}

// draw returns a number in [0, 1) that the seed, the kind, the key and the number of earlier draws determine, so
// that the order of other requests does not matter.
func (s *Server) draw(kind, key string) float64 {
	name := kind + " " + s.nameOf(key)
	s.draws[name]++
	sum := s.hash("draw", name, s.draws[name])
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// nameOf returns the name that SetName gave to an id, or the id.
func (s *Server) nameOf(id string) string {
	if name, ok := s.names[id]; ok {
		return name
	}
	return id
}

// chance reports true with the probability p.
func (s *Server) chance(p float64, kind, key string) bool { return p > 0 && s.draw(kind, key) < p }

// between returns a duration from least to most.
func (s *Server) between(least, most time.Duration, kind, key string) time.Duration {
	return (least + time.Duration(s.draw(kind, key)*float64(most-least))).Truncate(time.Second)
}

// senderBatchID returns the sender_batch_id of a body, if it has one.
func senderBatchID(body []byte) string {
	var b submission
	_ = json.Unmarshal(body, &b) // an invalid body has no id
	return strings.Clone(b.Header.SenderBatchID)
}
