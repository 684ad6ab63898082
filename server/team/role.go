package team

import "slices"

// Role is what a person may do in the console.
type Role string

// The roles. An owner may do everything, and alone manages people.
const (
	Owner   Role = "owner"
	Manager Role = "manager"
	Finance Role = "finance"
	Viewer  Role = "viewer"
)

// Roles are all roles, the mightiest first.
var Roles = []Role{Owner, Manager, Finance, Viewer}

// payouts is the scope of confirming payouts, which a manager lacks.
const payouts = "payouts:write"

// Scopes returns what a person of the role may call, in the words of API keys. without
// is what is taken from it again: write stands for every scope, but a manager confirms
// no payouts. A role that is none may do nothing.
func (r Role) Scopes() (scopes, without []string) {
	switch r {
	case Owner:
		return []string{"write"}, nil
	case Manager:
		return []string{"write"}, []string{payouts}
	case Finance:
		return []string{"read", payouts, "commissions:write"}, nil
	case Viewer:
		return []string{"read"}, nil
	}
	return nil, nil
}

// ManagesPeople reports whether the role may invite, change and remove users.
func (r Role) ManagesPeople() bool { return r == Owner }

// ConfirmsPayouts reports whether the role may say that money was paid.
func (r Role) ConfirmsPayouts() bool { return r == Owner || r == Finance }

// known reports whether the role is one.
func (r Role) known() bool { return slices.Contains(Roles, r) }
