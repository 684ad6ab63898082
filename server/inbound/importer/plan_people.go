package importer

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/ident"
	"rail/server/ident/slug"
	"rail/server/inbound/importer/source"
	"rail/server/locale/plain"
)

var (
	address  = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	isHandle = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$`)
)

const (
	maxEmail = 254
	maxValue = 64
	maxCode  = 64
	maxID    = 255
)

// comparePartners finds partners by their email. Two partners of the source with one email become one.
func (b *batch) comparePartners(ctx context.Context) error {
	var emails, ids []string
	people := map[*row]source.Partner{}
	for _, r := range b.toWrite() {
		p, err := decode[source.Partner](r.Data)
		switch {
		case err != nil:
			b.refuse(r, "missing_member", "The partner cannot be read.")
			continue
		case !address.MatchString(p.Email) || len(p.Email) > maxEmail || !plain.Addressed(p.Email):
			b.refuse(r, "missing_member", fmt.Sprintf("%q is not an email address.", p.Email))
			continue
		case !api.PartnerStatus(p.Status).Valid():
			b.refuse(r, "unknown_status", fmt.Sprintf("The status %q is not known.", p.Status))
			continue
		}
		people[r] = p
		emails, ids = append(emails, strings.ToLower(p.Email)), append(ids, r.SourceID)
	}
	existing, err := b.existingPartners(ctx, emails)
	if err != nil {
		return err
	}
	owners, err := b.claim(ctx, "email", emails, ids)
	if err != nil {
		return err
	}
	targets, err := b.targets(ctx, partners, slices.Collect(maps.Values(owners)))
	if err != nil {
		return err
	}
	for _, r := range b.toWrite() {
		email := strings.ToLower(people[r].Email)
		owner := owners[email]
		switch id := existing[email]; {
		case r.outcome == db.ImportRowOutcomeChanged:
		case owner != r.SourceID && targets[owner] != "":
			r.bind(targets[owner])
			b.note(r, "merged", fmt.Sprintf("The partner %q has the same email; both become one partner.", owner))
		case id != "":
			r.bind(id)
			b.note(r, "recorded", "Rail has a partner with this email, who gets the links and the history.")
		default:
			r.accept(b.u.NewID(ident.Partner))
		}
		targets[r.SourceID] = r.target
	}
	if err := b.assignGroups(ctx, people); err != nil {
		return err
	}
	return b.assignHandles(ctx, people)
}

// assignGroups finds the group of each partner by its name, else the default group.
func (b *batch) assignGroups(ctx context.Context, people map[*row]source.Partner) error {
	byDefault, err := queries.GroupDefault(ctx, b.u.Tx, db.GroupDefaultParams{ProgramID: b.m.ProgramID, OrgID: b.m.OrgID})
	if err != nil {
		return err
	}
	groups := map[string]string{"": byDefault.ID}
	for r, p := range people {
		if _, read := groups[p.Group]; !read {
			groups[p.Group] = byDefault.ID
			g, err := queries.GroupByName(ctx, b.u.Tx, db.GroupByNameParams{
				ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Name: p.Group,
			})
			if err == nil {
				groups[p.Group] = g.ID
			} else if !isNoRows(err) {
				return err
			}
		}
		r.refs.Group = groups[p.Group]
	}
	return nil
}

// assignHandles chooses a free handle for each new partner: a published handle, a value of the partner's links, the
// handle at the source, or one from its email. Values of other partners' links are not free.
func (b *batch) assignHandles(ctx context.Context, people map[*row]source.Partner) error {
	var joining []*row
	for _, r := range b.rows {
		if r.outcome == db.ImportRowOutcomeNew {
			joining = append(joining, r)
		}
	}
	wanted, mine, err := b.preferredHandles(ctx, joining, people)
	if err != nil {
		return err
	}
	var all []string
	for _, some := range wanted {
		all = append(all, some...)
	}
	for _, p := range people {
		if p.Published {
			all = append(all, p.Handle)
		}
	}
	taken, err := b.takenValues(ctx, all)
	if err != nil {
		return err
	}
	handles, ids := make([]string, len(joining)), make([]string, len(joining))
	b.noteLostHandles(people, taken)
	for i, r := range joining {
		r.refs.Handle = lastHandle(r.target)
		for _, handle := range wanted[r.SourceID] {
			if taken.free(handle, r.SourceID, mine[r.SourceID+" "+handle]) {
				r.refs.Handle = handle
				break
			}
		}
		taken.handles[r.refs.Handle] = r.SourceID
		handles[i], ids[i] = r.refs.Handle, r.SourceID
	}
	_, err = b.claim(ctx, "handle", handles, ids)
	return err
}

// noteLostHandles notes the published handles that a partner does not get, whose addresses credit no partner or another
// one.
func (b *batch) noteLostHandles(people map[*row]source.Partner, taken takenValues) {
	for _, r := range b.rows {
		p, holder := people[r], taken.rail[people[r].Handle]
		switch {
		case !p.Published || holder == r.target:
		case holder != "":
			b.note(r, "value_taken", fmt.Sprintf("The handle %q belongs to the partner %s of Rail.", p.Handle, holder))
		case r.refs.Bound && taken.links[p.Handle] == 0:
			b.note(r, "not_changed", fmt.Sprintf(
				"The partner has another handle than %q in Rail. Create a link with this value, so addresses with it work.", p.Handle))
		}
	}
}

// preferredHandles returns the handles that would suit each partner, the best first, and which of them are values of
// the partner's links.
func (b *batch) preferredHandles(ctx context.Context, joining []*row,
	people map[*row]source.Partner) (wanted map[string][]string, mine map[string]bool, err error) {
	ids := make([]string, len(joining))
	for i, r := range joining {
		ids[i] = r.SourceID
	}
	own, err := queries.ImportLinksOf(ctx, b.u.Tx, db.ImportLinksOfParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, PartnerIds: ids,
	})
	if err != nil {
		return nil, nil, err
	}
	values := make([]string, len(own))
	for i, l := range own {
		values[i] = l.Value
	}
	shared, err := queries.ImportValues(ctx, b.u.Tx, db.ImportValuesParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Values: values,
	})
	owners := map[string]int64{}
	for _, v := range shared {
		owners[v.Value] = v.Partners
	}
	wanted, mine = map[string][]string{}, map[string]bool{}
	for _, l := range own {
		if owners[l.Value] == 1 && isHandle.MatchString(l.Value) {
			wanted[l.PartnerID] = append(wanted[l.PartnerID], l.Value)
			mine[l.PartnerID+" "+l.Value] = true
		}
	}
	const stemLength = 20
	for _, r := range joining {
		if p := people[r]; p.Published && isHandle.MatchString(p.Handle) {
			wanted[r.SourceID] = slices.Insert(wanted[r.SourceID], 0, p.Handle)
			mine[r.SourceID+" "+p.Handle] = true
		}
		local, _, _ := strings.Cut(people[r].Email, "@")
		stem := slug.Of(local, stemLength)
		for _, handle := range []string{
			strings.ToLower(people[r].Handle), stem, strings.Trim(stem+"-"+lastOf(r.target), "-"),
		} {
			if isHandle.MatchString(handle) {
				wanted[r.SourceID] = append(wanted[r.SourceID], handle)
			}
		}
	}
	return wanted, mine, err
}

// free reports whether a partner of the source can have a handle; mine means that it is a value of the partner's links.
func (t takenValues) free(handle, partner string, mine bool) bool {
	return t.rail[handle] == "" && (mine || t.links[handle] == 0) &&
		(t.handles[handle] == "" || t.handles[handle] == partner)
}

// lastOf returns the last letters of an id, which are random.
func lastOf(id string) string {
	const length = 10
	return strings.ToLower(id[max(len(id)-length, 0):])
}

// lastHandle returns a handle that no other partner wants.
func lastHandle(id string) string { return "partner-" + lastOf(id) }

// takenValues has who has values: partners in Rail, links of the import, and handles chosen for partners of the import.
type takenValues struct {
	rail    map[string]string // partner
	links   map[string]int64  // number of partners
	handles map[string]string // source_id of the partner
}

func (b *batch) takenValues(ctx context.Context, all []string) (t takenValues, err error) {
	t = takenValues{rail: map[string]string{}, links: map[string]int64{}, handles: map[string]string{}}
	inRail, err := queries.ImportValuesTaken(ctx, b.u.Tx, db.ImportValuesTakenParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Values: all,
	})
	if err != nil {
		return t, err
	}
	for _, v := range inRail {
		t.rail[v.Value] = v.PartnerID
	}
	ofLinks, err := queries.ImportValues(ctx, b.u.Tx, db.ImportValuesParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Values: all,
	})
	if err != nil {
		return t, err
	}
	for _, v := range ofLinks {
		t.links[v.Value] = v.Partners
	}
	keys, err := queries.ImportKeys(ctx, b.u.Tx, db.ImportKeysParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Kind: "handle", Keys: all,
	})
	for _, k := range keys {
		t.handles[k.Key] = k.SourceID
	}
	return t, err
}

// compareLinks finds the partner of each link, and refuses values that another partner has. Values of several partners
// that differ only in case stay apart.
func (b *batch) compareLinks(ctx context.Context) error {
	var of, all []string
	found := map[*row]source.Link{}
	for _, r := range b.toWrite() {
		l, err := decode[source.Link](r.Data)
		if err != nil || !isValue(l.Value) {
			b.refuse(r, "out_of_bounds", fmt.Sprintf("The value %q is not 1 to 64 printable characters.", plain.Short(l.Value, maxID)))
			continue
		}
		found[r], of = l, append(of, l.PartnerID)
		all = append(all, strings.ToLower(l.Value))
	}
	targets, err := b.targets(ctx, partners, of)
	if err != nil {
		return err
	}
	taken, err := b.takenValues(ctx, all)
	if err != nil {
		return err
	}
	exact, ids := make([]string, len(all)), make([]string, len(all))
	for i, r := range b.toWrite() {
		exact[i], ids[i] = found[r].Value, targets[found[r].PartnerID]
	}
	owners, err := b.claim(ctx, "value", exact, ids) // each value belongs to one partner
	if err != nil {
		return err
	}
	for _, r := range b.toWrite() {
		l := found[r]
		value, partner := strings.ToLower(l.Value), targets[l.PartnerID]
		holder := taken.rail[value]
		r.refs.Partner, r.refs.Exact = partner, taken.links[value] > 1
		switch {
		case partner == "":
			b.refuseMissing(r, source.KindPartner, l.PartnerID)
			continue
		case b.refuseOther(r):
			continue
		case r.outcome == db.ImportRowOutcomeChanged:
		case owners[l.Value] != partner:
			b.refuse(r, "duplicate", fmt.Sprintf("Another partner of the source has the value %q, too.", l.Value))
			continue
		case holder != "" && holder != partner:
			b.refuse(r, "value_taken", fmt.Sprintf("The value %q belongs to the partner %s of Rail.", l.Value, holder))
			continue
		}
		r.accept(b.u.NewID(ident.Link))
	}
	return nil
}

// isValue reports whether a text can be a tracking value: 1 to 64 printable characters.
func isValue(value string) bool {
	n := utf8.RuneCountInString(value)
	return n >= 1 && n <= maxValue && utf8.ValidString(value) && !strings.ContainsFunc(value, func(r rune) bool {
		return r != ' ' && !unicode.IsPrint(r)
	})
}

// compareCoupons finds coupons by their code.
func (b *batch) compareCoupons(ctx context.Context) error {
	var of, codes, ids []string
	found := map[*row]source.Coupon{}
	for _, r := range b.toWrite() {
		c, err := decode[source.Coupon](r.Data)
		if n := utf8.RuneCountInString(c.Code); err != nil || n < 1 || n > maxCode || !plain.Named(c.Code) {
			b.refuse(r, "out_of_bounds", fmt.Sprintf("The code %q is not 1 to 64 printable characters.", plain.Short(c.Code, maxID)))
			continue
		}
		found[r], of = c, append(of, c.PartnerID)
		codes, ids = append(codes, strings.ToLower(c.Code)), append(ids, r.SourceID)
	}
	targets, err := b.targets(ctx, partners, of)
	if err != nil {
		return err
	}
	existing, err := b.existingCoupons(ctx, codes)
	if err != nil {
		return err
	}
	owners, err := b.claim(ctx, "code", codes, ids)
	if err != nil {
		return err
	}
	for _, r := range b.toWrite() {
		c := found[r]
		code, partner := strings.ToLower(c.Code), targets[c.PartnerID]
		k, taken := existing[code]
		r.refs.Partner = partner
		switch {
		case partner == "":
			b.refuseMissing(r, source.KindPartner, c.PartnerID)
		case b.refuseOther(r), r.outcome == db.ImportRowOutcomeChanged:
		case owners[code] != r.SourceID:
			b.refuse(r, "duplicate", fmt.Sprintf("The source has the code %q twice.", c.Code))
		case taken && k.PartnerID != nil && *k.PartnerID == partner:
			r.bind(k.ID)
		case taken:
			b.refuse(r, "code_taken", fmt.Sprintf("The code %q belongs to the coupon %s of Rail.", c.Code, k.ID))
		default:
			r.accept(b.u.NewID(ident.Coupon))
		}
	}
	return nil
}

// compareCustomers finds customers by their external ids, so that the next payment credits the right partner.
func (b *batch) compareCustomers(ctx context.Context) error {
	var of, linkIDs, couponIDs, external, ids, emails, named []string
	found := map[*row]source.Customer{}
	for _, r := range b.toWrite() {
		c, err := decode[source.Customer](r.Data)
		if err != nil || !api.CustomerStatus(c.Status).Valid() {
			b.refuse(r, "unknown_status", fmt.Sprintf("The status %q is not known.", c.Status))
			continue
		}
		found[r] = c
		of, linkIDs, couponIDs = append(of, c.PartnerID), append(linkIDs, c.LinkID), append(couponIDs, c.CouponID)
		if c.Email != "" {
			emails, named = append(emails, strings.ToLower(c.Email)), append(named, r.SourceID)
		}
		for _, id := range c.ExternalIDs {
			external, ids = append(external, id), append(ids, r.SourceID)
		}
	}
	targets, err := b.targets(ctx, partners, of)
	if err != nil {
		return err
	}
	ofLinks, err := b.targets(ctx, links, linkIDs)
	if err != nil {
		return err
	}
	ofCoupons, err := b.targets(ctx, coupons, couponIDs)
	if err != nil {
		return err
	}
	existing, err := b.existingCustomers(ctx, external)
	if err != nil {
		return err
	}
	owners, err := b.claim(ctx, "external_id", external, ids)
	if err != nil {
		return err
	}
	if _, err := b.claim(ctx, "customer_email", emails, named); err != nil {
		return err
	}
	earlier, err := b.targets(ctx, customers, slices.Collect(maps.Values(owners)))
	if err != nil {
		return err
	}
	for _, r := range b.toWrite() {
		c := found[r]
		r.refs.Partner, r.refs.Link, r.refs.Coupon = targets[c.PartnerID], ofLinks[c.LinkID], ofCoupons[c.CouponID]
		if r.refs.Partner == "" && c.PartnerID != "" {
			b.refuseMissing(r, source.KindPartner, c.PartnerID)
			continue
		}
		if b.refuseOther(r) {
			earlier[r.SourceID] = ""
			continue
		}
		b.customer(r, c, existing, owners, earlier)
		earlier[r.SourceID] = r.target
	}
	return nil
}

// customer decides about a customer: the one in Rail with one of its ids, another customer of the source with it, or a
// new one.
func (b *batch) customer(r *row, c source.Customer, existing map[string]db.ImportCustomersByIDRow,
	owners, earlier map[string]string) {
	for _, id := range c.ExternalIDs {
		k, ok := existing[id]
		owner := owners[id]
		switch {
		case ok && r.outcome == db.ImportRowOutcomeChanged && k.ID == r.target:
		case ok && k.PartnerID != nil && r.refs.Partner != "" && *k.PartnerID != r.refs.Partner:
			b.refuse(r, "customer_taken", fmt.Sprintf("The customer %s of Rail with the id %q belongs to another partner.", k.ID, id))
			return
		case ok && r.outcome == "":
			r.bind(k.ID)
			if k.PartnerID == nil && r.refs.Partner != "" {
				r.outcome = db.ImportRowOutcomeChanged
			}
			b.note(r, "recorded", fmt.Sprintf("Rail has this customer as %s.", k.ID))
		case !ok && owner != r.SourceID && r.outcome == "" && earlier[owner] != "":
			r.bind(earlier[owner])
			b.note(r, "merged", fmt.Sprintf("The customer %q has the id %q, too; both become one customer.", owner, id))
		case !ok && owner == r.SourceID && len(id) <= maxID:
			r.refs.IDs = append(r.refs.IDs, id)
		}
	}
	r.accept(b.u.NewID(ident.Customer))
	r.takeIDs()
}

// takeIDs makes a customer that Rail has get the external ids that it lacks.
func (r *row) takeIDs() {
	if r.refs.Bound && len(r.refs.IDs) > 0 {
		r.outcome = db.ImportRowOutcomeChanged
	}
}
