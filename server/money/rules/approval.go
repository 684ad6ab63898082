package rules

import (
	"rail/gen/db"
	"rail/server/clock"
)

// ApprovalMode is the way in which a flow's commissions are approved.
type ApprovalMode = db.ApprovalMode

// The approval modes: immediate, automatic after some days, or manual.
const (
	ApproveImmediately = db.ApprovalModeImmediate
	ApproveAfterDays   = db.ApprovalModeAfterDays
	ApproveManually    = db.ApprovalModeManual
)

// InitialStatus returns the state of a new commission: pending if a person or a delay must approve it, else as
// ApprovedStatus. A manual commission is approved immediately (decisions, 102 and 200).
func InitialStatus(mode ApprovalMode, matureAt, now clock.Time) db.CommissionStatus {
	if mode != ApproveImmediately {
		return db.CommissionStatusPending
	}
	return ApprovedStatus(matureAt, now)
}

// ApprovedStatus returns the state of a commission at its approval: due if the holding period is over, else
// approved.
func ApprovedStatus(matureAt, now clock.Time) db.CommissionStatus {
	if matureAt.After(now.Time) {
		return db.CommissionStatusApproved
	}
	return db.CommissionStatusDue
}

// MatureAt returns when a commission can be paid: holdingDays periods of 24
// hours after base, which is the sale's occurred_at, else the commission's
// created_at (decisions, 104).
func MatureAt(base clock.Time, holdingDays int64) clock.Time { return base.Days(holdingDays) }

// ApprovesAt returns when a commission of the mode after_days is approved automatically (decisions, 102).
func ApprovesAt(createdAt clock.Time, delayDays int64) clock.Time { return createdAt.Days(delayDays) }

// CreatedEventStatus returns the status in commission.created: due if the
// commission is payable now, else pending. If the true status is another, a
// commission.updated follows (decisions, 103).
func CreatedEventStatus(s db.CommissionStatus) db.CommissionStatus {
	if s == db.CommissionStatusDue {
		return db.CommissionStatusDue
	}
	return db.CommissionStatusPending
}
