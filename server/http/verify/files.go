package verify

import (
	"errors"
	"net/http"

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
	var out struct {
		Keys    []publishedKey `json:"keys"`
		HasMore bool           `json:"has_more"`
	}
	out.Keys = []publishedKey{}
	rows, err := p.published(c)
	if err != nil {
		return err
	}
	if out.HasMore = len(rows) > maxKeys; out.HasMore {
		rows = rows[:maxKeys]
	}
	for _, r := range rows {
		out.Keys = append(out.Keys, publishedKey{
			ID: r.ID, OrganizationID: r.OrgID, Algorithm: "Ed25519",
			PublicKey: keys.Public(r.ID, r.PublicKey, r.CreatedAt, r.RetiredAt).PublicKey,
			CreatedAt: r.CreatedAt, RetiredAt: r.RetiredAt,
		})
	}
	c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, "*") // other sites may check statements too
	c.Response().Header().Set("Cache-Control", maxAge)
	return c.JSON(http.StatusOK, out)
}

// published reads the wanted keys, and one more than the file may have.
func (p *Pages) published(c echo.Context) ([]db.StatementKeysPublishedRow, error) {
	ctx := c.Request().Context()
	id := c.QueryParam("id")
	if id == "" {
		return queries.StatementKeysPublished(ctx, p.Pool, maxKeys+1)
	}
	if !site.Spelled(id) {
		return nil, nil
	}
	row, err := queries.StatementKeyPublished(ctx, p.Pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return []db.StatementKeysPublishedRow{db.StatementKeysPublishedRow(row)}, err
}
