package handlers

import "rail/gen/db"

// Existing returns the row that a conflict is with as the API shows it. Rows of
// other types are not shown: they may contain what the caller must not see.
// The answer to a 409 has it, so that the caller needs no second request to go on.
func (s *Server) Existing(row any) any {
	switch row := row.(type) {
	case db.Partner:
		return toPartner(row)
	case db.Link:
		return s.toLink(row)
	case db.Coupon:
		return toCoupon(row)
	case db.Group:
		return toGroup(row)
	case db.Customer:
		return toCustomer(row)
	case db.Tag:
		return toTag(row)
	}
	return nil
}
