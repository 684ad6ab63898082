package console

import (
	"regexp"
	"time"

	"rail/server/team"
)

// sessionLife is the lifetime of the cookie; package team ends the session.
const sessionLife = 14 * 24 * time.Hour

// tokenForm is the form of a session's token.
var tokenForm = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// from returns the origin of a sign-in.
func (v *visit) from() team.From {
	return team.From{Address: v.console.Address(v), Browser: v.console.remembered.Value(v)}
}
