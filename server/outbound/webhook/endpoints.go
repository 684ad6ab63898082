package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/event"
)

const (
	// maxEndpoints bounds the endpoints of a program (decisions, 159 and 211), and separately the postbacks of a
	// partner.
	maxEndpoints = 20
	// rotation is how long an old secret signs beside the new one.
	rotation = 24 * time.Hour
	// logBatch bounds the deliveries that one transaction cancels or deletes with their endpoint, so that other writes
	// of the program do not wait long. When an endpoint is disabled, the clean-up job cancels the rest; nothing is sent
	// to a disabled endpoint.
	logBatch = 10_000
)

// turnedOff is the error of deliveries to an endpoint that a person disabled.
const turnedOff = "The endpoint was turned off."

// Endpoints has the rules of endpoints and of their deliveries.
type Endpoints struct {
	Primary *pgxpool.Pool // only the primary knows the uncommitted events
	Keeper  *secret.Keeper
	Clock   clock.Clock
	Guard   *Guard // decides which addresses are allowed
	Service string // the product's name, for User-Agent
	// Wake, if not nil, is called after a commit that queued deliveries.
	Wake func()

	pings pings
}

// NewEndpoint is an endpoint to add: a partner's postback if PartnerID is set, else the program's. Without event
// types it gets all.
type NewEndpoint struct {
	ProgramID  string
	PartnerID  *string
	URL        string
	EventTypes []string
}

// EndpointChange is a change to an endpoint; nil members stay.
type EndpointChange struct {
	URL        *string
	EventTypes []string
	Enabled    *bool
}

// Get returns an endpoint of the unit.
func Get(ctx context.Context, u *work.Unit, id string) (db.WebhookEndpoint, error) {
	e, err := queries.WebhookEndpointGet(ctx, u.DB(), db.WebhookEndpointGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	return e, u.CheckProgram(e.ProgramID)
}

// lock locks an endpoint of the unit until the commit.
func lock(ctx context.Context, u *work.Unit, id string) (db.WebhookEndpoint, error) {
	e, err := queries.WebhookEndpointLock(ctx, u.Tx, db.WebhookEndpointLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	return e, u.CheckProgram(e.ProgramID)
}

// Create adds an endpoint and returns its secret, which is never shown again. The address is checked before the
// transaction, which must not wait for a name lookup.
func (s *Endpoints) Create(
	ctx context.Context, u *work.Unit, n NewEndpoint,
) (e db.WebhookEndpoint, secret string, err error) {
	if err := s.checkURL(ctx, n.URL); err != nil {
		return e, "", advised(err, n.PartnerID)
	}
	types, err := typesOf(n.EventTypes, n.PartnerID != nil)
	if err != nil {
		return e, "", err
	}
	// The lock on the program keeps two requests from both using the last place.
	p, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: n.ProgramID, OrgID: u.OrgID})
	if err != nil {
		return e, "", work.Found(err, "program_id")
	}
	if err := u.Check(ctx, p.ID, work.PartnerRef("partner_id", n.PartnerID)); err != nil {
		return e, "", err
	}
	if err := checkQuota(ctx, u, p.ID, n.PartnerID); err != nil {
		return e, "", err
	}
	e = db.WebhookEndpoint{
		ID: u.NewID(ident.Endpoint), OrgID: p.OrgID, ProgramID: p.ID, PartnerID: n.PartnerID, URL: n.URL,
		EventTypes: types, Enabled: true, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	secret = NewSecret()
	if e.Secret, err = s.Keeper.Seal([]byte(secret), SecretPlace(e.ID, false)); err != nil {
		return e, "", err
	}
	return e, secret, queries.WebhookEndpointInsert(ctx, u.Later(), db.WebhookEndpointInsertParams{
		ID: e.ID, OrgID: e.OrgID, ProgramID: e.ProgramID, PartnerID: e.PartnerID, URL: e.URL, EventTypes: e.EventTypes,
		Enabled: e.Enabled, Secret: e.Secret, CreatedAt: u.Now,
	})
}

// checkQuota refuses an endpoint beyond the limit of a program or a partner.
func checkQuota(ctx context.Context, u *work.Unit, programID string, partnerID *string) error {
	owner := db.WebhookEndpointsCountParams{ProgramID: programID, OrgID: u.OrgID, PartnerID: partnerID}
	n, err := queries.WebhookEndpointsCount(ctx, u.Tx, owner)
	if err == nil && n >= maxEndpoints {
		err = problem.New(problem.WebhookEndpointLimit, "There are %d endpoints already, the maximum.", n)
	}
	return err
}

// checkURL refuses an address that the guard would not let the sender dial.
func (s *Endpoints) checkURL(ctx context.Context, url string) error {
	if err := s.Guard.Check(ctx, url); err != nil {
		refusal := problem.On("url", problem.URLNotAllowed, "url: %s.", err)
		refusal.Cause = err
		return refusal
	}
	return nil
}

// advised adds advice on receiving at a private address, for the program's own staff. Partners can do neither.
func advised(err error, partnerID *string) error {
	var p *problem.Error
	if partnerID == nil && errors.Is(err, ErrRefused) && errors.As(err, &p) {
		p.Message += " On your own machine use rail listen, or allow its network in RAIL_WEBHOOK_ALLOW_CIDRS."
	}
	return err
}

// typesOf returns the given types without duplicates, and none for all types: an endpoint without types gets every
// type. It refuses types that a partner's postback may not get
// (decisions, 159).
func typesOf(names []string, partner bool) ([]string, error) {
	types := make([]string, 0, len(names))
	for _, kind := range names {
		if slices.Contains(types, kind) {
			continue
		}
		if partner && !event.PartnerVisible(kind) {
			return nil, notForPartners(fmt.Sprintf("event_types[%d]", len(types)))
		}
		types = append(types, kind)
	}
	if len(types) == len(Catalogue()) {
		return []string{}, nil
	}
	return types, nil
}

// notForPartners lists the types allowed for a postback.
func notForPartners(param string) error {
	return problem.Invalid(param, "A postback accepts only referral.*, commission.* and payout.* types.")
}

// Update changes an endpoint. A disabled endpoint receives no events. When it is enabled again, earlier
// failures no longer count towards disabling it.
func (s *Endpoints) Update(
	ctx context.Context, u *work.Unit, id string, to EndpointChange,
) (db.WebhookEndpoint, error) {
	if to.URL != nil {
		if err := s.checkURL(ctx, *to.URL); err != nil {
			if e, absent := lock(ctx, u, id); absent == nil {
				err = advised(err, e.PartnerID)
			}
			return db.WebhookEndpoint{}, err
		}
	}
	if to.Enabled != nil && *to.Enabled {
		if err := cancelBacklog(ctx, u, id); err != nil {
			return db.WebhookEndpoint{}, err
		}
	}
	e, err := lock(ctx, u, id)
	if err != nil {
		return e, err
	}
	opt.Change(&e.URL, to.URL)
	if to.EventTypes != nil {
		if e.EventTypes, err = typesOf(to.EventTypes, e.PartnerID != nil); err != nil {
			return e, err
		}
	}
	if to.Enabled != nil {
		if err := enable(ctx, u, &e, *to.Enabled); err != nil {
			return e, err
		}
	}
	return e, save(ctx, u, &e)
}

// enable enables or disables an endpoint. Either way its waiting deliveries are cancelled: an endpoint enabled
// again gets new events only.
func enable(ctx context.Context, u *work.Unit, e *db.WebhookEndpoint, on bool) error {
	if on {
		e.CountedSince = u.Now
	}
	if on == e.Enabled {
		return nil
	}
	e.Enabled = on
	_, err := cancelSome(ctx, u.Later(), *e, u.Now, turnedOff)
	return err
}

// cancelBacklog cancels the deliveries that wait for a disabled endpoint, before it is enabled.
func cancelBacklog(ctx context.Context, u *work.Unit, id string) error {
	return inBatches(ctx, u, id, func(u *work.Unit, e db.WebhookEndpoint) (int64, error) {
		if e.Enabled {
			return 0, nil
		}
		return cancelSome(ctx, u.DB(), e, u.Now, turnedOff)
	})
}

// cancelSome cancels a batch of deliveries to an endpoint that is disabled for a reason.
func cancelSome(ctx context.Context, to db.DBTX, e db.WebhookEndpoint, at clock.Time, reason string) (int64, error) {
	return queries.WebhookCancel(ctx, to, db.WebhookCancelParams{
		Error: &reason, Now: &at, EndpointID: e.ID, OrgID: e.OrgID, Lim: logBatch,
	})
}

// inBatches changes deliveries of an endpoint in transactions before the unit's, until one changes less than a batch.
func inBatches(ctx context.Context, u *work.Unit, id string,
	change func(*work.Unit, db.WebhookEndpoint) (int64, error)) error {
	return work.Drain(logBatch, func() (n int64, err error) {
		err = u.Within(ctx, func(u *work.Unit) error {
			e, err := lock(ctx, u, id)
			if err == nil {
				n, err = change(u, e)
			}
			return err
		})
		return n, err
	})
}

// save queues the endpoint for the commit. The new updated_at tells an active sender that its copy of the
// endpoint is outdated.
func save(ctx context.Context, u *work.Unit, e *db.WebhookEndpoint) error {
	e.UpdatedAt = u.Now
	return queries.WebhookEndpointUpdate(ctx, u.Later(), db.WebhookEndpointUpdateParams{
		URL: e.URL, EventTypes: e.EventTypes, Enabled: e.Enabled, Secret: e.Secret, PreviousSecret: e.PreviousSecret,
		PreviousExpiresAt: e.PreviousExpiresAt, CountedSince: e.CountedSince, UpdatedAt: e.UpdatedAt,
		ID: e.ID, OrgID: e.OrgID,
	})
}

// Delete deletes an endpoint with its log; sending stops. A long log is deleted before the unit's transaction: if that
// is interrupted, the endpoint is disabled and has the rest of its log.
func Delete(ctx context.Context, u *work.Unit, id string) error {
	if err := shortenLog(ctx, u, id); err != nil {
		return err
	}
	e, err := lock(ctx, u, id)
	if err != nil {
		return err
	}
	return queries.WebhookEndpointDelete(ctx, u.Later(), db.WebhookEndpointDeleteParams{ID: e.ID, OrgID: e.OrgID})
}

// shortenLog deletes the log of an endpoint up to a batch. It disables the endpoint, so that events of the program do
// not wait for its lock.
func shortenLog(ctx context.Context, u *work.Unit, id string) error {
	return inBatches(ctx, u, id, func(u *work.Unit, e db.WebhookEndpoint) (int64, error) {
		long, err := queries.WebhookLogIsLong(ctx, u.DB(), db.WebhookLogIsLongParams{
			EndpointID: e.ID, OrgID: e.OrgID, Most: logBatch,
		})
		if err != nil || !long {
			return 0, err
		}
		e.Enabled = false
		if err := save(ctx, u, &e); err != nil {
			return 0, err
		}
		return queries.WebhookLogShorten(ctx, u.DB(), db.WebhookLogShortenParams{
			EndpointID: e.ID, OrgID: e.OrgID, Lim: logBatch,
		})
	})
}

// Rotate creates a new secret and returns it, which is never shown again. The old one also signs for a day; a
// still older secret expires now, so that at most two are valid.
func (s *Endpoints) Rotate(
	ctx context.Context, u *work.Unit, id string,
) (e db.WebhookEndpoint, secret string, err error) {
	if e, err = lock(ctx, u, id); err != nil {
		return e, "", err
	}
	old, err := s.Keeper.Open(e.Secret, SecretPlace(e.ID, false))
	if err != nil {
		return e, "", err
	}
	if e.PreviousSecret, err = s.Keeper.Seal(old, SecretPlace(e.ID, true)); err != nil {
		return e, "", err
	}
	secret = NewSecret()
	if e.Secret, err = s.Keeper.Seal([]byte(secret), SecretPlace(e.ID, false)); err != nil {
		return e, "", err
	}
	e.PreviousExpiresAt, e.CountedSince = new(u.Now.Plus(rotation)), u.Now
	return e, secret, save(ctx, u, &e)
}
