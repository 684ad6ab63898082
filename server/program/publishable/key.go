// Package publishable has the rules of keys used in pages: which hosts may use one, how it is created and
// revoked, and how browsers' requests find it. These keys are not secret, so they are stored and shown in full.
package publishable

import (
	"context"
	"regexp"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/work"
)

var queries = db.New()

// prefix begins every key; random characters follow.
const (
	prefix = "rail_pub_"
	random = 32
)

// form matches every valid key.
var form = regexp.MustCompile(`^rail_pub_[0-9A-Za-z]{32}$`)

// IsKey reports whether a text has the form of a key, so that other texts cost no query.
func IsKey(text string) bool { return form.MatchString(text) }

// Input is a key to create.
type Input struct {
	ProgramID    string
	AllowedHosts []string
	AllowLeads   bool
}

// Create creates a key of a program, for pages of some hosts.
func Create(ctx context.Context, u *work.Unit, in Input) (db.PublishableKey, error) {
	hosts, err := Hosts("allowed_hosts", in.AllowedHosts)
	if err != nil {
		return db.PublishableKey{}, err
	}
	p, err := u.Program(ctx, in.ProgramID)
	if err != nil {
		return db.PublishableKey{}, err
	}
	k := db.PublishableKey{
		ID: ident.New(ident.Publishable), OrgID: u.OrgID, ProgramID: p.ID, Key: prefix + auth.NewSlug(random),
		AllowedHosts: hosts, AllowLeads: in.AllowLeads,
		URLParams: p.URLParams, CreatedAt: u.Now,
	}
	return k, queries.PublishableKeyInsert(ctx, u.Later(), db.PublishableKeyInsertParams(k))
}

// Changes are changes to a key; nil members stay.
type Changes struct {
	AllowedHosts []string
	AllowLeads   *bool
}

// Update changes which pages may use a key, and for what. Servers notice within a second.
func Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.PublishableKey, error) {
	hosts, err := Hosts("allowed_hosts", to.AllowedHosts)
	if err != nil {
		return db.PublishableKey{}, err
	}
	k, err := queries.PublishableKeyLock(ctx, u.Tx, db.PublishableKeyLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return k, err
	}
	if err := u.CheckProgram(k.ProgramID); err != nil {
		return k, err
	}
	if to.AllowedHosts != nil {
		k.AllowedHosts = hosts
	}
	opt.Change(&k.AllowLeads, to.AllowLeads)
	return k, queries.PublishableKeyUpdate(ctx, u.Later(), db.PublishableKeyUpdateParams{
		AllowedHosts: k.AllowedHosts, AllowLeads: k.AllowLeads, ID: k.ID, OrgID: k.OrgID,
	})
}

// Revoke revokes a key. Its row stays, so that pages learn why it is refused.
func Revoke(ctx context.Context, u *work.Unit, id string) error {
	k, err := queries.PublishableKeyGet(ctx, u.DB(), db.PublishableKeyGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	if err := u.CheckProgram(k.ProgramID); err != nil {
		return err
	}
	return queries.PublishableKeyRevoke(ctx, u.Later(), db.PublishableKeyRevokeParams{
		RevokedAt: &u.Now, ID: k.ID, OrgID: u.OrgID,
	})
}
