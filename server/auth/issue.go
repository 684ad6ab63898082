package auth

import (
	"context"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/testclock"
)

// Grant is the permission of a new key.
type Grant struct {
	Scopes    []string
	Live      bool
	RateLimit int    // requests a second
	Version   string // the API version of the key
	Form      string // the form that creates the key, once even if sent twice; may be empty
}

// Issued is a new key. Its token cannot be read again: the database stores only a keyed hash.
type Issued struct {
	ID, Token string
	Scopes    []string // sorted, each once
}

// Insert creates a key of an organization. It stores the last four characters of the token, by which people
// recognize a key. The key gets a separate user.
func Insert(
	ctx context.Context, q pgtx.DBTX, keeper *secret.Keeper, org string, g Grant, now clock.Time,
) (Issued, error) {
	if g.Live {
		if err := testclock.RefuseLive(ctx, q, "API keys"); err != nil {
			return Issued{}, err
		}
	}
	out := Issued{ident.New(ident.APIKey), NewToken(g.Live), slices.Compact(slices.Sorted(slices.Values(g.Scopes)))}
	return out, queries.APIKeyInsert(ctx, q, db.APIKeyInsertParams{
		ID: out.ID, OrgID: org, UserID: ident.New(ident.User), Hash: keeper.HashAPIKey(out.Token),
		Last4: out.Token[len(out.Token)-4:], Livemode: g.Live, Scopes: out.Scopes, RateLimit: int32(g.RateLimit),
		Version: g.Version, CreatedAt: now, Form: opt.OrNil(g.Form),
	})
}

// maxForm bounds the name of a form, in bytes.
const maxForm = 64

// maxKeys bounds the keys of an organization, revoked ones included.
const maxKeys = 1000

// Issue creates a key on behalf of the unit's actor, with an entry in the organization's audit log.
func Issue(ctx context.Context, u *work.Unit, keeper *secret.Keeper, g Grant) (out Issued, err error) {
	if len(g.Scopes) == 0 {
		return out, problem.Missing("scopes")
	}
	for _, s := range g.Scopes {
		if !slices.Contains(Scopes, s) {
			return out, problem.Invalid("scopes", "scopes must be among %s.", strings.Join(Scopes, ", "))
		}
	}
	if len(g.Form) > maxForm {
		return out, problem.Invalid("once", "once must have at most %d bytes.", maxForm)
	}
	err = u.Within(ctx, func(u *work.Unit) error {
		keys, err := queries.APIKeyList(ctx, u.DB(), u.OrgID)
		if err != nil {
			return err
		}
		if g.Form != "" && slices.ContainsFunc(keys, func(k db.APIKey) bool { return opt.Value(k.Form) == g.Form }) {
			return problem.New(problem.ParameterInvalid,
				"This form was sent before and created a key, which was shown then. Reload the page to create another.")
		}
		if len(keys) >= maxKeys {
			return problem.New(problem.ParameterInvalid, "An organization has at most %d keys.", maxKeys)
		}
		if out, err = Insert(ctx, u.DB(), keeper, u.OrgID, g, u.Now); err != nil {
			return err
		}
		return auditlog.Record(ctx, u, auditlog.Entry{
			ProgramID: u.OrgID, Action: "api_key.created", TargetID: out.ID, After: map[string]any{"scopes": out.Scopes},
		})
	})
	return out, err
}

// Revoke revokes a key of the unit's organization. Running servers accept it for a moment longer (Settled).
func Revoke(ctx context.Context, u *work.Unit, id string) error {
	if !ident.Has(id, ident.APIKey) {
		return problem.NotFound("")
	}
	return u.Within(ctx, func(u *work.Unit) error {
		n, err := queries.APIKeyRevokeOwn(ctx, u.DB(), db.APIKeyRevokeOwnParams{ID: id, OrgID: u.OrgID, RevokedAt: &u.Now})
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.NotFound("")
		}
		return auditlog.Record(ctx, u, auditlog.Entry{ProgramID: u.OrgID, Action: "api_key.revoked", TargetID: id})
	})
}

// List returns the keys of the unit's organization, oldest first, including revoked ones.
func List(ctx context.Context, u *work.Unit) ([]db.APIKey, error) {
	return queries.APIKeyList(ctx, u.DB(), u.OrgID)
}
