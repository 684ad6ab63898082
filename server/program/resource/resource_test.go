package resource

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func create(x *worktest.Tenant, change ...func(*Input)) (r db.Resource) {
	x.Helper()
	in := Input{ProgramID: x.Program.ID, Title: "Logo", URL: "https://shop.example/logo", Published: true}
	for _, c := range change {
		c(&in)
	}
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		r, err = Create(ctx, u, in)
		return err
	})
	return r
}

func update(x *worktest.Tenant, id string, to Changes) (r db.Resource) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		r, err = Update(ctx, u, id, to)
		return err
	})
	return r
}

func in(folder string) func(*Input) { return func(r *Input) { r.Folder = &folder } }

// New and moved resources go to the end of their folder; others keep their position.
func TestPositions(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	a, b, other := create(x), create(x), create(x, in("Banners"))
	require.Less(t, a.Position, b.Position)
	require.Equal(t, a.Position, other.Position)
	moved := update(x, a.ID, Changes{Folder: nullable.NewNullableWithValue("Banners")})
	require.Greater(t, moved.Position, other.Position)
	require.Equal(t, moved.Position, update(x, a.ID, Changes{Title: new("Banner")}).Position)
	back := update(x, a.ID, Changes{Folder: nullable.NewNullNullable[string]()})
	require.Nil(t, back.Folder)
	require.Greater(t, back.Position, b.Position)
}

// The publication time is that of the first publication.
func TestPublished(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	r := create(x, func(r *Input) { r.Published = false })
	require.Nil(t, r.PublishedAt)
	x.Now = x.Now.Days(1)
	first := x.Now
	require.Equal(t, &first, update(x, r.ID, Changes{Published: new(true)}).PublishedAt)
	x.Now = x.Now.Days(1)
	require.Equal(t, &first, update(x, r.ID, Changes{Published: new(false)}).PublishedAt)
	require.Equal(t, &first, update(x, r.ID, Changes{Published: new(true)}).PublishedAt)
}

// Only links can have their address changed.
func TestFile(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	r := create(x)
	require.Equal(t, "https://new.example", update(x, r.ID, Changes{URL: new("https://new.example")}).URL)
	x.Exec("UPDATE resources SET kind = 'file'")
	x.Refused(problem.ParameterInvalid, "url", func(ctx context.Context, u *work.Unit) error {
		_, err := Update(ctx, u, r.ID, Changes{URL: new("https://shop.example/other")})
		return err
	})
}

// A resource's groups belong to its program, without duplicates; an empty list means every partner.
func TestAudience(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	other := x.NewProgram()
	for id, program := range map[string]string{"grp_1": x.Program.ID, "grp_2": other.ID} {
		x.Exec(`INSERT INTO groups (id, org_id, program_id, name, slug, is_private, is_default, created_at, updated_at)
			VALUES ($1, $2, $3, 'G', 'g', false, false, $4, $4)`, id, x.OrgID, program, x.Now)
	}
	r := create(x, func(r *Input) { r.GroupIDs = []string{"grp_1", "grp_1"} })
	require.Equal(t, [][]string{{"grp_1"}, {}}, [][]string{r.GroupIds, r.TagIds})
	require.Equal(t, []string{"grp_1"}, update(x, r.ID, Changes{Title: new("Banner")}).GroupIds)
	require.Empty(t, update(x, r.ID, Changes{GroupIDs: []string{}}).GroupIds)
	x.Refused(problem.InvalidReference, "group_ids[1]", func(ctx context.Context, u *work.Unit) error {
		_, err := Update(ctx, u, r.ID, Changes{GroupIDs: []string{"grp_1", "grp_2"}})
		return err
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	r := create(x)
	x.Refused(problem.ResourceNotFound, "program_id", func(ctx context.Context, u *work.Unit) error {
		u.Programs = []string{"prg_other"}
		return Delete(ctx, u, r.ID)
	})
	remove := func(ctx context.Context, u *work.Unit) error { return Delete(ctx, u, r.ID) }
	x.Must(remove)
	require.ErrorIs(t, x.Do(remove), pgx.ErrNoRows)
}
