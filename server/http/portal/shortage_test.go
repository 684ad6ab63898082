package portal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShortage: the Retry-After for a full disk is longer than the one for a short outage.
func TestShortage(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	program := s.Program()
	_, err := s.Pool.Exec(t.Context(), `CREATE FUNCTION short() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER short BEFORE INSERT ON sign_in_failures FOR EACH ROW EXECUTE FUNCTION short()`)
	require.NoError(t, err)
	a := s.Must(503, asks(s, "ada@ada.example", program))
	require.Equal(t, "10", a.Header.Get("Retry-After"))
}
