package site

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

// TestCookie sets, reads and clears a cookie; over https it belongs to the host alone.
func TestCookie(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		k := Cookie{Name: "rail_x", Path: "/x", Secure: secure}
		w := httptest.NewRecorder()
		c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/x", nil), w)
		require.Empty(t, k.Value(c))
		k.Set(c, "token", time.Minute)
		k.Clear(c)
		set := w.Result().Cookies()
		require.Len(t, set, 2)
		path, name := "/x", "rail_x"
		if secure {
			path, name = "/", "__Host-rail_x"
		}
		for i, want := range []struct {
			value string
			age   int
		}{{"token", 60}, {"", -1}} {
			require.Equal(t, want.value, set[i].Value)
			require.Equal(t, want.age, set[i].MaxAge)
			require.Equal(t, []any{name, path, secure, true, http.SameSiteLaxMode},
				[]any{set[i].Name, set[i].Path, set[i].Secure, set[i].HttpOnly, set[i].SameSite})
		}
		c.Request().AddCookie(set[0])
		require.Equal(t, "token", k.Value(c))
	}
}

// TestFailed returns internal errors alone, and none of a response that has begun is overwritten.
func TestFailed(t *testing.T) {
	t.Parallel()
	fault, shown := errors.New("fault"), 0
	show := func() error { shown++; return nil }
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder())
	require.NoError(t, Failed(c, fault, http.StatusNotFound, show))
	require.ErrorIs(t, Failed(c, fault, http.StatusInternalServerError, show), fault)
	require.Equal(t, 2, shown)
	c.Response().Committed = true
	require.ErrorIs(t, Failed(c, fault, http.StatusNotFound, show), fault)
	require.Equal(t, 2, shown)
}
