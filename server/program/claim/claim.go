package claim

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// Claim is a claim as Rail understands it: the partner that it names, and the row to store.
type Claim struct {
	tracking.Agent
	Row db.AttributionClaim
}

// Counts reports whether nothing speaks against the claim so far.
func (c *Claim) Counts() bool { return c.Row.Status == db.AttributionClaimStatusCredited }

// Ignore notes why the claim does not count, unless the reason is "". The first reason stays.
func (c *Claim) Ignore(reason api.AttributionClaimReason) {
	if reason != "" && c.Counts() {
		c.Row.Status, c.Row.Reason = db.AttributionClaimStatusIgnored, new(string(reason))
	}
}

// Validate refuses claims without a name of the partner, and two claims.
func Validate(c sale.Claim) error {
	a := c.Affiliate
	switch {
	case a != nil && c.Parameters != nil:
		return problem.On("attribution", problem.ParametersExclusive,
			"affiliate_attribution and attribution exclude each other.")
	case a != nil && a.Token == nil && a.PublisherID == nil:
		return problem.On("affiliate_attribution.token", problem.ParameterMissing,
			"One of affiliate_attribution.token and affiliate_attribution.publisher_id is required.")
	}
	return nil
}

// Read returns a claim about a customer of a program. A claim that names no partner is ignored, and is no error.
func (s Service) Read(ctx context.Context, u *work.Unit, programID string, c sale.Claim) (out Claim, err error) {
	if err := Validate(c); err != nil {
		return out, err
	}
	p, err := u.Program(ctx, programID)
	if err != nil {
		return out, err
	}
	out.Row = row(u, p, c)
	var reason api.AttributionClaimReason
	switch {
	case c.Affiliate == nil:
		reason, err = out.readValue(ctx, u, p, valueOf(p, c.Parameters), api.AttributionClaimReasonParameterAbsent)
	case !s.issued(c.Affiliate.Provider):
		reason = api.AttributionClaimReasonProviderUnknown
	case c.Affiliate.Token != nil:
		reason, err = s.readToken(ctx, u, p, *c.Affiliate.Token, &out)
	default:
		reason, err = out.readPublisher(ctx, u, p, *c.Affiliate.PublisherID)
	}
	out.Ignore(reason)
	return out, err
}

// issued reports whether a provider is this Rail.
func (s Service) issued(provider string) bool {
	host, _, _ := strings.Cut(strings.ToLower(provider), ":")
	return slices.Contains(s.Hosts, strings.TrimSuffix(host, "."))
}

func (s Service) readToken(
	ctx context.Context, u *work.Unit, p db.Program, text string, out *Claim,
) (api.AttributionClaimReason, error) {
	t, err := s.open(text, p.OrgID, p.ID)
	if err != nil {
		return api.AttributionClaimReasonTokenInvalid, nil //nolint:nilerr // it refuses no sale
	}
	out.Row.Nonce = &t.Nonce
	if u.Now.Unix() >= t.Expires {
		return api.AttributionClaimReasonTokenExpired, nil
	}
	out.Agent = tracking.Agent{PartnerID: t.PartnerID, LinkID: opt.OrNil(t.LinkID), Detail: t.Nonce}
	if t.LinkID == "" {
		return "", nil
	}
	// Deleting the link ends its tokens.
	_, err = queries.LinkGet(ctx, u.DB(), db.LinkGetParams{ID: t.LinkID, OrgID: u.OrgID})
	if problem.Is(work.Found(err, ""), problem.ResourceNotFound) {
		return api.AttributionClaimReasonLinkDeleted, nil
	}
	return "", err
}

// readPublisher names a partner by its id, or by a value as in a link.
func (c *Claim) readPublisher(
	ctx context.Context, u *work.Unit, p db.Program, publisher string,
) (api.AttributionClaimReason, error) {
	if !ident.Has(publisher, ident.Partner) {
		return c.readValue(ctx, u, p, publisher, api.AttributionClaimReasonPartnerNotFound)
	}
	found, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: publisher, OrgID: u.OrgID})
	if problem.Is(work.Found(err, ""), problem.ResourceNotFound) || err == nil && found.ProgramID != p.ID {
		return api.AttributionClaimReasonPartnerNotFound, nil
	}
	c.Agent = tracking.Agent{PartnerID: publisher, Detail: publisher}
	return "", err
}

// readValue names the active partner behind a value. absent is the reason if there is no value.
func (c *Claim) readValue(
	ctx context.Context, u *work.Unit, p db.Program, value string, absent api.AttributionClaimReason,
) (api.AttributionClaimReason, error) {
	if value == "" {
		return absent, nil
	}
	name := plain.Cut(value, maxParameter)
	c.Row.PublisherID = stored(&name)
	partnerID, linkID, err := tracking.ByValue(ctx, u, p.ID, value)
	if err != nil || partnerID == "" {
		return api.AttributionClaimReasonPartnerNotFound, err
	}
	c.Agent = tracking.Agent{PartnerID: partnerID, LinkID: opt.OrNil(linkID), Detail: name}
	return "", nil
}

// valueOf returns the value of the first of the program's url_params that has one. Names are compared exactly before
// they are compared without case.
func valueOf(p db.Program, parameters map[string]string) string {
	for _, name := range tracking.Params(p) {
		if value := strings.TrimSpace(parameters[name]); value != "" {
			return value
		}
		for _, key := range slices.Sorted(maps.Keys(parameters)) {
			if value := strings.TrimSpace(parameters[key]); strings.EqualFold(key, name) && value != "" {
				return value
			}
		}
	}
	return ""
}

// row returns the record of a claim, which counts unless a reason follows.
func row(u *work.Unit, p db.Program, c sale.Claim) db.AttributionClaim {
	r := db.AttributionClaim{
		ID: u.NewID(ident.Claim), OrgID: u.OrgID, ProgramID: p.ID, Protocol: db.AttributionClaimProtocolUcp,
		Status: db.AttributionClaimStatusCredited, CreatedAt: u.Now,
	}
	a := c.Affiliate
	if a == nil {
		r.CampaignID, r.CreativeID = parameter(c.Parameters, "utm_campaign"), parameter(c.Parameters, "utm_content")
		return r
	}
	r.Protocol, r.PublisherID = db.AttributionClaimProtocolAcp, stored(a.PublisherID)
	r.CampaignID, r.CreativeID, r.SubID = stored(a.CampaignID), stored(a.CreativeID), stored(a.SubID)
	r.Touchpoint = (*db.AttributionClaimTouchpoint)(a.Touchpoint)
	if a.Source != nil {
		r.SourceURL = stored(a.Source.URL)
	}
	return r
}

// maxParameter bounds a stored parameter, in characters.
const maxParameter = 255

// parameter returns the stored form of a parameter, nil if it is absent.
func parameter(of map[string]string, name string) *string {
	return stored(opt.OrNil(plain.Cut(of[name], maxParameter)))
}

// personal matches email addresses and international phone numbers.
var personal = regexp.MustCompile(`@|%40|\+[0-9][0-9 ().-]{6,}`)

// stored returns the stored form of a text of a claim: nil for an empty text, and for possible personal data, which the
// protocols forbid.
func stored(text *string) *string {
	if text == nil || *text == "" || personal.MatchString(*text) {
		return nil
	}
	return text
}
