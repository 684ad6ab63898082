package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/queries"
)

// TestGenerated checks that the committed files match lists.yaml.
func TestGenerated(t *testing.T) {
	t.Parallel()
	lists, err := queries.Lists()
	require.NoError(t, err)
	code, err := types(lists)
	require.NoError(t, err)
	for name, want := range map[string]string{"lists.sql": statements(lists), "lists.gen.go": string(code)} {
		got, err := os.ReadFile("../../gen/db/" + name)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "gen/db/%s: run make generate", name)
	}
}

// TestStatements writes a list that has one filter of every kind.
func TestStatements(t *testing.T) {
	t.Parallel()
	l := queries.List{Name: "Thing", Table: "things", Page: "things", Columns: "t.*", Always: "t.deleted_at IS NULL",
		Order: []queries.Key{{Name: "rank", Type: "bigint"}, {Name: "id", Type: "text"}},
		Filters: []queries.Filter{
			{Name: "owner_id", Type: "text", Where: "t.owner_id = @", Count: "t.owner_id = @", Identity: true},
			{Name: "status", Type: "text", Where: "t.status = @", Count: "t.status = @", Several: true},
			{Name: "since", Type: "timestamptz", Where: "t.at >= @", Count: "t.at >= @", Required: true},
		},
		Total: &queries.Total{Tally: "things", Owners: []string{"owner_id"}, Status: "status"},
	}
	require.Equal(t, header+`
-- name: ThingPage :many
SELECT t.* FROM things t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND t.deleted_at IS NULL
  AND (sqlc.narg('owner_id')::text IS NULL OR t.owner_id = sqlc.narg('owner_id')::text)
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR t.status = ANY (sqlc.narg('status_in')::text[]))
  AND t.at >= @since::timestamptz
  AND (sqlc.narg('after_rank')::bigint IS NULL
    OR (t.rank, t.id) > (sqlc.narg('after_rank')::bigint, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_rank')::bigint IS NULL
    OR (t.rank, t.id) < (sqlc.narg('before_rank')::bigint, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_rank')::bigint IS NOT NULL THEN t.rank END DESC,
         CASE WHEN sqlc.narg('before_rank')::bigint IS NOT NULL THEN t.id END DESC,
         t.rank, t.id
LIMIT @lim;

-- name: ThingCount :one
SELECT count(*) FROM (SELECT 1 FROM things t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND t.deleted_at IS NULL
  AND (sqlc.narg('owner_id')::text IS NULL OR t.owner_id = sqlc.narg('owner_id')::text)
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR t.status = ANY (sqlc.narg('status_in')::text[]))
  AND t.at >= @since::timestamptz
  LIMIT @most) few;

-- name: ThingCursor :one
SELECT t.rank, t.id FROM things t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id
  AND (sqlc.narg('owner_id')::text IS NULL OR t.owner_id = sqlc.narg('owner_id')::text)
  AND t.at >= @since::timestamptz;
`, statements([]queries.List{l}))
}
