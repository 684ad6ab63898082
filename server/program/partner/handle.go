package partner

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident/slug"
	"rail/server/problem"
	"rail/server/work"
)

// handleMax is the maximum length of a handle. handleRoom leaves room for the suffix of derived handles, so that
// handles of one stem begin alike.
const (
	handleMax  = 32
	handleRoom = 26
)

// handleStem derives a handle from an email: the local part without its +tag, in the letters allowed in a handle
// (decisions, 42).
func handleStem(email string) string {
	local := email
	if at := strings.LastIndexByte(email, '@'); at >= 0 {
		local = email[:at]
	}
	local, _, _ = strings.Cut(local, "+")
	// An address may have only symbols or letters of other scripts.
	if stem := slug.Of(local, handleMax); len(stem) >= 2 {
		return stem
	}
	return "partner"
}

// handlePattern returns the LIKE pattern of the handles of a stem. A stem longer than handleRoom is cut for its
// suffix, so the pattern begins with the remaining part.
func handlePattern(stem string) string {
	if len(stem) > handleRoom {
		return stem[:handleRoom] + "%"
	}
	return stem + "-%"
}

// handleTaken returns the conflict with the holder of the handle: a present or former partner, or a link with
// that value (decisions, 43 and 181).
func handleTaken(ctx context.Context, u *work.Unit, programID, handle string) error {
	existing, err := queries.TrackingValueGet(ctx, u.DB(), db.TrackingValueGetParams{
		ProgramID: programID, OrgID: u.OrgID, Value: handle,
	})
	if err != nil {
		return err
	}
	return heldBy(ctx, u, existing)
}

// heldBy returns the conflict for a value that was read already.
func heldBy(ctx context.Context, u *work.Unit, existing db.TrackingValue) error {
	// The code is the same for both; the answer has a link or a partner.
	const code = problem.PartnerHandleTaken
	if existing.LinkID != nil {
		link, err := queries.LinkWithDeleted(ctx, u.DB(), db.LinkWithDeletedParams{ID: *existing.LinkID, OrgID: u.OrgID})
		if err != nil {
			return err
		}
		return problem.Taken(code, "handle", link, "A link of the program has this handle as its value.")
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: existing.PartnerID, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	if existing.Kind == db.TrackingKindReserved {
		return problem.Taken(code, "handle", p, "Links of several partners have this handle as their value.")
	}
	return problem.Taken(code, "handle", p, "Another partner of the program has, or had, this handle.")
}

// owns reports whether a value is the partner's. Links of several partners share a reserved one.
func owns(p db.Partner, value db.TrackingValue) bool {
	return value.PartnerID == p.ID && value.Kind != db.TrackingKindReserved
}

// takeHandle sets a new handle, if given, and reports whether it must be claimed. A former handle is still the
// partner's and needs no claim (decisions, 44).
func takeHandle(ctx context.Context, u *work.Unit, p *db.Partner, handle *string) (bool, error) {
	if handle == nil || *handle == p.Handle {
		return false, nil
	}
	existing, err := queries.TrackingValueGet(ctx, u.Tx, db.TrackingValueGetParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, Value: *handle,
	})
	free := errors.Is(err, pgx.ErrNoRows)
	if err != nil && !free {
		return false, err
	}
	if !free && !owns(*p, existing) {
		return false, heldBy(ctx, u, existing)
	}
	p.Handle = *handle
	return free, nil
}

// claimHandle claims the handle for a partner whose row is queued or written before. If another request has just
// claimed it, the work runs again.
func claimHandle(ctx context.Context, u *work.Unit, p db.Partner) error {
	return queries.TrackingValueInsert(ctx, u.Later(), db.TrackingValueInsertParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, Value: p.Handle, Kind: db.TrackingKindHandle, PartnerID: p.ID,
	})
}
