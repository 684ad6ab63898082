package handlers

import (
	"context"
	"strings"
	"time"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/work"
)

// ListPartners lists the partners of a program, newest first.
func (s *Server) ListPartners(ctx context.Context,
	r api.ListPartnersRequestObject) (api.ListPartnersResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	var hasMethod *bool
	if p.HasPayoutMethod != nil {
		hasMethod = new(*p.HasPayoutMethod == api.HasPayoutMethodFilterTrue)
	}
	out, err := readPage(ctx, q, db.PartnerList{
		Status: list.Any(p.Status), GroupID: p.GroupID, TagID: p.TagID,
		Email: opt.Lower(p.Email), Handle: opt.Lower(p.Handle),
		ExternalID: p.ExternalID, Search: containing(p.Search),
		HasPayoutMethod: hasMethod, NoClickSince: q.date("no_click_since", p.NoClickSince),
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toPartner, partnerParts(p.Expand, p.Include)...)
	return api.ListPartners200JSONResponse(out), err
}

// RetrievePartner returns one partner.
func (s *Server) RetrievePartner(ctx context.Context,
	r api.RetrievePartnerRequestObject) (api.RetrievePartnerResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.PartnerGet(ctx, u.Short(), db.PartnerGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toPartner(row), row.ProgramID, err, partnerParts(r.Params.Expand, r.Params.Include)...)
	return api.RetrievePartner200JSONResponse(out), err
}

// CreatePartner adds a partner, at once or to the review queue. A used email or handle is a 409
// with its partner.
func (s *Server) CreatePartner(ctx context.Context,
	r api.CreatePartnerRequestObject) (api.CreatePartnerResponseObject, error) {
	u, b := work.From(ctx), r.Body
	// The only other status than the default, active, is pending.
	pending := b.Status != nil && *b.Status == api.PartnerCreateStatusPending
	c := partner.Candidate{
		ProgramID: b.ProgramID, GroupID: b.GroupID, Email: b.Email, Handle: b.Handle, FirstName: b.FirstName,
		LastName: b.LastName, CompanyName: b.CompanyName, WebsiteURL: b.WebsiteURL, CountryCode: b.CountryCode,
		LanguageCode: b.LanguageCode, Metadata: b.Metadata, ExternalID: b.ExternalID,
	}
	invite := b.Invite != nil && *b.Invite
	if invite && pending {
		return nil, problem.Invalid("invite", "invite must be false for a pending partner, who cannot sign in.")
	}
	if invite {
		p, err := s.Partners.Invite(ctx, u, c)
		return api.CreatePartner201JSONResponse(toPartner(p)), err
	}
	p, err := partner.Create(ctx, u, c, pending)
	return api.CreatePartner201JSONResponse(toPartner(p)), err
}

// UpdatePartner changes a partner.
// Payout details are sealed and never shown again.
func (s *Server) UpdatePartner(ctx context.Context,
	r api.UpdatePartnerRequestObject) (api.UpdatePartnerResponseObject, error) {
	b := r.Body
	p, err := s.Partners.Update(ctx, work.From(ctx), r.ID, partner.Patch{
		FirstName:        b.FirstName,
		LastName:         b.LastName,
		DisplayName:      b.DisplayName,
		CompanyName:      b.CompanyName,
		WebsiteURL:       b.WebsiteURL,
		CountryCode:      b.CountryCode,
		LanguageCode:     b.LanguageCode,
		Address:          b.Address,
		TaxID:            b.TaxID,
		GroupID:          b.GroupID,
		Handle:           b.Handle,
		Status:           (*db.PartnerStatus)(b.Status),
		SuspensionReason: b.SuspensionReason,
		MinPayoutMinor:   b.MinPayoutMinor,
		PayoutMethod:     b.PayoutMethod,
		PayoutDetails:    b.PayoutDetails,
		Metadata:         b.Metadata,
		TagIDs:           b.TagIds,
		ExternalID:       b.ExternalID,
	})
	return api.UpdatePartner200JSONResponse(toPartner(p)), err
}

// DeletePartner removes a partner with its commissions and payouts. Its sales remain, without a
// partner. A payout in flight is a 409.
func (s *Server) DeletePartner(ctx context.Context,
	r api.DeletePartnerRequestObject) (api.DeletePartnerResponseObject, error) {
	err := partner.Delete(ctx, work.From(ctx), r.ID)
	return api.DeletePartner200JSONResponse{ID: r.ID, Object: "partner", Deleted: true}, err
}

// BanPartner suspends a partner and rejects its unpaid commissions. A dry run only returns the
// effects, and one with undo_for_minutes schedules the ban.
func (s *Server) BanPartner(ctx context.Context, r api.BanPartnerRequestObject) (api.BanPartnerResponseObject, error) {
	u, b := work.From(ctx), r.Body
	var done partner.Ban
	var err error
	dry, tell := b.DryRun != nil && *b.DryRun, b.TellPartner == nil || *b.TellPartner
	switch {
	case dry:
		done, err = partner.PreviewBan(ctx, u, r.ID)
	case b.UndoForMinutes != nil:
		done, err = s.Partners.ScheduleBan(ctx, u, r.ID, b.Reason, tell, time.Duration(*b.UndoForMinutes)*time.Minute)
	default:
		done, err = s.Partners.Ban(ctx, u, r.ID, b.Reason, tell)
	}
	return api.BanPartner200JSONResponse{
		Object: "partner_ban", DryRun: dry, Partner: toPartner(done.Partner),
		RejectedCount: done.Money.Rejected.Count, Rejected: toSums(done.Money.Rejected.Minor),
		KeptCount: done.Money.Kept.Count, Kept: toSums(done.Money.Kept.Minor), RemainingCount: done.Money.Remaining,
		LinksStopped: done.LinksStopped, CouponsStopped: done.CouponsStopped,
	}, err
}

// UndoPartnerBan cancels a scheduled ban.
func (s *Server) UndoPartnerBan(ctx context.Context,
	r api.UndoPartnerBanRequestObject) (api.UndoPartnerBanResponseObject, error) {
	p, err := s.Partners.UndoBan(ctx, work.From(ctx), r.ID)
	return api.UndoPartnerBan200JSONResponse(toPartner(p)), err
}

func partnerParts(expand []api.PartnerExpand, include []api.PartnerInclude) []part[api.Partner] {
	return []part[api.Partner]{
		embedGroup(wants(expand, api.PartnerExpandGroup),
			func(p *api.Partner) (*string, *nullable.Nullable[api.Group]) { return p.GroupID, &p.Group }),
		when(wants(include, api.PartnerIncludeStats), partnerStats),
		when(wants(include, api.PartnerIncludeTags), partnerTags),
	}
}

// partnerStats adds the counters of partners, which may be zero.
func partnerStats(ctx context.Context, tx pgtx.DBTX, orgID string, partners []api.Partner) error {
	rows, err := queries.PartnerStats(ctx, tx, db.PartnerStatsParams{Ids: partnerIDs(partners), OrgID: orgID})
	stats := map[string]api.PartnerStats{}
	for _, r := range rows {
		stats[r.ID] = api.PartnerStats{
			Clicks:           r.Clicks,
			Referrals:        r.Referrals,
			Customers:        r.Customers,
			CommissionsMinor: r.CommissionsMinor,
			PaidMinor:        r.PaidMinor,
		}
	}
	for i := range partners {
		partners[i].Stats = new(stats[partners[i].ID])
	}
	return err
}

// partnerTags adds the tags of partners. Without tags the list is empty; null would mean that it
// was not requested.
func partnerTags(ctx context.Context, tx pgtx.DBTX, orgID string, partners []api.Partner) error {
	rows, err := queries.TagsOfPartners(ctx, tx, db.TagsOfPartnersParams{PartnerIds: partnerIDs(partners), OrgID: orgID})
	tags := map[string][]api.Tag{}
	for _, r := range rows {
		tags[r.PartnerID] = append(tags[r.PartnerID], toTag(r.Tag))
	}
	for i := range partners {
		of := append([]api.Tag{}, tags[partners[i].ID]...)
		partners[i].Tags = &of
	}
	return err
}

// partnerIDs returns the ids of a page.
func partnerIDs(partners []api.Partner) []string {
	return ids(partners, func(p *api.Partner) string { return p.ID })
}

// containing returns the ILIKE pattern of the texts that contain text literally,
// with its wildcards escaped; nil for nil.
func containing(text *string) *string {
	if text == nil {
		return nil
	}
	return new("%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(*text) + "%")
}
