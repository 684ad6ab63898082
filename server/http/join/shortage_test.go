package join_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShortage: an application that the database has no room for can be sent once more, and the answer says when.
func TestShortage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.Pool.Exec(t.Context(), `CREATE FUNCTION short() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER short BEFORE INSERT ON mails FOR EACH ROW EXECUTE FUNCTION short()`)
	require.NoError(t, err)
	a := s.Must(503, s.applies("ada@ada.example"))
	require.Equal(t, "10", a.Header.Get("Retry-After"))
}
