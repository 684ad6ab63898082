// Package resource has the rules of a program's resources for its partners: links and files in folders, for all
// partners or for some groups and tags.
package resource

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

var queries = db.New()

// Input is a link to add.
type Input struct {
	ProgramID, Title, URL string
	Folder                *string
	GroupIDs, TagIDs      []string // the audience; empty means every partner
	Published             bool
}

// Changes are changes to a resource; nil and unspecified members stay.
type Changes struct {
	Title, URL       *string
	Folder           nullable.Nullable[string]
	GroupIDs, TagIDs []string
	Published        *bool
}

// Create adds a link at the end of its folder (decisions, 152).
func Create(ctx context.Context, u *work.Unit, in Input) (db.Resource, error) {
	var none db.Resource
	p, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: in.ProgramID, OrgID: u.OrgID})
	if err != nil {
		return none, work.Found(err, "program_id")
	}
	if err := u.Check(ctx, p.ID, work.AudienceRefs("", in.GroupIDs, in.TagIDs)...); err != nil {
		return none, err
	}
	r := db.Resource{
		ID: u.NewID(ident.Resource), OrgID: p.OrgID, ProgramID: p.ID, Kind: db.ResourceKindLink, Title: in.Title,
		URL: in.URL, Folder: in.Folder, GroupIds: opt.Distinct(in.GroupIDs), TagIds: opt.Distinct(in.TagIDs),
		Published: in.Published, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if r.Published {
		r.PublishedAt = &u.Now
	}
	if r.Position, err = nextPosition(ctx, u, r); err != nil {
		return none, err
	}
	return r, queries.ResourceInsert(ctx, u.Later(), db.ResourceInsertParams(r))
}

// nextPosition returns the position after the last one in the resource's folder.
func nextPosition(ctx context.Context, u *work.Unit, r db.Resource) (int64, error) {
	return queries.ResourceEnd(ctx, u.Tx, db.ResourceEndParams{
		ProgramID: r.ProgramID, OrgID: r.OrgID, Folder: opt.Value(r.Folder),
	})
}

// Update changes a resource; a moved one goes to the end of its new folder.
func Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.Resource, error) {
	seen, err := queries.ResourceGet(ctx, u.Tx, db.ResourceGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return seen, err
	}
	if err := u.CheckProgram(seen.ProgramID); err != nil {
		return seen, err
	}
	if err := u.Check(ctx, seen.ProgramID, work.AudienceRefs("", to.GroupIDs, to.TagIDs)...); err != nil {
		return seen, err
	}
	// The program's lock orders positions: two resources that move to a folder at once must not get the same one. It
	// is taken before the row's, as in Create.
	if _, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: seen.ProgramID, OrgID: u.OrgID}); err != nil {
		return seen, err
	}
	r, err := queries.ResourceLock(ctx, u.Tx, db.ResourceLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return r, err
	}
	if to.URL != nil && r.Kind == db.ResourceKindFile {
		return r, problem.Invalid("url", "The url of a file cannot change; only links have an editable url.")
	}
	if err := patch(ctx, u, &r, to); err != nil {
		return r, err
	}
	return r, queries.ResourceUpdate(ctx, u.Later(), db.ResourceUpdateParams{
		Title: r.Title, URL: r.URL, Folder: r.Folder, GroupIds: r.GroupIds, TagIds: r.TagIds, Position: r.Position,
		Published: r.Published, PublishedAt: r.PublishedAt, UpdatedAt: r.UpdatedAt, ID: r.ID, OrgID: r.OrgID,
	})
}

// patch applies the given members. PublishedAt is the first time of publication and survives hiding the
// resource.
func patch(ctx context.Context, u *work.Unit, r *db.Resource, to Changes) (err error) {
	before := opt.Value(r.Folder)
	opt.Change(&r.Title, to.Title)
	opt.Change(&r.URL, to.URL)
	opt.ChangeOrClear(&r.Folder, to.Folder)
	opt.Change(&r.Published, to.Published)
	if to.GroupIDs != nil {
		r.GroupIds = opt.Distinct(to.GroupIDs)
	}
	if to.TagIDs != nil {
		r.TagIds = opt.Distinct(to.TagIDs)
	}
	if r.Published && r.PublishedAt == nil {
		r.PublishedAt = &u.Now
	}
	r.UpdatedAt = u.Now
	if opt.Value(r.Folder) != before {
		r.Position, err = nextPosition(ctx, u, *r)
	}
	return err
}

// Delete deletes a resource.
func Delete(ctx context.Context, u *work.Unit, id string) error {
	r, err := queries.ResourceLock(ctx, u.Tx, db.ResourceLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	if err := u.CheckProgram(r.ProgramID); err != nil {
		return err
	}
	return queries.ResourceDelete(ctx, u.Later(), db.ResourceDeleteParams{ID: r.ID, OrgID: r.OrgID})
}
