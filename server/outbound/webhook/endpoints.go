package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/event"
)

const (
	// maxEndpoints bounds the endpoints of a program (decisions, 159 and 211), and
	// the postbacks of a partner: those of partners take none of the program's.
	maxEndpoints = 20
	// rotation is how long an old secret signs beside the new one.
	rotation = 24 * time.Hour
)

// Endpoints are the rules of endpoints and of their deliveries.
type Endpoints struct {
	Primary *pgxpool.Pool // which alone knows whose events are still to be committed
	Keeper  *secret.Keeper
	Guard   *Guard // which addresses may be sent to
	Service string // the product's name, for User-Agent
	// Wake is called after a commit that left the sender something to send; it may
	// be nil.
	Wake func()

	pings pings
}

// NewEndpoint is an endpoint to add: a partner's postback if PartnerID is given,
// else the program's own. No event types stand for all.
type NewEndpoint struct {
	ProgramID  string
	PartnerID  *string
	URL        string
	EventTypes []string
}

// EndpointChange is a change of an endpoint; what is nil stays.
type EndpointChange struct {
	URL        *string
	EventTypes []string
	Enabled    *bool
}

// Get returns an endpoint of the unit's.
func Get(ctx context.Context, u *work.Unit, id string) (db.WebhookEndpoint, error) {
	e, err := queries.WebhookEndpointGet(ctx, u.DB(), db.WebhookEndpointGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	return e, u.CheckProgram(e.ProgramID)
}

// lock locks an endpoint of the unit's until the commit.
func lock(ctx context.Context, u *work.Unit, id string) (db.WebhookEndpoint, error) {
	e, err := queries.WebhookEndpointLock(ctx, u.Tx, db.WebhookEndpointLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	return e, u.CheckProgram(e.ProgramID)
}

// Create adds an endpoint and returns its secret, which is never shown again. The
// address is checked first: looking up its name must not keep a transaction open.
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
	// With the program locked, two requests cannot both take the last place.
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
		ID: ident.New(ident.Endpoint), OrgID: p.OrgID, ProgramID: p.ID, PartnerID: n.PartnerID, URL: n.URL,
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

// checkQuota refuses an endpoint beyond the most that a program, or a partner,
// may have.
func checkQuota(ctx context.Context, u *work.Unit, programID string, partnerID *string) error {
	owner := db.WebhookEndpointsCountParams{ProgramID: programID, OrgID: u.OrgID, PartnerID: partnerID}
	n, err := queries.WebhookEndpointsCount(ctx, u.Tx, owner)
	if err == nil && n >= maxEndpoints {
		err = problem.New(problem.WebhookEndpointLimit, "There are %d endpoints already, as many as there may be.", n)
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

// advised tells a program's own people how they receive at an address that is not
// public. Partners can do neither.
func advised(err error, partnerID *string) error {
	var p *problem.Error
	if partnerID == nil && errors.Is(err, ErrRefused) && errors.As(err, &p) {
		p.Message += " On your own machine receive with rail listen, or open its network with RAIL_WEBHOOK_ALLOW_CIDRS."
	}
	return err
}

// typesOf returns the given types, each once. It refuses types that a partner's
// postback may not get (decisions, 159).
func typesOf(given []string, partner bool) ([]string, error) {
	types := make([]string, 0, len(given))
	for _, kind := range given {
		if slices.Contains(types, kind) {
			continue
		}
		if partner && !event.PartnerVisible(kind) {
			return nil, notForPartners(fmt.Sprintf("event_types[%d]", len(types)))
		}
		types = append(types, kind)
	}
	return types, nil
}

// notForPartners names the types that a postback may take.
func notForPartners(param string) error {
	return problem.Invalid(param, "A postback takes referral.*, commission.* and payout.* types only.")
}

// Update changes an endpoint. One that is turned off gets nothing more. When it is
// turned on again, earlier failures no longer count towards turning it off.
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

// enable turns an endpoint on or off. Either way its waiting deliveries are
// cancelled: an endpoint that is on again gets new events only.
func enable(ctx context.Context, u *work.Unit, e *db.WebhookEndpoint, on bool) error {
	if on {
		e.CountedSince = u.Now
	}
	if on == e.Enabled {
		return nil
	}
	e.Enabled = on
	return queries.WebhookCancel(ctx, u.Later(), db.WebhookCancelParams{
		Error: new("The endpoint was turned off."), Now: &u.Now, EndpointID: e.ID, OrgID: e.OrgID,
	})
}

// save queues the endpoint for the commit. Its new updated_at shows a sender at
// work that what it has read of the endpoint is out of date.
func save(ctx context.Context, u *work.Unit, e *db.WebhookEndpoint) error {
	e.UpdatedAt = u.Now
	return queries.WebhookEndpointUpdate(ctx, u.Later(), db.WebhookEndpointUpdateParams{
		URL: e.URL, EventTypes: e.EventTypes, Enabled: e.Enabled, Secret: e.Secret, PreviousSecret: e.PreviousSecret,
		PreviousExpiresAt: e.PreviousExpiresAt, CountedSince: e.CountedSince, UpdatedAt: e.UpdatedAt,
		ID: e.ID, OrgID: e.OrgID,
	})
}

// Delete removes an endpoint with its log; nothing more is sent.
func Delete(ctx context.Context, u *work.Unit, id string) error {
	e, err := lock(ctx, u, id)
	if err != nil {
		return err
	}
	return queries.WebhookEndpointDelete(ctx, u.Later(), db.WebhookEndpointDeleteParams{ID: e.ID, OrgID: e.OrgID})
}

// Rotate makes a new secret and returns it, which is never shown again. The old
// one signs too for a day; a secret that was still live before it ends now, so
// that at most two are live.
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
