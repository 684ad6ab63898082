// Package app puts the server together: the request path, the operations, the
// pages and the jobs, over one database.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	gen "rail/gen/api"
	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/config"
	"rail/server/http/handlers"
	"rail/server/http/mailpages"
	"rail/server/http/middleware"
	"rail/server/http/pages"
	"rail/server/http/portal"
	"rail/server/http/redirect"
	"rail/server/jobs"
	"rail/server/money/payout"
	"rail/server/money/sale"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/postgres"
	"rail/server/postgres/migrate"
	"rail/server/program/customer"
	"rail/server/program/partner"
	"rail/server/program/tracking"
	"rail/server/secret"
)

// App is a server that is ready to serve.
type App struct {
	config  config.Config
	clock   clock.Clock
	log     *slog.Logger
	echo    *echo.Echo
	handler http.Handler // echo, its answers compressed
	metrics *prometheus.Registry
	jobs    []jobs.Job
	sender  *webhook.Sender
}

// The description is read once a process, in either strictness: it never
// changes, and reading it takes a noticeable time.
var (
	strict = sync.OnceValues(func() (*middleware.Document, error) {
		return middleware.LoadDocument(auth.Scopes, false)
	})
	lenient = sync.OnceValues(func() (*middleware.Document, error) {
		return middleware.LoadDocument(auth.Scopes, true)
	})
)

// description returns the description in the strictness that is configured.
func description(ignoreUnknown bool) (*middleware.Document, error) {
	if ignoreUnknown {
		return lenient()
	}
	return strict()
}

// New builds the server. It reads the description, so that a server with a faulty
// one does not start; it does not touch the database. rails are the operator's
// payment rails, if any.
func New(_ context.Context, cfg config.Config, pool *pgxpool.Pool, c clock.Clock, log *slog.Logger,
	rails ...payout.Rail) (*App, error) {
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
	a := &App{config: cfg, clock: c, log: log, echo: echo.New(), metrics: registry(pool), jobs: jobs.All(jobs.Means{
		Pool: pool, Keeper: keeper, Rails: rails, Clock: c, RetentionDays: cfg.RetentionDays,
		HoldOnHighRisk: cfg.HoldOnHighRisk, FraudMonitoring: cfg.FraudMonitoring, Outbox: mails.Outbox, Mail: mails.Sender,
	})}
	guard := webhook.NewGuard(cfg.WebhookAllowCIDRs, cfg.WebhookHTTPSOnly, cfg.BaseURL)
	// Without this guard, webhooks would be a way into the operator's own
	// network.
	if len(cfg.WebhookAllowCIDRs) > 0 {
		log.Warn("RAIL_WEBHOOK_ALLOW_CIDRS is set: webhooks can reach private networks. Use it for development only.",
			"networks", cfg.WebhookAllowCIDRs)
	}
	var session *pgx.ConnConfig
	if cfg.SessionURL != "" {
		if session, err = postgres.Session(cfg.SessionURL); err != nil {
			return nil, fmt.Errorf("RAIL_DATABASE_SESSION_URL: %w", err)
		}
	}
	a.sender = webhook.NewSender(webhook.Options{
		Pool: pool, Session: session, Keeper: keeper, Clock: c, Log: log, Dial: guard.DialContext, Service: cfg.ServiceName,
		Disabled: notifyOwner(mails.Outbox, c),
	})
	a.echo.HideBanner, a.echo.HidePort = true, true
	keys := auth.NewStore(pool, keeper, c)
	members := &partner.Service{Keeper: keeper, Mail: mails.Outbox}
	endpoints := &webhook.Endpoints{Keeper: keeper, Guard: guard, Service: cfg.ServiceName, Wake: a.sender.Wake}
	visits, customers := tracking.Service{Keeper: keeper}, customer.Service{Mail: mails.Outbox}
	server := handlers.New(handlers.Options{
		Keys: keys, Keeper: keeper, BaseURL: cfg.BaseURL, ShortURL: cfg.ShortURL, HoldOnHighRisk: cfg.HoldOnHighRisk,
		Mail: mails.Outbox, Webhooks: endpoints, Partners: members, Tracking: visits,
		Customers: customers, Sales: sale.Service{Customers: customers},
	})
	path := middleware.New(middleware.Options{
		Pool: pool, Keys: keys, Keeper: keeper, Clock: c, Document: document, Log: log,
		Metrics: middleware.NewMetrics(a.metrics), TrustedProxies: cfg.TrustedProxies, AddressLimit: cfg.AddressRateLimit,
		Plan:     cfg.Plan(),
		Existing: server.Existing, Wake: a.sender.Wake,
	})
	path.Install(a.echo)
	gen.RegisterHandlers(middleware.Router{Echo: a.echo}, gen.NewStrictHandler(server, nil))
	pages.Register(a.echo, ready(pool))
	mailpages.Pages{Pool: pool, Keeper: keeper, Clock: c}.Register(a.echo)
	path.Beyond(mailpages.PicturePath, mailpages.Picture)
	// Visits are recorded for the visitor's address, not for that of a proxy.
	links := redirect.New(redirect.Options{
		Tracking: visits, Pool: pool, Clock: c, Log: log, Plan: cfg.Plan(), Wake: a.sender.Wake,
		Address: path.ClientAddress, Secure: strings.HasPrefix(cfg.BaseURL, "https:"),
	})
	a.echo.Match([]string{http.MethodGet, http.MethodHead}, "/r/:slug", links.Redirect)
	path.Beyond("/r/:slug", links.Forward)
	partners, err := portal.New(portal.Options{
		Keeper: keeper, BaseURL: cfg.BaseURL, ShortURL: cfg.ShortURL, Service: cfg.ServiceName,
		Partners: members, Webhooks: endpoints, Document: document, Pool: pool, Clock: c, Address: path.ClientAddress,
		Plan: cfg.Plan(), Wake: a.sender.Wake,
	})
	if err != nil {
		return nil, fmt.Errorf("portal: %w", err)
	}
	partners.Register(a.echo)
	a.handler, err = middleware.Compress(a.echo)
	return a, err
}

// Mail returns the outbox and the sender of mails as configured.
func Mail(cfg config.Config, pool *pgxpool.Pool, keeper *secret.Keeper, c clock.Clock,
	log *slog.Logger) (mail.Set, error) {
	mails, err := mail.SetUp(mail.Options{
		Address: cfg.SMTPURL, From: cfg.MailSender(), Name: cfg.ServiceName, BaseURL: cfg.BaseURL, Pixel: cfg.MailPixel,
		Pool: pool, Keeper: keeper, Clock: c, Log: log,
	})
	if err != nil {
		return mails, fmt.Errorf("RAIL_SMTP_URL: %w", err)
	}
	return mails, nil
}

// notifyOwner returns what mails the organization's owner, if it has one, that an
// endpoint was disabled. The time of the change is part of the mail's key, so
// that a second time sends a second mail.
func notifyOwner(outbox *mail.Outbox, c clock.Clock) func(context.Context, db.DBTX, db.WebhookEndpoint) error {
	return func(ctx context.Context, tx db.DBTX, e db.WebhookEndpoint) error {
		owner, err := db.New().OrganizationOwner(ctx, tx, e.OrgID)
		if err != nil || owner == nil {
			return err
		}
		return outbox.Queue(ctx, tx, e.OrgID, mail.EndpointOff(*owner, e.ID, e.URL, e.ID+" "+e.UpdatedAt.String()), c.Now())
	}
}

// Handler returns the whole server as a handler, for tests and for embedding.
func (a *App) Handler() http.Handler { return a.handler }

// ready reports whether requests can be answered: the database is there, and at
// a version that serves this binary. The reasons are for everybody
// to read, so they hold nothing of the connection.
//
// Those who ask at once are told the same: probes are not limited.
func ready(pool *pgxpool.Pool) pages.Ready {
	var asking singleflight.Group
	return func(ctx context.Context) error {
		_, err, _ := asking.Do("", func() (any, error) { return nil, migrate.Serves(ctx, pool) })
		if err == nil || errors.Is(err, migrate.ErrOlder) || errors.Is(err, migrate.ErrNewer) ||
			errors.Is(err, migrate.ErrDirty) {
			return err
		}
		return errors.New("the database is away or has no tables")
	}
}
