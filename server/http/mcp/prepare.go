package mcp

import (
	"context"

	"rail/server/clock"
	"rail/server/http/agent"
)

// prepared is the result of an operation that a person confirms.
type prepared struct {
	Notice      string     `json:"notice"`
	Status      string     `json:"status"` // prepared
	Operation   string     `json:"operation"`
	What        string     `json:"what"`
	Partner     string     `json:"partner,omitempty"`
	Customer    string     `json:"customer,omitempty"`
	AmountMinor *int64     `json:"amount_minor,omitempty"`
	Currency    string     `json:"currency,omitempty"`
	ConfirmURL  string     `json:"confirm_url"`
	ExpiresAt   clock.Time `json:"expires_at"`
}

const waits = "Nothing was done. Give confirm_url to a person who may do this: they see what will happen and confirm " +
	"it in the console. Do not open or confirm it yourself."

// prepare returns the link with which a person can confirm an operation. It checks the arguments and the objects, and
// stores nothing.
func (s *Server) prepare(ctx context.Context, by session, o agent.Operation, in request) (any, error) {
	args := in.Arguments
	if err := o.Known(args); err != nil {
		return nil, err
	}
	r, err := o.Request(ctx, args)
	if err != nil {
		return nil, err
	}
	if err := s.Document.Check(o.Operation, r, o.InPath(args)); err != nil {
		return nil, err
	}
	about, err := by.api.Describe(ctx, o, args)
	if err != nil {
		return nil, err
	}
	id, err := s.repeatable(by, o, in)
	if err != nil {
		return nil, err
	}
	order := agent.NewOrder(id, s.Clock.Now())
	order.OrgID, order.ProgramID, order.Operation, order.Arguments = by.key.OrgID, about.ProgramID, o.ID, args
	order.KeyID, order.Client = by.key.ID, by.client
	order.AmountMinor, order.Currency = about.AmountMinor, about.Currency
	sealed, err := order.Seal(s.Keeper)
	if err != nil {
		return nil, err
	}
	out := prepared{
		Notice: waits, Status: "prepared", Operation: o.ID, What: o.Summary(), Partner: about.Partner,
		Customer: about.Customer, AmountMinor: about.AmountMinor, ConfirmURL: s.Console + "/console/confirm/" + sealed,
		ExpiresAt: order.Expires(),
	}
	if about.AmountMinor != nil {
		out.Currency = about.Currency
	}
	return out, nil
}
