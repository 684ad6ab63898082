package group

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func create(x *worktest.Tenant, name string) (g db.Group) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		g, err = Create(ctx, u, Input{ProgramID: x.Program.ID, Name: name})
		return err
	})
	return g
}

func update(x *worktest.Tenant, id string, to Changes) (g db.Group) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		g, err = Update(ctx, u, id, to)
		return err
	})
	return g
}

// A name is in use in any case; a slug in use gets a suffix.
func TestNames(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	gold := create(x, "Gold")
	require.Equal(t, "gold", gold.Slug)
	require.NotEqual(t, gold.Slug, create(x, "Gold!").Slug)
	require.Equal(t, "group", create(x, "金").Slug)
	x.Refused(problem.GroupNameTaken, "name", func(ctx context.Context, u *work.Unit) error {
		_, err := Create(ctx, u, Input{ProgramID: x.Program.ID, Name: "GOLD"})
		return err
	})
	silver := create(x, "Silver")
	x.Refused(problem.GroupNameTaken, "name", func(ctx context.Context, u *work.Unit) error {
		_, err := Update(ctx, u, silver.ID, Changes{Name: new("gold")})
		return err
	})
	renamed := update(x, gold.ID, Changes{Name: new("GOLD")})
	require.Equal(t, []string{"GOLD", "gold"}, []string{renamed.Name, renamed.Slug}, "its own name is free to it")
}

// A program has one default; a change without effect keeps the time.
func TestDefault(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	a, b := create(x, "A"), create(x, "B")
	update(x, a.ID, Changes{IsDefault: new(true)})
	x.Now = x.Now.Days(1)
	update(x, b.ID, Changes{IsDefault: new(true)})
	require.Equal(t, []string{b.ID}, worktest.Rows[string](x, "SELECT id FROM groups WHERE is_default"))
	at := x.Now
	x.Now = x.Now.Days(1)
	require.Equal(t, at, update(x, b.ID, Changes{Name: new("B")}).UpdatedAt)
	x.Refused(problem.DefaultGroupUndeletable, "", func(ctx context.Context, u *work.Unit) error {
		return Delete(ctx, u, b.ID)
	})
}

// Deleting a group deletes the flows for it or into it, and no other; its partners stay.
func TestDelete(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	g, other := create(x, "Gold"), create(x, "Silver")
	ann := x.Partner("ann", func(p *db.Partner) { p.GroupID = &g.ID })
	flow := func(change func(*db.FlowInsertParams)) string {
		return x.Flow(db.FlowTriggerNewPayment, db.RateTypePercent, 1000, change)
	}
	flow(func(f *db.FlowInsertParams) { f.GroupID = &g.ID })
	flow(func(f *db.FlowInsertParams) {
		f.Action, f.TargetGroupID, f.RateType, f.RateValue = "switch_group", &g.ID, nil, nil
	})
	stays := flow(func(f *db.FlowInsertParams) { f.GroupID = &other.ID })
	x.Must(func(ctx context.Context, u *work.Unit) error { return Delete(ctx, u, g.ID) })
	require.Equal(t, []string{stays}, worktest.Rows[string](x, "SELECT id FROM flows"))
	require.Equal(t, []string{"rule.deleted", "rule.deleted"}, x.Events())
	require.Equal(t, []string{ann.ID}, worktest.Rows[string](x, "SELECT id FROM partners WHERE group_id IS NULL"))
	require.Equal(t, []string{other.ID}, worktest.Rows[string](x, "SELECT id FROM groups"))
}

// A tag's name is in use in any case, except for the tag itself. A tag without a colour gets one; deleting a tag
// leaves its partners.
func TestTags(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	createTag := func(name string, color *string) (tag db.Tag) {
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			tag, err = CreateTag(ctx, u, TagInput{ProgramID: x.Program.ID, Name: name, Color: color})
			return err
		})
		return tag
	}
	vip, press := createTag("VIP", nil), createTag("Press", new("#000000"))
	require.Equal(t, []string{"#64748B", "#000000"}, []string{vip.Color, press.Color})
	x.Refused(problem.TagNameTaken, "name", func(ctx context.Context, u *work.Unit) error {
		_, err := CreateTag(ctx, u, TagInput{ProgramID: x.Program.ID, Name: "vip"})
		return err
	})
	x.Refused(problem.TagNameTaken, "name", func(ctx context.Context, u *work.Unit) error {
		_, err := UpdateTag(ctx, u, press.ID, TagChanges{Name: new("vip")})
		return err
	})
	x.Must(func(ctx context.Context, u *work.Unit) error {
		_, err := UpdateTag(ctx, u, vip.ID, TagChanges{Name: new("vip")})
		return err
	})
	ann := x.Partner("ann")
	require.NoError(t, queries.PartnerTagsAdd(t.Context(), x.Pool, db.PartnerTagsAddParams{
		OrgID: x.OrgID, ProgramID: x.Program.ID, PartnerID: ann.ID, TagIds: []string{vip.ID, press.ID},
	}))
	x.Must(func(ctx context.Context, u *work.Unit) error { return DeleteTag(ctx, u, vip.ID) })
	require.Equal(t, []string{press.ID}, worktest.Rows[string](x, "SELECT tag_id FROM partner_tags"))
}
