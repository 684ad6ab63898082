package partner

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/program/slug"
	"rail/server/work"
)

// handleMax is the longest handle; handleRoom leaves room for the suffix that
// distinguishes derived handles, so that those of one stem begin alike.
const (
	handleMax  = 32
	handleRoom = 26
)

// handleStem derives a handle from an email: the local part without its +tag,
// in the letters that a handle may have (decisions, 42).
func handleStem(email string) string {
	local := email
	if at := strings.LastIndexByte(email, '@'); at >= 0 {
		local = email[:at]
	}
	local, _, _ = strings.Cut(local, "+")
	// An address may be all signs or letters of other scripts.
	if stem := slug.Of(local, handleMax); len(stem) >= 2 {
		return stem
	}
	return "partner"
}

// handlePattern is the LIKE pattern of the handles that a stem can lead to.
// A stem longer than handleRoom is cut for its suffix, so that the pattern begins with
// the part that stays.
func handlePattern(stem string) string {
	if len(stem) > handleRoom {
		return stem[:handleRoom] + "%"
	}
	return stem + "-%"
}

// handleTaken returns the conflict, with what has the handle: a partner, now or
// formerly, or a link as its value (decisions, 43 and 181).
func handleTaken(ctx context.Context, u *work.Unit, programID, handle string) error {
	existing, err := queries.TrackingValueGet(ctx, u.DB(), db.TrackingValueGetParams{
		ProgramID: programID, OrgID: u.OrgID, Value: handle,
	})
	if err != nil {
		return err
	}
	return heldBy(ctx, u, existing)
}

// heldBy returns the conflict for a value that was looked up already.
func heldBy(ctx context.Context, u *work.Unit, existing db.TrackingValue) error {
	// One code for both; the object in the answer is a link or a partner.
	const code = problem.PartnerHandleTaken
	if existing.LinkID != nil {
		link, err := queries.LinkAny(ctx, u.DB(), db.LinkAnyParams{ID: *existing.LinkID, OrgID: u.OrgID})
		if err != nil {
			return err
		}
		return problem.Taken(code, "handle", link, "A link of the program has this handle as its value.")
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: existing.PartnerID, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	return problem.Taken(code, "handle", p, "Another partner of the program has, or had, this handle.")
}

// takeHandle sets another handle, if one is given, and reports whether it must
// be claimed. A former handle is still the partner's and needs no claim
// (decisions, 44).
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
	if !free && existing.PartnerID != p.ID {
		return false, heldBy(ctx, u, existing)
	}
	p.Handle = *handle
	return free, nil
}

// claimHandle takes the handle for a partner whose row is queued or written
// before. If another has just taken it, the work runs again.
func claimHandle(ctx context.Context, u *work.Unit, p db.Partner) error {
	return queries.TrackingValueInsert(ctx, u.Later(), db.TrackingValueInsertParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, Value: p.Handle, Kind: db.TrackingKindHandle, PartnerID: p.ID,
	})
}
