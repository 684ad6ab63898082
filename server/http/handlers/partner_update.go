package handlers

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/event"
	"rail/server/metadata"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// UpdatePartner changes a partner. An update that changes nothing writes and
// tells nothing.
func (s *Server) UpdatePartner(ctx context.Context, r api.UpdatePartnerRequestObject) (api.UpdatePartnerResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := metadata.Check(b.Metadata, "metadata"); err != nil {
		return nil, err
	}
	if err := metadata.Check(b.PayoutDetails, "payout_details"); err != nil {
		return nil, err
	}
	before, err := lockPartner(ctx, u, r.ID, b.Handle != nil)
	if err != nil {
		return nil, err
	}
	seen, err := lookAround(ctx, u, before, b)
	if err != nil {
		return nil, err
	}
	p := before
	if err := s.patchPartner(&p, b, seen, u.Now); err != nil {
		return nil, err
	}
	if b.Handle != nil && *b.Handle != p.Handle {
		p.Handle = *b.Handle
		if seen.holder != nil && seen.holder.PartnerID != p.ID {
			return nil, s.heldBy(ctx, u, *seen.holder)
		}
	}
	retag := b.TagIds != nil && !slices.Equal(seen.tags, wantedTags(b))
	if reflect.DeepEqual(before, p) && !retag {
		return api.UpdatePartner200JSONResponse(toPartner(before)), nil
	}
	p.UpdatedAt = u.Now
	if err := savePartner(ctx, u, p); err != nil {
		return nil, err
	}
	if p.Handle != before.Handle && seen.holder == nil { // the old handle stays the partner's (decisions, 44)
		if err := claimHandle(ctx, u, p); err != nil {
			return nil, err
		}
	}
	if p.Status != before.Status {
		if err := signOut(ctx, u, p); err != nil {
			return nil, err
		}
	}
	if retag {
		err = saveTags(ctx, u, p, wantedTags(b))
	}
	return api.UpdatePartner200JSONResponse(toPartner(p)), err
}

// signOut ends what a partner has of the portal: sessions, and links that were not
// used. Who is reinstated signs in again.
func signOut(ctx context.Context, u *work.Unit, p db.Partner) error {
	of := db.PartnerSessionsEndParams{ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID}
	if err := queries.PartnerSessionsEnd(ctx, u.Later(), of); err != nil {
		return err
	}
	return queries.MagicLinkVoid(ctx, u.Later(), db.MagicLinkVoidParams(of))
}

// lockPartner locks a partner for a change; a change of its handle needs the
// stronger lock from the start, since asking for it later could deadlock.
func lockPartner(ctx context.Context, u *work.Unit, id string, key bool) (db.Partner, error) {
	var p db.Partner
	var err error
	if key {
		p, err = queries.PartnerLockKey(ctx, u.DB(), db.PartnerLockKeyParams{ID: id, OrgID: u.OrgID})
	} else {
		p, err = queries.PartnerLock(ctx, u.DB(), db.PartnerLockParams{ID: id, OrgID: u.OrgID})
	}
	if err != nil {
		return p, err
	}
	return p, u.CheckProgram(p.ProgramID)
}

// surroundings is what an update of a partner is judged by.
type surroundings struct {
	methods []string          // the payout methods of the program
	tags    []string          // the partner's tags, in order of their ids
	holder  *db.TrackingValue // who holds the new handle
}

// lookAround reads what the body makes necessary, and refuses a group or a tag
// that does not exist or fit.
func lookAround(ctx context.Context, u *work.Unit, p db.Partner, b *api.PartnerUpdate) (surroundings, error) {
	var out surroundings
	if err := u.Check(ctx, p.ProgramID, updateRefs(b)...); err != nil {
		return out, err
	}
	var reads []pgtx.Read
	if b.PayoutMethod.IsSpecified() && !b.PayoutMethod.IsNull() {
		reads = append(reads, func(tx pgtx.DBTX) error {
			prog, err := queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: p.ProgramID, OrgID: p.OrgID})
			out.methods = prog.PayoutMethods
			return err
		})
	}
	if b.TagIds != nil {
		reads = append(reads, func(tx pgtx.DBTX) error {
			rows, err := queries.TagsOfPartners(ctx, tx, db.TagsOfPartnersParams{PartnerIds: []string{p.ID}, OrgID: p.OrgID})
			for _, r := range rows {
				out.tags = append(out.tags, r.Tag.ID)
			}
			slices.Sort(out.tags)
			return err
		})
	}
	if b.Handle != nil && *b.Handle != p.Handle {
		reads = append(reads, func(tx pgtx.DBTX) error {
			held, err := queries.TrackingValueGet(ctx, tx, db.TrackingValueGetParams{ProgramID: p.ProgramID, OrgID: p.OrgID, Value: *b.Handle})
			if err == nil {
				out.holder = &held
			}
			return err
		})
	}
	if len(reads) == 0 {
		return out, nil
	}
	return out, u.Together(ctx, reads...)
}

func updateRefs(b *api.PartnerUpdate) []work.Reference {
	var refs []work.Reference
	if group, err := b.GroupID.Get(); err == nil {
		refs = append(refs, work.GroupRef("group_id", &group))
	}
	for i, id := range b.TagIds {
		if !slices.Contains(b.TagIds[:i], id) {
			refs = append(refs, work.TagRef(fmt.Sprintf("tag_ids[%d]", i), &id))
		}
	}
	return refs
}

// wantedTags returns the tags of the body; order and duplicates mean nothing
// (decisions, 53).
func wantedTags(b *api.PartnerUpdate) []string {
	tags := distinct(b.TagIds)
	slices.Sort(tags)
	return tags
}

func (s *Server) patchPartner(p *db.Partner, b *api.PartnerUpdate, seen surroundings, now clock.Time) error {
	changeOrClear(&p.FirstName, b.FirstName)
	changeOrClear(&p.LastName, b.LastName)
	changeOrClear(&p.DisplayName, b.DisplayName)
	changeOrClear(&p.CompanyName, b.CompanyName)
	changeOrClear(&p.WebsiteURL, b.WebsiteURL)
	changeOrClear(&p.CountryCode, b.CountryCode)
	p.CountryCode = opt.Upper(p.CountryCode)
	changeOrClear(&p.GroupID, b.GroupID)
	changeOrClear(&p.MinPayoutMinor, b.MinPayoutMinor)
	if b.Metadata != nil {
		p.Metadata = metadata.Stored(b.Metadata)
	}
	if err := patchStatus(p, b); err != nil {
		return err
	}
	return s.patchPayout(p, b, seen.methods, now)
}

// patchStatus suspends or reinstates; who was never approved is not for an
// update to decide (decisions, 47).
func patchStatus(p *db.Partner, b *api.PartnerUpdate) error {
	if b.Status != nil {
		if p.Status != string(api.PartnerStatusActive) && p.Status != string(api.PartnerStatusSuspended) {
			return problem.On("status", problem.PartnerNotReviewed, "The partner is %s; only its application decides that.", p.Status)
		}
		p.Status = string(*b.Status)
	}
	changeOrClear(&p.SuspensionReason, b.SuspensionReason)
	if p.Status == string(api.PartnerStatusSuspended) {
		return nil
	}
	if b.SuspensionReason.IsSpecified() && p.SuspensionReason != nil {
		return problem.Invalid("suspension_reason", "suspension_reason is for a suspended partner; the partner is %s.", p.Status)
	}
	p.SuspensionReason = nil
	return nil
}

// patchPayout sets the payout method and its details. Details belong to one
// method: another method, or none, drops them.
func (s *Server) patchPayout(p *db.Partner, b *api.PartnerUpdate, methods []string, now clock.Time) error {
	old := p.PayoutMethod
	changeOrClear(&p.PayoutMethod, b.PayoutMethod)
	if given := p.PayoutMethod; b.PayoutMethod.IsSpecified() && given != nil && len(methods) > 0 && !slices.Contains(methods, *given) {
		return problem.Invalid("payout_method", "payout_method must be one of the program's: %v.", methods)
	}
	if opt.Value(old) != opt.Value(p.PayoutMethod) {
		p.PayoutDetails, p.PayoutDetailsHash = nil, nil
	}
	switch {
	case b.PayoutDetails == nil:
		return nil
	case metadata.Absent(b.PayoutDetails):
		p.PayoutDetails, p.PayoutDetailsHash = nil, nil
		return nil
	case p.PayoutMethod == nil:
		return problem.Invalid("payout_details", "payout_details needs a payout_method.")
	}
	return s.sealDetails(p, b.PayoutDetails, now)
}

// sealDetails encrypts the details, unless they are the ones already kept: a
// new seal would look like a change.
func (s *Server) sealDetails(p *db.Partner, details []byte, now clock.Time) error {
	where := payout.DetailsPlace(p.ID)
	if p.PayoutDetails != nil {
		if kept, err := s.Keeper.Open(p.PayoutDetails, where); err == nil && bytes.Equal(kept, details) {
			return nil
		}
	}
	var err error
	if p.PayoutDetails, err = s.Keeper.Seal(details, where); err != nil {
		return err
	}
	was := p.PayoutDetailsHash
	if p.PayoutDetailsHash, err = payout.DetailsHash(s.Keeper, p.ProgramID, p.PayoutMethod, details); !bytes.Equal(was, p.PayoutDetailsHash) {
		p.PayoutDetailsChangedAt = &now
	}
	return err
}

// savePartner writes a changed partner and tells of it.
func savePartner(ctx context.Context, u *work.Unit, p db.Partner) error {
	tellPartnerUpdated(u, p)
	return queries.PartnerUpdate(ctx, u.Later(), db.PartnerUpdateParams{
		GroupID: p.GroupID, FirstName: p.FirstName, LastName: p.LastName, DisplayName: p.DisplayName, CompanyName: p.CompanyName,
		WebsiteURL: p.WebsiteURL, CountryCode: p.CountryCode, Handle: p.Handle, Status: p.Status, DeclineReason: p.DeclineReason,
		SuspensionReason: p.SuspensionReason, MinPayoutMinor: p.MinPayoutMinor, Metadata: p.Metadata, PayoutMethod: p.PayoutMethod,
		PayoutDetails: p.PayoutDetails, PayoutDetailsHash: p.PayoutDetailsHash, PayoutDetailsChangedAt: p.PayoutDetailsChangedAt, UpdatedAt: p.UpdatedAt, ID: p.ID, OrgID: p.OrgID,
	})
}

func tellPartnerUpdated(u *work.Unit, p db.Partner) {
	u.Record("affiliate.updated", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}, api.AffiliateUpdatedData{
		PartnerID: p.ID, Status: api.PartnerStatus(p.Status), Reason: p.SuspensionReason,
	})
}

func saveTags(ctx context.Context, u *work.Unit, p db.Partner, tags []string) error {
	if err := queries.PartnerTagsClear(ctx, u.Later(), db.PartnerTagsClearParams{PartnerID: p.ID, OrgID: p.OrgID}); err != nil {
		return err
	}
	return queries.PartnerTagsAdd(ctx, u.Later(), db.PartnerTagsAddParams{OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, TagIds: tags})
}
