package partner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale"
	"rail/server/locale/plain"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/work"
	"rail/server/work/metadata"

	"github.com/oapi-codegen/nullable"
)

// Patch is a change to a partner. An unspecified field stays; null clears a nullable field. MinPayoutMinor is
// minor units of the program's currency.
type Patch struct {
	FirstName, LastName, DisplayName, CompanyName, WebsiteURL, CountryCode nullable.Nullable[string]
	LanguageCode, Address, TaxID                                           nullable.Nullable[string]

	GroupID          nullable.Nullable[string]
	Handle           *string
	Status           *db.PartnerStatus
	SuspensionReason nullable.Nullable[string]
	MinPayoutMinor   nullable.Nullable[int64]
	PayoutMethod     nullable.Nullable[string]
	PayoutDetails    json.RawMessage
	Metadata         json.RawMessage
	ExternalID       nullable.Nullable[string]
	TagIDs           []string // the whole list; nil keeps the present one
}

// Update changes a partner. A change without effect writes nothing and records no event.
func (s *Service) Update(ctx context.Context, u *work.Unit, id string, b Patch) (db.Partner, error) {
	if err := checkObjects(b); err != nil {
		return db.Partner{}, err
	}
	before, err := lock(ctx, u, id, b.Handle != nil)
	if err != nil {
		return before, err
	}
	seen, err := readRelated(ctx, u, before, b)
	if err != nil {
		return before, err
	}
	p := before
	if err := s.patch(&p, b, seen.methods, u.Now); err != nil {
		return before, err
	}
	if err := patchHandle(ctx, u, &p, b, seen.holder); err != nil {
		return before, err
	}
	plain.Names(&p.FirstName, &p.LastName, &p.DisplayName, &p.CompanyName, &p.Address, &p.TaxID)
	if seen.namesake != nil && seen.namesake.ID != p.ID {
		return before, externalIDTaken(*seen.namesake)
	}
	if err := checkNames(p); err != nil {
		return before, err
	}
	// Tags are separate rows, which a comparison of partners does not cover.
	retag := b.TagIDs != nil && !slices.Equal(seen.tags, wantedTags(b))
	if reflect.DeepEqual(before, p) && !retag {
		return before, nil
	}
	p.UpdatedAt = u.Now
	if err := s.mailDetails(ctx, u, before, p); err != nil {
		return p, err
	}
	if err := s.checkAddresses(ctx, u, before, p); err != nil {
		return p, err
	}
	if err := saveChange(ctx, u, before, p, seen.holder != nil); err != nil || !retag {
		return p, err
	}
	return p, saveTags(ctx, u, p, wantedTags(b))
}

// mailDetails mails the partner if its payout method or details change (decisions, 326).
func (s *Service) mailDetails(ctx context.Context, u *work.Unit, before, p db.Partner) error {
	same := opt.Value(before.PayoutMethod) == opt.Value(p.PayoutMethod)
	if same && bytes.Equal(before.PayoutDetails, p.PayoutDetails) || !s.Mail.Ready() {
		return nil
	}
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return err
	}
	changed := mail.PayoutDetailsChanged(mail.ToPartner(p, prog, ""), p.ID, u.Now)
	return s.Mail.Queue(ctx, u.Later(), p.OrgID, changed, u.Now)
}

// checkAddresses searches for customers with one of the partner's new payout emails (decisions, 306).
func (s *Service) checkAddresses(ctx context.Context, u *work.Unit, before, p db.Partner) error {
	if bytes.Equal(before.PayoutDetails, p.PayoutDetails) {
		return nil
	}
	emails, err := payout.Emails(s.Keeper, p)
	if err != nil {
		return err
	}
	for _, email := range emails {
		if err := risk.CheckOwnCustomers(ctx, u, p, email); err != nil {
			return err
		}
	}
	return nil
}

// checkObjects checks the objects whose content is up to the caller.
func checkObjects(b Patch) error {
	if err := metadata.Check(b.Metadata, "metadata"); err != nil {
		return err
	}
	if err := metadata.Check(b.PayoutDetails, "payout_details"); err != nil {
		return err
	}
	return checkDetails(b.PayoutDetails)
}

// patchHandle sets the handle, unless it is taken.
func patchHandle(ctx context.Context, u *work.Unit, p *db.Partner, b Patch, holder *db.TrackingValue) error {
	if !renames(*p, b) {
		return nil
	}
	p.Handle = *b.Handle
	if holder != nil && !owns(*p, *holder) {
		return heldBy(ctx, u, *holder)
	}
	return nil
}

// renames reports whether the change includes a new handle.
func renames(p db.Partner, b Patch) bool { return b.Handle != nil && *b.Handle != p.Handle }

// saveChange queues a changed partner for the commit. A new handle without a holder is claimed, and the old one
// stays the partner's (decisions, 44).
func saveChange(ctx context.Context, u *work.Unit, before, p db.Partner, hasHolder bool) error {
	if err := save(ctx, u, p); err != nil {
		return err
	}
	if p.Handle != before.Handle && !hasHolder {
		if err := claimHandle(ctx, u, p); err != nil {
			return err
		}
	}
	if p.Status == before.Status {
		return nil
	}
	return endSessions(ctx, u, p)
}

// related holds the rows for validating a change of a partner.
type related struct {
	methods []string          // payout methods of the program
	tags    []string          // the partner's tags, sorted by id
	holder  *db.TrackingValue // holder of the new handle

	namesake *db.Partner // the partner with the external id
}

// readRelated reads the rows that the change needs in one round trip. It refuses a group or a tag that does not
// exist or belongs to another program.
func readRelated(ctx context.Context, u *work.Unit, p db.Partner, b Patch) (*related, error) {
	var seen related
	if err := u.Check(ctx, p.ProgramID, updateRefs(b)...); err != nil {
		return &seen, err
	}
	var reads []pgtx.Read
	if b.PayoutMethod.IsSpecified() && !b.PayoutMethod.IsNull() {
		reads = append(reads, seen.readMethods(ctx, p))
	}
	if b.TagIDs != nil {
		reads = append(reads, seen.readTags(ctx, p))
	}
	if renames(p, b) {
		reads = append(reads, seen.readHolder(ctx, p, *b.Handle))
	}
	if id, err := b.ExternalID.Get(); err == nil {
		reads = append(reads, seen.readNamesake(ctx, p, id))
	}
	if len(reads) == 0 {
		return &seen, nil
	}
	return &seen, u.Together(ctx, reads...)
}

func (s *related) readMethods(ctx context.Context, p db.Partner) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		prog, err := queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: p.ProgramID, OrgID: p.OrgID})
		s.methods = prog.PayoutMethods
		return err
	}
}

func (s *related) readTags(ctx context.Context, p db.Partner) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		of := db.TagsOfPartnersParams{PartnerIds: []string{p.ID}, OrgID: p.OrgID}
		rows, err := queries.TagsOfPartners(ctx, tx, of)
		for _, r := range rows {
			s.tags = append(s.tags, r.Tag.ID)
		}
		slices.Sort(s.tags)
		return err
	}
}

func (s *related) readHolder(ctx context.Context, p db.Partner, handle string) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		value, err := queries.TrackingValueGet(ctx, tx, db.TrackingValueGetParams{
			ProgramID: p.ProgramID, OrgID: p.OrgID, Value: handle,
		})
		if err == nil {
			s.holder = &value
		}
		return err
	}
}

func (s *related) readNamesake(ctx context.Context, p db.Partner, id string) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		found, err := byExternalID(ctx, tx, p.OrgID, p.ProgramID, &id)
		if err == nil {
			s.namesake = &found
		}
		return err
	}
}

// updateRefs returns the ids in the change that must be of the program. A repeated tag is looked up once, at its
// first position.
func updateRefs(b Patch) []work.Reference {
	var refs []work.Reference
	if group, err := b.GroupID.Get(); err == nil {
		refs = append(refs, work.GroupRef("group_id", &group))
	}
	for i, id := range b.TagIDs {
		if !slices.Contains(b.TagIDs[:i], id) {
			refs = append(refs, work.TagRef(fmt.Sprintf("tag_ids[%d]", i), &id))
		}
	}
	return refs
}

// wantedTags returns the tags of the change, sorted and without duplicates: neither order nor repetition matters
// (decisions, 53).
func wantedTags(b Patch) []string {
	tags := slices.Clone(b.TagIDs)
	slices.Sort(tags)
	return slices.Compact(tags)
}

// patch applies the change to p, except handle and tags. It writes nothing, so that the caller can compare p
// with the stored row.
func (s *Service) patch(p *db.Partner, b Patch, methods []string, now clock.Time) error {
	opt.ChangeOrClear(&p.FirstName, b.FirstName)
	opt.ChangeOrClear(&p.LastName, b.LastName)
	opt.ChangeOrClear(&p.DisplayName, b.DisplayName)
	opt.ChangeOrClear(&p.CompanyName, b.CompanyName)
	opt.ChangeOrClear(&p.WebsiteURL, b.WebsiteURL)
	opt.ChangeOrClear(&p.CountryCode, b.CountryCode)
	p.CountryCode = opt.Upper(p.CountryCode)
	opt.ChangeOrClear(&p.LanguageCode, b.LanguageCode)
	opt.ChangeOrClear(&p.Address, b.Address)
	opt.ChangeOrClear(&p.TaxID, b.TaxID)
	opt.ChangeOrClear(&p.GroupID, b.GroupID)
	opt.ChangeOrClear(&p.ExternalID, b.ExternalID)
	opt.ChangeOrClear(&p.MinPayoutMinor, b.MinPayoutMinor)
	if b.Metadata != nil {
		p.Metadata = metadata.Stored(b.Metadata)
	}
	if b.LanguageCode.IsSpecified() {
		if err := checkLanguage(p.LanguageCode); err != nil {
			return err
		}
	}
	if err := patchStatus(p, b); err != nil {
		return err
	}
	return s.patchPayout(p, b, methods, now)
}

// checkLanguage refuses text that is not a language tag.
func checkLanguage(code *string) error {
	if code == nil || locale.IsTag(*code) {
		return nil
	}
	return problem.Invalid("language_code", "language_code must be a language tag, such as de or pt-BR.")
}

// patchStatus suspends or reinstates a partner. It refuses a pending or declined partner, whose application
// decides (decisions, 47). The suspension reason and a scheduled ban end with the suspension.
func patchStatus(p *db.Partner, b Patch) error {
	if b.Status != nil {
		if p.Status != db.PartnerStatusActive && p.Status != db.PartnerStatusSuspended {
			return problem.On("status", problem.PartnerNotReviewed,
				"The partner is %s; only its application decides that.", p.Status)
		}
		p.Status = *b.Status
	}
	opt.ChangeOrClear(&p.SuspensionReason, b.SuspensionReason)
	if p.Status == db.PartnerStatusSuspended {
		return nil
	}
	if b.SuspensionReason.IsSpecified() && p.SuspensionReason != nil {
		return problem.Invalid("suspension_reason",
			"suspension_reason is for a suspended partner; the partner is %s.", p.Status)
	}
	p.SuspensionReason = nil
	forgetBan(p)
	return nil
}

// patchPayout sets the payout method and its details, and notes when the payout destination changes.
func (s *Service) patchPayout(p *db.Partner, b Patch, methods []string, now clock.Time) error {
	before := *p
	if err := s.patchDetails(p, b, methods); err != nil {
		return err
	}
	moved, err := s.moved(before, *p)
	if moved {
		p.PayoutDetailsChangedAt = &now
	}
	return err
}

// moved reports whether a partner is paid elsewhere than before.
func (s *Service) moved(before, p db.Partner) (bool, error) {
	switch {
	case opt.Value(before.PayoutMethod) != opt.Value(p.PayoutMethod),
		!bytes.Equal(before.PayoutDetailsHash, p.PayoutDetailsHash):
		return true, nil
	case bytes.Equal(before.PayoutDetails, p.PayoutDetails):
		return false, nil
	}
	old, err := payout.DetailsOf(s.Keeper, before)
	if err != nil {
		return true, nil //nolint:nilerr // details that cannot be opened count as changed
	}
	now, err := payout.DetailsOf(s.Keeper, p)
	if err != nil {
		return true, err
	}
	same, err := payout.SamePlaces(old, now)
	return !same, err
}

// patchDetails sets the payout method and its details. Details belong to one method, so another method, or none,
// drops them.
func (s *Service) patchDetails(p *db.Partner, b Patch, methods []string) error {
	old := p.PayoutMethod
	opt.ChangeOrClear(&p.PayoutMethod, b.PayoutMethod)
	method := p.PayoutMethod
	if b.PayoutMethod.IsSpecified() && method != nil && len(methods) > 0 && !slices.Contains(methods, *method) {
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
		return problem.Invalid("payout_details", "payout_details requires a payout_method.")
	}
	return s.sealDetails(p, b.PayoutDetails)
}

// sealDetails encrypts the details, unless they equal the stored ones: sealing again would give other bytes and
// look like a change. The hash allows finding duplicates without opening the details.
func (s *Service) sealDetails(p *db.Partner, details []byte) error {
	where := payout.DetailsPlace(p.ID)
	if p.PayoutDetails != nil {
		if stored, err := s.Keeper.Open(p.PayoutDetails, where); err == nil && bytes.Equal(stored, details) {
			return nil
		}
	}
	var err error
	if p.PayoutDetails, err = s.Keeper.Seal(details, where); err != nil {
		return err
	}
	p.PayoutDetailsHash, err = payout.DetailsHash(s.Keeper, p.ProgramID, p.PayoutMethod, details)
	return err
}

// save queues a changed partner for the commit, with its event.
func save(ctx context.Context, u *work.Unit, p db.Partner) error {
	recordUpdated(u, p)
	return queries.PartnerUpdate(ctx, u.Later(), db.PartnerUpdateParams{
		GroupID:                p.GroupID,
		FirstName:              p.FirstName,
		LastName:               p.LastName,
		DisplayName:            p.DisplayName,
		CompanyName:            p.CompanyName,
		WebsiteURL:             p.WebsiteURL,
		CountryCode:            p.CountryCode,
		LanguageCode:           p.LanguageCode,
		Handle:                 p.Handle,
		Status:                 p.Status,
		DeclineReason:          p.DeclineReason,
		SuspensionReason:       p.SuspensionReason,
		MinPayoutMinor:         p.MinPayoutMinor,
		Metadata:               p.Metadata,
		PayoutMethod:           p.PayoutMethod,
		PayoutDetails:          p.PayoutDetails,
		PayoutDetailsHash:      p.PayoutDetailsHash,
		PayoutDetailsChangedAt: p.PayoutDetailsChangedAt,
		ExternalID:             p.ExternalID,
		Address:                p.Address,
		TaxID:                  p.TaxID,
		UpdatedAt:              p.UpdatedAt,
		BanAt:                  p.BanAt,
		BanReason:              p.BanReason,
		BanTerms:               p.BanTerms,
		ID:                     p.ID,
		OrgID:                  p.OrgID,
	})
}

// saveTags replaces the partner's tags.
func saveTags(ctx context.Context, u *work.Unit, p db.Partner, tags []string) error {
	of := db.PartnerTagsClearParams{PartnerID: p.ID, OrgID: p.OrgID}
	if err := queries.PartnerTagsClear(ctx, u.Later(), of); err != nil {
		return err
	}
	return queries.PartnerTagsAdd(ctx, u.Later(), db.PartnerTagsAddParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, TagIds: tags,
	})
}
