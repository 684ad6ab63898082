package group

import (
	"context"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// defaultColor is the default colour of a tag (decisions, 52).
const defaultColor = "#64748B"

// TagInput is a tag to add.
type TagInput struct {
	ProgramID, Name string
	Color           *string
}

// TagChanges are changes to a tag; nil members stay.
type TagChanges struct{ Name, Color *string }

// CreateTag adds a tag; a name in use, in any case, is refused.
func CreateTag(ctx context.Context, u *work.Unit, in TagInput) (db.Tag, error) {
	if _, err := u.Program(ctx, in.ProgramID); err != nil {
		return db.Tag{}, err
	}
	tag := db.Tag{
		ID: u.NewID(ident.Tag), OrgID: u.OrgID, ProgramID: in.ProgramID, Name: in.Name, Color: defaultColor,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	opt.Change(&tag.Color, in.Color)
	// The insert checks whether the name is free: it waits for a concurrent request that adds the same tag.
	inserted, err := queries.TagInsert(ctx, u.DB(), db.TagInsertParams(tag))
	if err != nil || inserted > 0 {
		return tag, err
	}
	existing, err := tagByName(ctx, u, in.ProgramID, in.Name)
	if err != nil {
		return tag, err
	}
	return tag, tagTaken(existing)
}

// tagByName finds a tag by its name, in any case.
func tagByName(ctx context.Context, u *work.Unit, programID, name string) (db.Tag, error) {
	return queries.TagByName(ctx, u.DB(), db.TagByNameParams{ProgramID: programID, OrgID: u.OrgID, Name: name})
}

// tagTaken returns the conflict, with the tag that has the name.
func tagTaken(existing db.Tag) error {
	return problem.Taken(problem.TagNameTaken, "name", existing, "A tag with this name exists in the program.")
}

// UpdateTag changes name and colour.
func UpdateTag(ctx context.Context, u *work.Unit, id string, to TagChanges) (db.Tag, error) {
	tag, err := lockTag(ctx, u, id)
	if err != nil {
		return tag, err
	}
	if to.Name != nil && *to.Name != tag.Name {
		existing, err := tagByName(ctx, u, tag.ProgramID, *to.Name)
		if err == nil && existing.ID != tag.ID {
			return tag, tagTaken(existing)
		}
		if err := work.IgnoreNoRows(err); err != nil {
			return tag, err
		}
		tag.Name = *to.Name
	}
	opt.Change(&tag.Color, to.Color)
	tag.UpdatedAt = u.Now
	return tag, queries.TagUpdate(ctx, u.Later(), db.TagUpdateParams{
		Name: tag.Name, Color: tag.Color, UpdatedAt: tag.UpdatedAt, ID: tag.ID, OrgID: tag.OrgID,
	})
}

// DeleteTag deletes a tag and removes it from everything tagged.
func DeleteTag(ctx context.Context, u *work.Unit, id string) error {
	tag, err := lockTag(ctx, u, id)
	if err != nil {
		return err
	}
	// Tags are an array in resources; those of partners go with the tag's row.
	lose := db.ResourcesRemoveTagParams{TagID: tag.ID, UpdatedAt: u.Now, ProgramID: tag.ProgramID, OrgID: tag.OrgID}
	if err := queries.ResourcesRemoveTag(ctx, u.Later(), lose); err != nil {
		return err
	}
	return queries.TagDelete(ctx, u.Later(), db.TagDeleteParams{ID: tag.ID, OrgID: tag.OrgID})
}

// lockTag locks a tag of the unit's programs until the commit.
func lockTag(ctx context.Context, u *work.Unit, id string) (db.Tag, error) {
	tag, err := queries.TagLock(ctx, u.DB(), db.TagLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return tag, err
	}
	return tag, u.CheckProgram(tag.ProgramID)
}
