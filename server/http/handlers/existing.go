package handlers

import "rail/gen/db"

// Existing converts the row of a conflict to its API object for the answer to a 409, so that the
// caller needs no second request. It returns nil for other types, which may contain hidden members.
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
