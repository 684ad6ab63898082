package verify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/money/proof/keys"
)

// maxKeys bounds the file of all keys.
const maxKeys = 10_000

// maxAge is how long the keys may be cached, in seconds. A new key is published a minute before it signs.
const maxAge = "public, max-age=60"

// publishedKey is a key in the file.
type publishedKey struct {
	ID             string      `json:"id"`
	OrganizationID string      `json:"organization_id"`
	Algorithm      string      `json:"algorithm"`
	PublicKey      string      `json:"public_key"`
	CreatedAt      clock.Time  `json:"created_at"`
	RetiredAt      *clock.Time `json:"retired_at"`
}

// keys answers with the public keys of all organizations, newest first, or with the one of ?id=. HasMore means that
// there are more than the file may have; these are found by their ids.
func (p *Pages) keys(c echo.Context) error {
	ctx, end := context.WithTimeout(c.Request().Context(), timeout)
	defer end()
	var text string
	var err error
	if id := c.QueryParam("id"); id != "" {
		text, err = p.key(ctx, id)
	} else {
		text, err = p.allKeys(ctx)
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, "*") // other sites may check statements too
	c.Response().Header().Set("Cache-Control", maxAge)
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, []byte(text))
}

// allKeys returns the file of all keys.
func (p *Pages) allKeys(ctx context.Context) (string, error) {
	count, err := queries.StatementKeysTotal(ctx, p.Pool)
	if err != nil {
		return "", err
	}
	return p.keyFile.of(ctx, strconv.FormatInt(count, 10), "", func(ctx context.Context) (string, error) {
		rows, err := queries.StatementKeysPublished(ctx, p.Pool, maxKeys+1)
		if err != nil {
			return "", err
		}
		return keysText(rows[:min(len(rows), maxKeys)], len(rows) > maxKeys)
	})
}

// key returns a file with one key, or an empty one.
func (p *Pages) key(ctx context.Context, id string) (string, error) {
	var rows []db.StatementKeysPublishedRow
	if site.IsStorable(id) {
		switch row, err := queries.StatementKeyPublished(ctx, p.Pool, id); {
		case err == nil:
			rows = append(rows, db.StatementKeysPublishedRow(row))
		case !errors.Is(err, pgx.ErrNoRows):
			return "", err
		}
	}
	return keysText(rows, false)
}

// keysText returns a file of keys.
func keysText(rows []db.StatementKeysPublishedRow, more bool) (string, error) {
	out := struct {
		Keys    []publishedKey `json:"keys"`
		HasMore bool           `json:"has_more"`
	}{make([]publishedKey, len(rows)), more}
	for i, r := range rows {
		out.Keys[i] = publishedKey{
			ID: r.ID, OrganizationID: r.OrgID, Algorithm: "Ed25519",
			PublicKey: keys.Public(r.ID, r.PublicKey, r.CreatedAt, r.RetiredAt).PublicKey,
			CreatedAt: r.CreatedAt, RetiredAt: r.RetiredAt,
		}
	}
	text, err := json.Marshal(out)
	return string(text) + "\n", err
}
