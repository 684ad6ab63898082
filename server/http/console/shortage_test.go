package console_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestShortages: a database that has too little of something refuses writes, which clients may try
// again; pages that read go on and say it, and so does the probe.
func TestShortages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	refuse := func(code string) {
		_, err := s.Pool.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION short() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '%s'; END $$`, code))
		require.NoError(t, err)
	}
	refuse("53100")
	for _, table := range []string{"tags", "user_sessions"} {
		_, err := s.Pool.Exec(t.Context(), "CREATE TRIGGER short BEFORE INSERT OR UPDATE ON "+table+" FOR EACH ROW EXECUTE FUNCTION short()")
		require.NoError(t, err)
	}
	for _, c := range []struct{ code, wait, check string }{
		{"53100", "10", "disk"}, {"58030", "10", "disk"}, {"53200", "1", "memory"}, {"53000", "1", ""}, {"53300", "1", ""}, {"53400", "1", ""},
	} {
		refuse(c.code)
		a := s.Must(503, s.Do("POST", "/v1/tags", s.Key, M{"program_id": s.program, "name": "a"}))
		require.Equal(t, c.wait, a.Header.Get("Retry-After"), c.code)
		require.Equal(t, "unavailable", a.Body["error"].(M)["code"], c.code)
		if c.check == "" {
			continue
		}
		a = s.Must(503, s.owner.send("/tags", "name", "b"))
		require.Equal(t, c.wait, a.Header.Get("Retry-After"), c.code)
		require.Contains(t, string(s.Do("GET", "/readyz?verbose", "", nil).Raw),
			"[-]"+c.check+" failed: the database has had too little "+c.check)
		require.Contains(t, s.owner.page("/console/account"), "Nothing can be saved: the database has had too little "+c.check)
		s.Clock.Advance(time.Minute)
		require.NotContains(t, string(s.Do("GET", "/readyz?verbose", "", nil).Raw), "too little")
		require.NotContains(t, s.owner.page("/console/account"), "Nothing can be saved", "the session is read, though its use cannot be noted")
	}
}
