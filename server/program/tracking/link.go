package tracking

import (
	"context"
	"reflect"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/auth"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

const (
	// slugLength is the number of random characters of a short link (decisions, 76).
	slugLength = 7
	// defaultParam is the parameter of the value if the program names none.
	defaultParam = "ref"
)

// LinkInput is a link to create. A nil Param means the program's first, a nil Value the partner's handle.
type LinkInput struct {
	ProgramID, PartnerID, DestinationURL string
	Param, Value, Label                  *string
	Slug                                 *string // of the short address; nil: random
}

// CreateLink adds a link to a partner. Its value is the partner's handle, which several of the partner's links
// may share, or a unique value.
func CreateLink(ctx context.Context, u *work.Unit, in LinkInput) (db.Link, error) {
	p, partner, err := linkOwner(ctx, u, in.ProgramID, in.PartnerID)
	if err != nil {
		return db.Link{}, err
	}
	link := db.Link{
		ID: u.NewID(ident.Link), OrgID: u.OrgID, ProgramID: p.ID, PartnerID: partner.ID, Param: Param(p),
		Value: partner.Handle, DestinationURL: in.DestinationURL, DestinationKey: destinationKey(in.DestinationURL),
		ShortSlug: new(auth.NewSlug(slugLength)), Label: in.Label, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if in.Param != nil {
		link.Param = *in.Param
	}
	if in.Slug != nil {
		link.ShortSlug = in.Slug
	}
	if in.Value != nil {
		link.Value = *in.Value
	}
	// Values are compared in lower case, and shown as given.
	link.ValueKey = strings.ToLower(link.Value)
	// The handle was claimed with the partner.
	if link.ValueKey != partner.Handle {
		if err := claimValue(ctx, u, link); err != nil {
			return link, err
		}
	}
	err = queries.LinkInsert(ctx, u.Later(), db.LinkInsertParams(link))
	u.Record(aboutLink(link), events.AffiliateLinkCreated(api.AffiliateLinkCreatedData{
		LinkID: link.ID, PartnerID: link.PartnerID, URL: URL(link.DestinationURL, link.Param, link.Value),
		Param: link.Param, Value: link.Value, DestinationURL: link.DestinationURL,
	}))
	return link, err
}

// linkOwner reads the program and the partner of a new link in one round trip.
func linkOwner(
	ctx context.Context, u *work.Unit, programID, partnerID string,
) (p db.Program, partner db.Partner, err error) {
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) (err error) {
			p, err = queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: programID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			partner, err = queries.PartnerGet(ctx, tx, db.PartnerGetParams{ID: partnerID, OrgID: u.OrgID})
			return err
		})
	if err := work.Found(errs[0], "program_id"); err != nil {
		return p, partner, err
	}
	if err := work.Found(errs[1], "partner_id"); err != nil {
		return p, partner, err
	}
	return p, partner, work.SameProgram(partner.ProgramID, programID, "partner_id")
}

// Param returns the name of the query parameter that a program's links have unless they name another.
func Param(p db.Program) string { return Params(p)[0] }

// Params returns the names of the query parameters that a program's pages read, in order.
func Params(p db.Program) []string {
	if len(p.URLParams) > 0 {
		return p.URLParams
	}
	return []string{defaultParam}
}

// claimValue claims a value for a link. Values are unique in a program, handles included; only the partner's
// present and former handles may be used again (decisions, 43, 44 and 74).
func claimValue(ctx context.Context, u *work.Unit, l db.Link) error {
	// The insert checks whether the value is free, so that only one of two concurrent requests gets it.
	claimed, err := queries.TrackingValueClaim(ctx, u.DB(), db.TrackingValueClaimParams{
		OrgID: l.OrgID, ProgramID: l.ProgramID, Value: l.ValueKey, Kind: "link", PartnerID: l.PartnerID, LinkID: &l.ID,
	})
	if err != nil || claimed > 0 {
		return err
	}
	existing, err := queries.TrackingValueGet(ctx, u.DB(), db.TrackingValueGetParams{
		ProgramID: l.ProgramID, OrgID: l.OrgID, Value: l.ValueKey,
	})
	if err != nil {
		return err
	}
	if existing.Kind == "handle" && existing.PartnerID == l.PartnerID {
		return nil
	}
	return valueTaken(ctx, u, existing)
}

// valueTaken returns the conflict with the holder of the value: a link, deleted or not, or the partner with that
// present or former handle.
func valueTaken(ctx context.Context, u *work.Unit, existing db.TrackingValue) error {
	if existing.LinkID != nil {
		link, err := queries.LinkWithDeleted(ctx, u.DB(), db.LinkWithDeletedParams{
			ID: *existing.LinkID, OrgID: existing.OrgID,
		})
		if err != nil {
			return err
		}
		return problem.Taken(problem.LinkValueTaken, "value", link,
			"Another link of the program has this value; the values of deleted links stay reserved.")
	}
	partner, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: existing.PartnerID, OrgID: existing.OrgID})
	if err != nil {
		return err
	}
	return problem.Taken(problem.LinkValueTaken, "value", partner,
		"The value is a handle of another partner of the program.")
}

// LinkChanges are changes to a link; nil and unspecified members stay.
type LinkChanges struct {
	DestinationURL *string
	Label          nullable.Nullable[string]
}

// UpdateLink changes destination and label. The value stays, since links with it
// are published.
func UpdateLink(ctx context.Context, u *work.Unit, id string, to LinkChanges) (db.Link, error) {
	before, err := lockLink(ctx, u, id)
	if err != nil {
		return before, err
	}
	link := before
	if to.DestinationURL != nil {
		link.DestinationURL, link.DestinationKey = *to.DestinationURL, destinationKey(*to.DestinationURL)
	}
	opt.ChangeOrClear(&link.Label, to.Label)
	link.Label = opt.OrNil(strings.TrimSpace(plain.Name(opt.Value(link.Label))))
	if reflect.DeepEqual(link, before) {
		return link, nil
	}
	link.UpdatedAt = u.Now
	err = queries.LinkUpdate(ctx, u.Later(), db.LinkUpdateParams{
		DestinationURL: link.DestinationURL, DestinationKey: link.DestinationKey, Label: link.Label,
		UpdatedAt: link.UpdatedAt, ID: link.ID, OrgID: link.OrgID,
	})
	u.Record(aboutLink(link), events.AffiliateLinkUpdated(api.AffiliateLinkUpdatedData{
		LinkID: link.ID, PartnerID: link.PartnerID, URL: URL(link.DestinationURL, link.Param, link.Value),
		DestinationURL: link.DestinationURL,
	}))
	return link, err
}

// DeleteLink hides a link. It keeps its value, and its address still redirects: published links cannot be
// recalled (decisions, 78).
func DeleteLink(ctx context.Context, u *work.Unit, id string) error {
	link, err := lockLink(ctx, u, id)
	if err != nil {
		return err
	}
	err = queries.LinkDelete(ctx, u.Later(), db.LinkDeleteParams{DeletedAt: &u.Now, ID: link.ID, OrgID: link.OrgID})
	u.Record(aboutLink(link),
		events.AffiliateLinkDeleted(api.AffiliateLinkDeletedData{LinkID: link.ID, PartnerID: link.PartnerID}))
	return err
}

// lockLink locks a link of the unit's programs until the commit.
func lockLink(ctx context.Context, u *work.Unit, id string) (db.Link, error) {
	link, err := queries.LinkLock(ctx, u.DB(), db.LinkLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return link, err
	}
	return link, u.CheckProgram(link.ProgramID)
}

// aboutLink returns the subject of a link's events.
func aboutLink(l db.Link) event.Subject {
	return event.Subject{ProgramID: l.ProgramID, PartnerID: l.PartnerID, ID: l.ID}
}
