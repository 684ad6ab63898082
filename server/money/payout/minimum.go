package payout

import "rail/gen/db"

// Least returns the minimum of a payout to a partner, in the program's currency (decisions, 120).
func Least(program db.Program, partner db.Partner) int64 {
	if partner.MinPayoutMinor != nil {
		return *partner.MinPayoutMinor
	}
	return program.MinPayoutMinor
}
