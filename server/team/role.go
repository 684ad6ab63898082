package team

import (
	"slices"

	"rail/server/auth"
)

// Role is a person's role in the console.
type Role string

// The roles. An owner may do everything, and only owners manage people.
const (
	Owner   Role = "owner"
	Manager Role = "manager"
	Finance Role = "finance"
	Viewer  Role = "viewer"
)

// Roles are all roles, the most powerful first.
var Roles = []Role{Owner, Manager, Finance, Viewer}

// Scopes returns the API scopes of a role. without are exceptions from them: write includes every scope, but a
// manager confirms no payouts. An invalid role has no scopes.
func (r Role) Scopes() (scopes, without []string) {
	switch r {
	case Owner:
		return []string{"write"}, nil
	case Manager:
		return []string{"write"}, []string{auth.ScopePayouts}
	case Finance:
		return []string{"read", auth.ScopePayouts, "commissions:write"}, nil
	case Viewer:
		return []string{"read"}, nil
	}
	return nil, nil
}

// ManagesPeople reports whether the role may invite, change and remove users.
func (r Role) ManagesPeople() bool { return r == Owner }

// ConfirmsPayouts reports whether the role may mark payouts as paid.
func (r Role) ConfirmsPayouts() bool { return r == Owner || r == Finance }

// known reports whether the role exists.
func (r Role) known() bool { return slices.Contains(Roles, r) }
