// Package app assembles the server: the request path, the operations, the pages and the jobs, over one database.
//
// New wires the configured parts and returns an App, which serves with Serve or is a plain http.Handler. Parts
// get their dependencies as arguments and look nothing up; there are no rules here.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	gen "rail/gen/api"
	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/auth"
	"rail/server/auth/attempt"
	"rail/server/clock"
	"rail/server/http/console"
	"rail/server/http/console/oidc"
	"rail/server/http/docs/guides"
	"rail/server/http/docs/mailpages"
	"rail/server/http/docs/pages"
	"rail/server/http/docs/script"
	"rail/server/http/handlers"
	"rail/server/http/hooks"
	"rail/server/http/join"
	"rail/server/http/mcp"
	"rail/server/http/middleware"
	"rail/server/http/portal"
	"rail/server/http/redirect"
	"rail/server/http/site"
	"rail/server/http/site/branding"
	"rail/server/http/site/browser"
	"rail/server/http/verify"
	"rail/server/inbound/importer"
	"rail/server/inbound/inbox"
	"rail/server/inbound/stripesetup"
	"rail/server/jobs"
	"rail/server/money/payout"
	"rail/server/money/payout/rails"
	"rail/server/money/sale"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/postgres"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/postgres/shortage"
	"rail/server/postgres/standby"
	"rail/server/program/claim"
	"rail/server/program/customer"
	"rail/server/program/joining"
	"rail/server/program/partner"
	"rail/server/program/publishable"
	"rail/server/program/tracking"
	"rail/server/secret"
	"rail/server/team"
	"rail/server/telemetry/outage"
	"rail/server/work/backlog"
	"rail/server/work/testclock"
)

var queries = db.New()

// App is a server, ready to serve.
type App struct {
	config  config.Config
	clock   clock.Clock
	log     *slog.Logger
	echo    *echo.Echo
	handler http.Handler // echo, with compressed answers
	metrics *prometheus.Registry
	jobs    []jobs.Job
	runner  *jobs.Runner
	// timeline moves the test clock, if there is one.
	timeline *jobs.Timeline
	backlog  *backlog.Reader
	sender   *webhook.Sender
	path     *middleware.Front
	tls      *certificates // nil without https
	standby  *standby.Set
	// shortage watches the errors of requests and jobs.
	shortage *shortage.Watch
}

// The OpenAPI document is read once a process, in each strictness: it never changes, and reading it takes a
// noticeable time.
var (
	strict = sync.OnceValues(func() (*middleware.Document, error) {
		return middleware.LoadDocument(auth.Scopes, false)
	})
	lenient = sync.OnceValues(func() (*middleware.Document, error) {
		return middleware.LoadDocument(auth.Scopes, true)
	})
)

// ReadDescription begins to read the OpenAPI document, so that New waits less for it.
func ReadDescription(cfg config.Config) {
	go func() { _, _ = description(cfg.IgnoreUnknownFields) }() // New returns the error
}

// description returns the document in the configured strictness.
func description(ignoreUnknown bool) (*middleware.Document, error) {
	if ignoreUnknown {
		return lenient()
	}
	return strict()
}

// parts are the components of the server.
type parts struct {
	*App
	pool  *pgxpool.Pool
	rails []payout.Rail
	// connected opens the payout rails of programs.
	connected *rails.Service
	keeper    *secret.Keeper
	document  *middleware.Document
	mails     mail.Set
	guard     *webhook.Guard
	members   *partner.Service
	webhooks  *webhook.Endpoints
	visits    tracking.Service
	imports   *importer.Service
	commits   *share.GroupCommit
}

// newImports returns the service for imports.
func newImports(cfg config.Config, pool *pgxpool.Pool, keeper *secret.Keeper, c clock.Clock,
	outbox *mail.Outbox) *importer.Service {
	return &importer.Service{Pool: pool, Keeper: keeper, Clock: c, Addresses: cfg.ImportURLs(), Mail: outbox}
}

// New builds the server. It reads the OpenAPI document, so that a server with a faulty one does not start; it
// does not access the database. operated are the operator's payment rails, if any.
func New(cfg config.Config, pool *pgxpool.Pool, c clock.Clock, log *slog.Logger,
	operated ...payout.Rail) (*App, error) {
	keeper, err := secret.New(cfg.SecretKey, cfg.FormerKeys()...)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	document, err := description(cfg.IgnoreUnknownFields)
	if err != nil {
		return nil, err
	}
	mails, err := Mail(cfg, pool, keeper, c, log)
	if err != nil {
		return nil, err
	}
	metrics := registry(pool)
	mails.Sender.Outcomes = mail.NewOutcomes(metrics)
	guard := webhook.NewGuard(cfg.WebhookAllowCIDRs, cfg.WebhookHTTPSOnly, cfg.BaseURL)
	connected := &rails.Service{
		Keeper: keeper, Clock: c, PayPalURL: cfg.PayPalURL, Guard: guard, Name: cfg.ServiceName, Mail: mails.Outbox,
	}
	// Jobs share the dependencies of requests, and run only within Serve.
	a := &App{config: cfg, clock: c, log: log, echo: echo.New(), metrics: metrics, jobs: jobs.All(jobs.Deps{
		Pool: pool, Keeper: keeper, Rails: operated, Clock: c, RetentionDays: cfg.RetentionDays,
		ClickRetentionDays: cfg.ClickRetentionDays, AuditRetentionDays: cfg.AuditRetentionDays,
		HoldOnHighRisk: cfg.HoldOnHighRisk, FraudMonitoring: cfg.FraudMonitoring,
		Outbox: mails.Outbox, Mail: mails.Sender, Plan: cfg.Plan(),
		Log: log, StripeURL: cfg.StripeURL, ImportURLs: cfg.ImportURLs(),
		OpenRail: connected.Open,
	}), runner: jobs.NewRunner(c, log, metrics), backlog: backlog.NewReader(pool, c), shortage: shortage.NewWatch(c)}
	a.runner.Noted = a.shortage.Note
	a.timeline = jobs.NewTimeline(pool, a.runner, a.jobs)
	metrics.MustRegister(a.backlog, disks(folders(cfg)))
	if a.standby, err = standby.Open(standby.Options{
		Primary: pool, URLs: cfg.ReadURLs(), MaxConns: cfg.DBMaxConns, Reads: shortReads,
		Outages: outage.New(log, c, "a standby", "standby"),
	}); err != nil {
		return nil, fmt.Errorf("RAIL_DATABASE_READ_URL: %w", err)
	}
	watched(a.metrics, a.standby)
	// Dependencies shared by several parts below.
	p := parts{
		App: a, pool: pool, rails: operated, connected: connected, keeper: keeper, document: document, mails: mails,
		guard:   guard,
		members: &partner.Service{Keeper: keeper, Mail: mails.Outbox},
		visits:  tracking.Service{Keeper: keeper, Writer: tracking.NewWriter(pool), Values: &tracking.Values{}},
		imports: newImports(cfg, pool, keeper, c, mails.Outbox),
		commits: share.NewGroupCommit(pool, maxAlone, max(commitWorkers, runtime.NumCPU()/2)),
	}
	if a.sender, err = p.newSender(); err != nil {
		return nil, err
	}
	p.webhooks = &webhook.Endpoints{
		Primary: pool, Keeper: keeper, Clock: c, Guard: p.guard, Service: cfg.ServiceName, Wake: a.sender.Wake,
	}
	a.echo.HideBanner, a.echo.HidePort = true, true
	a.path = p.serveAPI()
	p.servePages(a.path)
	p.serveHooks(a.path)
	if err := p.serveSites(a.path); err != nil {
		return nil, err
	}
	a.tls = newCertificates(cfg, certificateStore{pool: pool, keeper: keeper, clock: c, log: log})
	a.handler, err = middleware.Compress(a.echo)
	return a, err
}

// serveSites adds the pages for partners, applicants and users, and the MCP server.
func (p parts) serveSites(path *middleware.Front) error {
	if err := p.servePortal(path); err != nil {
		return fmt.Errorf("portal: %w", err)
	}
	if err := p.serveVerify(); err != nil {
		return fmt.Errorf("verification: %w", err)
	}
	joinPages, err := p.serveJoin(path)
	if err != nil {
		return fmt.Errorf("join page: %w", err)
	}
	if err := p.serveConsole(path, joinPages); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	p.serveMCP(path)
	return nil
}

// newSender returns the sender of webhooks. It logs the private networks that the guard allows, since webhooks
// could reach the operator's own.
func (p parts) newSender() (*webhook.Sender, error) {
	cfg := p.config
	if len(cfg.WebhookAllowCIDRs) > 0 {
		p.log.Warn("RAIL_WEBHOOK_ALLOW_CIDRS is set: webhooks can reach private networks. Use it for development only.",
			"networks", cfg.WebhookAllowCIDRs)
	}
	var session *pgx.ConnConfig
	// The sender's lock belongs to a session, which a transaction pooler cannot keep.
	if cfg.SessionURL != "" {
		var err error
		if session, err = postgres.Session(cfg.SessionURL); err != nil {
			return nil, fmt.Errorf("RAIL_DATABASE_SESSION_URL: %w", err)
		}
	}
	return webhook.NewSender(webhook.Options{
		Pool: p.pool, Session: session, Keeper: p.keeper, Clock: p.clock, Log: p.log, Dial: p.guard.DialContext,
		Service: cfg.ServiceName, Disabled: notifyOwner(p.mails.Outbox, p.clock), Registry: p.metrics,
	}), nil
}

const (
	// maxAlone is the number of writes that may use an unshared transaction at once.
	maxAlone = 1
	// commitWorkers is the number of shared transactions at once on a small machine:
	// while one waits for the disk, another works. With two processors, a third made
	// batches smaller and each request more expensive.
	commitWorkers = 2
	// maxReadsAlone is the number of short reads that may go alone at once: for two
	// concurrent reads, one round trip is cheaper.
	maxReadsAlone = 1
)

// shortReads returns the Reads that batch the short reads on pool.
func shortReads(pool *pgxpool.Pool) *share.Reads {
	return share.NewReads(pool, maxReadsAlone, runtime.NumCPU())
}

// claims returns the service for claims of AI assistants, whose provider is this server's host.
func (p parts) claims() claim.Service {
	return claim.Service{Keeper: p.keeper, Hosts: claim.Hosts(p.config.BaseURL, p.config.ShortURL)}
}

// serveAPI registers the operations behind the request path, which it returns.
func (p parts) serveAPI() *middleware.Front {
	cfg, keys := p.config, auth.NewStore(p.pool, p.keeper, p.clock)
	customers := customer.Service{Mail: p.mails.Outbox, Keeper: p.keeper, Claims: p.claims()}
	server := handlers.New(handlers.Options{
		Keys: keys, Keeper: p.keeper, BaseURL: cfg.BaseURL, ShortURL: cfg.ShortURL, HoldOnHighRisk: cfg.HoldOnHighRisk,
		Mail: p.mails.Outbox, Webhooks: p.webhooks, Partners: p.members, Tracking: p.visits,
		Customers: customers, Sales: sale.Service{Customers: customers}, Rails: p.rails,
		Imports: p.imports, TestClock: p.timeline,
	})
	pageKeys := publishable.NewStore(p.pool, p.clock)
	reads := shortReads(p.pool)
	p.metrics.MustRegister(batchMetrics{"transactions", p.commits.Stats}, batchMetrics{"reads", reads.Stats},
		batchMetrics{"clicks", p.visits.Writer.Stats})
	path := middleware.New(middleware.Options{
		Pool: p.pool, GroupCommit: p.commits, Reads: reads, Standbys: p.standby, Keys: keys, Pages: pageKeys,
		Plain: !strings.HasPrefix(cfg.BaseURL, "https:"), Keeper: p.keeper, Clock: p.clock, Document: p.document, Log: p.log,
		Metrics: middleware.NewMetrics(p.metrics), TrustedProxies: cfg.TrustedProxies, AddressLimit: cfg.AddressRateLimit,
		Plan: cfg.Plan(), Existing: server.Existing, Wake: p.sender.Wake, Shortage: p.shortage,
	})
	path.Install(p.echo)
	for _, path := range browser.Paths {
		p.echo.OPTIONS(path, browser.Preflight(pageKeys))
	}
	gen.RegisterHandlers(middleware.Router{Echo: p.echo}, gen.NewStrictHandler(server, nil))
	return path
}

// servePages registers pages outside the OpenAPI document: probes and documents, the pages of mails, and short
// links.
func (p parts) servePages(path *middleware.Front) {
	ready := ready(p.pool)
	pages.Register(p.echo, ready, p.checks(ready))
	guides.Register(p.echo)
	script.Register(p.echo, path.HandleLimited)
	mailpages.Pages{Pool: p.pool, Keeper: p.keeper, Clock: p.clock}.Register(p.echo)
	path.HandleLimited(mailpages.PicturePath, mailpages.Picture)
	// Visits are recorded for the visitor's address, not a proxy's.
	links := redirect.New(redirect.Options{
		Tracking: p.visits, Pool: p.pool, Clock: p.clock, Log: p.log, Plan: p.config.Plan(), Wake: p.sender.Wake,
		Address: path.ClientAddress, Secure: strings.HasPrefix(p.config.BaseURL, "https:"),
		ShortURL: tracking.ShortBase(p.config.BaseURL, p.config.ShortURL),
	})
	p.echo.Match([]string{http.MethodGet, http.MethodHead}, "/r/:slug", links.Redirect)
	path.HandleLimited("/r/:slug", links.Forward)
}

// serveHooks registers the addresses for processors' events.
func (p parts) serveHooks(path *middleware.Front) {
	box := inbox.Box{Pool: p.pool, Keeper: p.keeper, Clock: p.clock, Commits: p.commits}
	p.echo.POST(hooks.Path, hooks.New(box, path, p.clock).Receive)
	path.Exempt(hooks.Path, "receiveProcessorEvent")
	payPal := hooks.PayPal{Limits: path, Notify: func(ctx context.Context, id string, h http.Header, body []byte) error {
		return p.connected.Notify(ctx, p.pool, id, h, body)
	}}
	p.echo.POST(hooks.PayPalPath, payPal.Receive)
	path.Exempt(hooks.PayPalPath, "receivePayPalNotification")
}

// servePortal registers the pages of partners, and assets of all pages.
func (p parts) servePortal(path *middleware.Front) error {
	cfg := p.config
	partners, err := portal.New(portal.Options{
		Keeper: p.keeper, BaseURL: cfg.BaseURL, ShortURL: cfg.ShortURL, Service: cfg.ServiceName, Partners: p.members,
		Webhooks: p.webhooks, Document: p.document, Pool: p.pool, Clock: p.clock, Address: path.ClientAddress,
		Attempts: attempt.Book{Pool: p.pool, Keeper: p.keeper, Clock: p.clock},
		Plan:     cfg.Plan(), Wake: p.sender.Wake, Claims: p.claims(),
	})
	if err != nil {
		return err
	}
	partners.Register(p.echo)
	site.Register(p.echo)
	(&branding.Files{Pool: p.pool}).Register(p.echo)
	return nil
}

// serveJoin registers the join pages of applicants.
func (p parts) serveJoin(path *middleware.Front) (*join.Pages, error) {
	cfg := p.config
	joinPages, err := join.New(join.Options{
		Pool: p.pool, Keeper: p.keeper, BaseURL: cfg.BaseURL, Service: cfg.ServiceName, Document: p.document, Clock: p.clock,
		Joining: &joining.Service{Pool: p.pool, Partners: p.members, Mail: p.mails.Outbox},
		Address: path.ClientAddress, Plan: cfg.Plan(), Wake: p.sender.Wake,
	})
	if err != nil {
		return nil, err
	}
	joinPages.Register(p.echo)
	return joinPages, nil
}

// serveVerify registers the public page and files for checking statements.
func (p parts) serveVerify() error {
	page, err := verify.New(verify.Options{
		Pool: p.pool, Clock: p.clock, BaseURL: p.config.BaseURL, Service: p.config.ServiceName,
	})
	if err == nil {
		page.Register(p.echo)
	}
	return err
}

// serveConsole registers the pages of the console.
func (p parts) serveConsole(path *middleware.Front, joinPages *join.Pages) error {
	cfg := p.config
	var provider *oidc.Provider
	if cfg.OIDCIssuer != "" {
		provider = oidc.New(oidc.Config{
			Issuer: cfg.OIDCIssuer, ClientID: cfg.OIDCClientID, ClientSecret: cfg.OIDCClientSecret,
			RedirectURL: cfg.ConsoleBase() + "/console/oidc", Keeper: p.keeper, Clock: p.clock,
		})
	}
	var position func(context.Context) string
	if p.standby != nil {
		position = func(ctx context.Context) string { return pgtx.Current(ctx, p.pool).String() }
	}
	pages, err := console.New(console.Options{
		Provider: provider, FirstRole: team.Role(cfg.OIDCRole),
		Handler: p.echo, BaseURL: cfg.ConsoleBase(), Docs: cfg.BaseURL + "/docs", Document: p.document, Keeper: p.keeper, Pool: p.pool,
		People: team.New(team.Service{
			Pool: p.pool, Keeper: p.keeper, Mail: p.mails.Outbox, Clock: p.clock, BaseURL: cfg.ConsoleBase(),
		}),
		Rails:      p.connected,
		Imports:    p.imports,
		Processors: stripesetup.Service{Keeper: p.keeper, BaseURL: cfg.BaseURL, StripeURL: cfg.StripeURL},
		Service:    cfg.ServiceName, Clock: p.clock, Address: path.ClientAddress, Limit: path.ChargeTo,
		PerPerson: cfg.AddressRateLimit, Plan: cfg.Plan(), HoldOnHighRisk: cfg.HoldOnHighRisk,
		Wake: p.sender.Wake, Position: position, Shortage: p.shortage, Notices: p.notices,
		Preview: joinPages.Preview,
	})
	if err != nil {
		return err
	}
	pages.Register(p.echo)
	return nil
}

// serveMCP registers the address for MCP clients.
func (p parts) serveMCP(path *middleware.Front) {
	mcp.New(mcp.Options{
		Handler: p.echo, Document: p.document, Keeper: p.keeper, Clock: p.clock, Admit: path.Admit,
		Console: p.config.ConsoleBase(), Service: p.config.ServiceName,
	}).Register(p.echo)
	path.Exempt(mcp.Path, "mcp")
}

// Mail returns the configured outbox and sender of mails. Commands use it too.
func Mail(cfg config.Config, pool *pgxpool.Pool, keeper *secret.Keeper, c clock.Clock,
	log *slog.Logger) (mail.Set, error) {
	mails, err := mail.SetUp(mail.Options{
		Address: cfg.SMTPURL, From: cfg.MailSender(), Name: cfg.ServiceName, BaseURL: cfg.BaseURL, Pixel: cfg.MailPixel,
		Link: tracking.URL, Pool: pool, Keeper: keeper, Clock: c, Log: log,
	})
	if err != nil {
		return mails, fmt.Errorf("RAIL_SMTP_URL: %w", err)
	}
	return mails, nil
}

// notifyOwner returns a function that mails the organization's owner, if it has one, about a disabled endpoint.
// The time of the change is part of the mail's key, so that each change sends a mail.
func notifyOwner(outbox *mail.Outbox, c clock.Clock) func(context.Context, db.DBTX, db.WebhookEndpoint) error {
	return func(ctx context.Context, tx db.DBTX, e db.WebhookEndpoint) error {
		return outbox.QueueForOwners(ctx, tx, e.OrgID, c.Now(), func(to string) mail.Message {
			return mail.EndpointOff(to, e.ID, e.URL, e.ID+" "+e.UpdatedAt.String())
		})
	}
}

// Test makes the server's clock movable. c must be the clock that the server was made with.
func (a *App) Test(c *testclock.Clock) { a.timeline.Use(c) }

// Follow watches the standbys until ctx ends, as Serve does. Without it, no standby is used.
func (a *App) Follow(ctx context.Context) { a.standby.Run(ctx) }

// Handler returns the whole server as a handler, for tests and embedding, without the console if that has a
// separate address.
func (a *App) Handler() http.Handler {
	if a.config.ConsoleAddr != "" {
		return withoutConsole(a.handler)
	}
	return a.handler
}
