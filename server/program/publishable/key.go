// Package publishable has the rules of the keys that stand in pages: which hosts
// may use one, how it is made and revoked, and how the browser's requests find it.
// They are no secrets, so that they are kept and shown whole.
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

// form matches every key that was ever made.
var form = regexp.MustCompile(`^rail_pub_[0-9A-Za-z]{32}$`)

// IsKey reports whether a text has the form of a key: nothing else costs a query.
func IsKey(text string) bool { return form.MatchString(text) }

// Input is a key to make.
type Input struct {
	ProgramID    string
	AllowedHosts []string
	AllowLeads   bool
}

// Create makes a key of a program, for the pages of some hosts.
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

// Changes are the changes of a key; what is nil stays.
type Changes struct {
	AllowedHosts []string
	AllowLeads   *bool
}

// Update changes which pages may use a key, and for what. Servers look keys up again
// within a second.
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

// Revoke ends a key. Its row stays, so that pages hear why it is refused.
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
