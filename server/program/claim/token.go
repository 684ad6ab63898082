// Package claim decides which partner the claim of an AI assistant names, and makes the tokens of such claims.
package claim

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

var queries = db.New()

const (
	tokenPrefix = "rat_"
	// nonceLength is the number of random characters that name a token.
	nonceLength = 16
	usualLife   = 90 // days
	longestLife = 365
	maxToken    = 512 // bytes
)

// Service reads claims and issues tokens. Keeper seals the tokens. Hosts are the hosts of this Rail, of which the first
// is the provider of its tokens.
type Service struct {
	Keeper *secret.Keeper
	Hosts  []string
}

// Hosts returns the hosts of addresses; an invalid address has none.
func Hosts(addresses ...string) (hosts []string) {
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil && u.Hostname() != "" {
			hosts = append(hosts, strings.ToLower(u.Hostname()))
		}
	}
	return hosts
}

// Provider returns the provider of this Rail's tokens; "" if it has no address.
func (s Service) Provider() string {
	if len(s.Hosts) == 0 {
		return ""
	}
	return s.Hosts[0]
}

// Order is a token to issue, for a partner or for a link. ExpiresAt is nil for the usual life.
type Order struct {
	PartnerID, LinkID *string
	ExpiresAt         *clock.Time
	Reason            *string // for the audit log; nil for a request of the API
}

// Token is an issued token.
type Token struct {
	ProgramID, PartnerID string
	LinkID               *string
	Text, Provider       string
	IssuedAt, ExpiresAt  clock.Time
}

// content is the content of a token, in few bytes. Times are Unix seconds.
type content struct {
	Nonce     string `json:"n"`
	PartnerID string `json:"p"`
	LinkID    string `json:"l,omitempty"`
	Issued    int64  `json:"i"`
	Expires   int64  `json:"e"`
}

// place binds a token to its program: it opens for no other program or organization.
func place(orgID, programID string) string { return "attribution_token/" + orgID + "/" + programID }

// Issue makes a token, which is not stored. The audit log names it by its nonce.
func (s Service) Issue(ctx context.Context, u *work.Unit, o Order) (Token, error) {
	owner, err := o.owner(ctx, u)
	if err != nil {
		return Token{}, err
	}
	issued := clock.At(u.Now.Truncate(time.Second))
	expires := issued.Days(usualLife)
	if o.ExpiresAt != nil {
		expires = clock.At(o.ExpiresAt.Truncate(time.Second))
	}
	if !expires.After(u.Now.Time) || expires.After(issued.Days(longestLife).Time) {
		return Token{}, problem.Invalid("expires_at", "expires_at must be in the future, at most %d days ahead.", longestLife)
	}
	c := content{auth.NewSlug(nonceLength), owner.ID, "", issued.Unix(), expires.Unix()}
	if o.LinkID != nil {
		c.LinkID = *o.LinkID
	}
	text, err := s.seal(c, u.OrgID, owner.ProgramID)
	if err != nil {
		return Token{}, err
	}
	return Token{owner.ProgramID, owner.ID, o.LinkID, text, s.Provider(), issued, expires},
		auditlog.Record(ctx, u, auditlog.Entry{
			ProgramID: owner.ProgramID, Action: "attribution_token.created", TargetID: owner.ID, Reason: o.Reason,
			After: map[string]any{"nonce": c.Nonce, "link_id": o.LinkID, "expires_at": expires},
		})
}

// owner returns the active partner of a token.
func (o Order) owner(ctx context.Context, u *work.Unit) (p db.Partner, err error) {
	param, partnerID := "partner_id", o.PartnerID
	if o.PartnerID == nil && o.LinkID == nil {
		return p, problem.On(param, problem.ParameterMissing, "One of partner_id and link_id is required.")
	}
	err = work.AtMostOne(work.Member{Name: param, Value: o.PartnerID}, work.Member{Name: "link_id", Value: o.LinkID})
	if err != nil {
		return p, err
	}
	if o.LinkID != nil {
		param = "link_id"
		link, err := queries.LinkGet(ctx, u.DB(), db.LinkGetParams{ID: *o.LinkID, OrgID: u.OrgID})
		if err != nil {
			return p, work.Found(err, param)
		}
		partnerID = &link.PartnerID
	}
	p, err = queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: *partnerID, OrgID: u.OrgID})
	if err != nil {
		return p, work.Found(err, param)
	}
	if err := u.CheckProgram(p.ProgramID); err != nil {
		return p, problem.NotFound(param)
	}
	if p.Status != db.PartnerStatusActive {
		return p, problem.On(param, problem.PartnerNotActive, "The partner is %s; only active partners get tokens.", p.Status)
	}
	return p, nil
}

func (s Service) seal(c content, orgID, programID string) (string, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sealed, err := s.Keeper.Seal(plain, place(orgID, programID))
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(sealed), err
}

// errToken means that a text is no token of the program.
var errToken = errors.New("claim: no token of this program")

// open returns the content of a token of the program.
func (s Service) open(text, orgID, programID string) (c content, err error) {
	encoded, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok || len(text) > maxToken || s.Keeper == nil {
		return c, errToken
	}
	sealed, err := base64.RawURLEncoding.DecodeString(encoded)
	// Each token has one spelling.
	if err != nil || base64.RawURLEncoding.EncodeToString(sealed) != encoded {
		return c, errToken
	}
	plain, err := s.Keeper.Open(sealed, place(orgID, programID))
	if err != nil || json.Unmarshal(plain, &c) != nil {
		return c, errToken
	}
	return c, nil
}

// Snippet returns the element of a page from which assistants can read the token.
func (t Token) Snippet() string {
	text, err := json.Marshal(map[string]string{"provider": t.Provider, "token": t.Text})
	if err != nil {
		return "" // strings always marshal
	}
	return `<meta name="affiliate_attribution" content="` + html.EscapeString(string(text)) + `">`
}
