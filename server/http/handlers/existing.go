package handlers

import "rail/gen/db"

// Existing shows the row that a conflict is with as the API does. Any other row
// is not shown: it may hold what is nobody's business.
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
