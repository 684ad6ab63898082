package auth

import (
	"slices"

	"rail/gen/db"
	"rail/server/work"
	"rail/server/work/quota"
)

// Actor makes a request of the API: an API key, or a person who is signed in to the console.
type Actor struct {
	ID     string // of the key or the user
	OrgID  string
	UserID string // the user who owns the key; a person's ID
	Person bool
	Scopes []string
	// Without lists scopes that the actor lacks even if Scopes has write.
	Without []string
	// Client is the MCP client that asks for the request; "" for none.
	Client string
	// Plan holds the limits that are set for the organization.
	Plan quota.Own
}

// OfPerson returns the actor for a user of an organization. The user's role decides the scopes.
func OfPerson(user string, org db.Organization, scopes, without []string) Actor {
	return Actor{
		ID: user, OrgID: org.ID, UserID: user, Person: true, Scopes: scopes, Without: without,
		Plan: quota.Own{
			FlowQuota: org.FlowQuota, RevenueMeterMinor: org.RevenueMeterMinor, FraudMonitoring: org.FraudMonitoring,
		},
	}
}

// Allows reports whether the actor has one of the scopes. write includes every scope that is not in Without.
func (a Actor) Allows(alternatives []string) bool {
	for _, s := range alternatives {
		if slices.Contains(a.Without, s) {
			return false
		}
	}
	if len(alternatives) == 0 || slices.Contains(a.Scopes, "write") {
		return true
	}
	for _, s := range alternatives {
		if slices.Contains(a.Scopes, s) {
			return true
		}
	}
	return false
}

// Work returns the actor for a unit of work, as the audit log names it.
func (a Actor) Work() work.Actor {
	kind := work.APIKey
	if a.Person {
		kind = work.Person
	}
	return work.Actor{
		Kind: kind, ID: a.ID, User: a.UserID, Client: a.Client, PaysOut: a.Allows([]string{ScopePayouts}),
	}
}
