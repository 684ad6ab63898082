package tracking

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/work"
	"rail/server/work/event"
)

// openReferral writes a referral and returns its id. A visitor has one current referral with a partner, so an expired
// one is deleted first. It lasts for the program's cookie days; later clicks do not extend it.
func openReferral(
	ctx context.Context, u *work.Unit, a arrival, hit db.TrackingResolveRow, linkID string, utm map[string]string,
) (string, error) {
	if hit.Expired {
		err := queries.ReferralRetire(ctx, u.Later(), db.ReferralRetireParams{
			ProgramID: a.programID, OrgID: u.OrgID, PartnerID: hit.PartnerID, Visitor: a.visitor(), Now: u.Now,
		})
		if err != nil {
			return "", err
		}
	}
	r := db.ReferralInsertParams{
		ID: u.NewID(ident.Referral), OrgID: u.OrgID, ProgramID: a.programID, PartnerID: hit.PartnerID,
		LinkID: opt.OrNil(linkID), Visitor: a.visitor(), LandingURL: new(fit(a.LandingURL)), UTM: stored(utm),
		TrackedBy: db.TrackedByLink, Status: db.ReferralStatusVisit, ExpiresAt: hit.ExpiresAt,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	u.Record(event.Subject{ProgramID: a.programID, PartnerID: hit.PartnerID, ID: r.ID},
		events.ReferralCreated(api.ReferralCreatedData{
			ReferralID: r.ID, PartnerID: r.PartnerID, LinkID: r.LinkID, LandingURL: r.LandingURL,
			TrackedBy: api.TrackedByLink, ExpiresAt: r.ExpiresAt,
		}))
	return r.ID, queries.ReferralInsert(ctx, u.Later(), r)
}

// unpasted repairs a query that was pasted with HTML escapes, or after a link that had a query already, as in
// ?ref=ada?utm_source=yt.
var unpasted = strings.NewReplacer("&amp;", "&", "?utm_", "&utm_")

// utmOf returns the utm_ parameters of a landing page, or nil if there are none (decisions, 70). Those in the
// fragment, used by pages with hash routes, come after those in the query; of a repeated parameter the first counts.
func utmOf(landing string) map[string]string {
	if !strings.Contains(landing, "utm") { // a fast path for most pages
		return nil
	}
	base, hash, _ := strings.Cut(landing, "#")
	_, query, _ := strings.Cut(base, "?")
	hash = hash[strings.Index(hash, "?")+1:]
	params, _ := url.ParseQuery(unpasted.Replace(query + "&" + hash)) // unreadable parameters are left out
	utm := map[string]string{}
	for name, values := range params {
		if strings.HasPrefix(name, "utm_") {
			utm[cleanText(name)] = cleanText(values[0])
		}
	}
	return utm
}

// stored returns the parameters as a JSON object, or nil if there are none.
func stored(utm map[string]string) []byte {
	if len(utm) == 0 {
		return nil
	}
	raw, err := json.Marshal(utm)
	if err != nil {
		return nil
	}
	return raw
}

// maxText bounds, in bytes, stored text of a visitor.
const maxText = 2048

// cleanText returns a visitor's text for storage, cut to maxText bytes.
func cleanText(s string) string {
	s = storable(s)
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}

// storable removes NUL and invalid UTF-8, which PostgreSQL cannot store.
func storable(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }
