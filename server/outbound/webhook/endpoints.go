package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
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
	Keeper  *secret.Keeper
	Guard   *Guard // which addresses may be sent to
	Service string // the product's name, for User-Agent
	// Wake is called after a commit that left the sender something to send; it may
	// be nil.
	Wake func()

	pings pings
}

// NewEndpoint is an endpoint to be added: a partner's postback where PartnerID is
// given, else the program's own. No types mean all.
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

func lock(ctx context.Context, u *work.Unit, id string) (db.WebhookEndpoint, error) {
	e, err := queries.WebhookEndpointLock(ctx, u.Tx, db.WebhookEndpointLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	return e, u.CheckProgram(e.ProgramID)
}

// Create adds an endpoint and returns its secret, this once. The address is
// checked before anything is asked of the database.
func (s *Endpoints) Create(
	ctx context.Context, u *work.Unit, n NewEndpoint,
) (e db.WebhookEndpoint, secret string, err error) {
	if err := s.checkURL(ctx, n.URL); err != nil {
		return e, "", err
	}
	types, err := typesOf(n.EventTypes, n.PartnerID != nil)
	if err != nil {
		return e, "", err
	}
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

// checkQuota refuses an endpoint for which there is no room beside the others.
func checkQuota(ctx context.Context, u *work.Unit, programID string, partnerID *string) error {
	held := db.WebhookEndpointsHeldParams{ProgramID: programID, OrgID: u.OrgID, PartnerID: partnerID}
	n, err := queries.WebhookEndpointsHeld(ctx, u.Tx, held)
	if err == nil && n >= maxEndpoints {
		err = problem.New(problem.WebhookEndpointLimit, "There are %d endpoints already, as many as there may be.", n)
	}
	return err
}

func (s *Endpoints) checkURL(ctx context.Context, url string) error {
	if err := s.Guard.Check(ctx, url); err != nil {
		return problem.On("url", problem.URLNotAllowed, "url: %s.", err)
	}
	return nil
}

// typesOf returns the types that are given, each once. It refuses what a
// partner's postback may not get (decisions, 159).
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

func notForPartners(param string) error {
	return problem.Invalid(param, "A postback takes referral.*, commission.* and payout.* types only.")
}

// Update changes what is sent. An endpoint that is turned off gets nothing more;
// turned on again, its failures count anew.
func (s *Endpoints) Update(
	ctx context.Context, u *work.Unit, id string, to EndpointChange,
) (db.WebhookEndpoint, error) {
	if to.URL != nil {
		if err := s.checkURL(ctx, *to.URL); err != nil {
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

// enable turns an endpoint on or off. Off, nothing more is sent; on, nothing that
// waits from before.
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

// Rotate makes a new secret and returns it, this once; the old one signs too for
// a day, so that two are live at most.
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
