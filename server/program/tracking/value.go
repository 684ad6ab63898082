package tracking

import (
	"context"

	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ByValue returns the active partner behind a value and, if it is the value of a link, that link. It resolves the value
// as a visit does. Both are "" for none.
func ByValue(ctx context.Context, u *work.Unit, programID, value string) (partnerID, linkID string, err error) {
	read := func(r pgtx.Read) error { return u.Read(ctx, r) }
	hits, err := resolve(ctx, read, []*work.Unit{u}, []arrival{newArrival(programID, value, Visit{})})
	if err != nil {
		return "", "", err
	}
	return hits[0].PartnerID, hits[0].LinkID, nil
}
