package payout

import "rail/gen/db"

// Minimum returns the minimum of a payout to a partner, in the program's currency (decisions, 120).
func Minimum(program db.Program, partner db.Partner) int64 {
	if partner.MinPayoutMinor != nil {
		return *partner.MinPayoutMinor
	}
	return program.MinPayoutMinor
}
