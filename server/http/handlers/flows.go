package handlers

import (
	"context"
	"errors"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/rules"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/flow"
	"rail/server/work"
)

// ListFlows lists the flows of a program in the order of their evaluation: by priority, then
// partner before group before program, then oldest first. The first flow that applies and pays is
// used.
func (s *Server) ListFlows(ctx context.Context, r api.ListFlowsRequestObject) (api.ListFlowsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := decodePage(ctx, q, db.FlowList{
		Status: list.Any(p.Status), GroupID: p.GroupID, PartnerID: p.PartnerID,
	}, toFlow, flowParts(p.Expand)...)
	return api.ListFlows200JSONResponse(out), err
}

func flowParts(expand []api.FlowExpand) []part[api.Flow] {
	return []part[api.Flow]{
		embedGroup(wants(expand, api.FlowExpandGroup),
			func(f *api.Flow) (*string, *nullable.Nullable[api.Group]) { return f.GroupID, &f.Group }),
		embedPartner(wants(expand, api.FlowExpandPartner),
			func(f *api.Flow) (*string, *nullable.Nullable[api.Partner]) { return f.PartnerID, &f.Partner }),
	}
}

// RetrieveFlow returns one flow, without the warnings of a write.
func (s *Server) RetrieveFlow(ctx context.Context,
	r api.RetrieveFlowRequestObject) (api.RetrieveFlowResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.FlowGet(ctx, u.Short(), db.FlowGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	f, err := toFlow(row)
	out, err := complete(ctx, f, row.ProgramID, err, flowParts(r.Params.Expand)...)
	return api.RetrieveFlow200JSONResponse(out), err
}

// CreateFlow adds a commission rule. The answer has warnings about unusual rates.
func (s *Server) CreateFlow(ctx context.Context, r api.CreateFlowRequestObject) (api.CreateFlowResponseObject, error) {
	b := r.Body
	row, err := flow.Create(ctx, work.From(ctx), flow.New{
		ProgramID:         b.ProgramID,
		Name:              b.Name,
		Description:       b.Description,
		GroupID:           b.GroupID,
		PartnerID:         b.PartnerID,
		TargetGroupID:     b.TargetGroupID,
		Trigger:           (*string)(b.Trigger),
		Action:            (*string)(b.Action),
		ApprovalMode:      (*string)(b.ApprovalMode),
		Status:            (*string)(b.Status),
		RateType:          (*string)(b.RateType),
		RateValue:         b.RateValue,
		ApprovalDelayDays: b.ApprovalDelayDays,
		Priority:          b.Priority,
		Branches:          branchInputs(b.Branches),
	})
	if err != nil {
		return nil, err
	}
	out, err := toSavedFlow(row)
	return api.CreateFlow201JSONResponse(out), err
}

// UpdateFlow changes a flow. Branches are replaced as a whole: a branch missing in the body is
// deleted.
func (s *Server) UpdateFlow(ctx context.Context, r api.UpdateFlowRequestObject) (api.UpdateFlowResponseObject, error) {
	row, err := flow.Update(ctx, work.From(ctx), r.ID, flowChange(*r.Body))
	if err != nil {
		return nil, err
	}
	out, err := toSavedFlow(row)
	return api.UpdateFlow200JSONResponse(out), err
}

// flowChange converts the body of a change.
func flowChange(b api.FlowUpdate) flow.Change {
	return flow.Change{
		Name: b.Name, Trigger: (*string)(b.Trigger), Action: (*string)(b.Action), ApprovalMode: (*string)(b.ApprovalMode),
		Status: (*string)(b.Status), Priority: b.Priority, Description: b.Description, GroupID: b.GroupID,
		PartnerID: b.PartnerID, TargetGroupID: b.TargetGroupID, RateType: b.RateType, RateValue: b.RateValue,
		ApprovalDelayDays: b.ApprovalDelayDays, Branches: branchInputs(b.Branches),
	}
}

// RehearseFlows computes the commissions of recent sales with a changed flow.
func (s *Server) RehearseFlows(ctx context.Context,
	r api.RehearseFlowsRequestObject) (api.RehearseFlowsResponseObject, error) {
	u, b, days := work.From(ctx), r.Body, int64(30)
	if b.Days != nil {
		days = *b.Days
	}
	draft, err := flow.Draft(ctx, u, b.ProgramID, b.FlowID, flowChange(b.Flow))
	if err != nil {
		return nil, within("flow.", err)
	}
	done, err := sale.Rehearse(ctx, u, draft, u.Now.Days(-days))
	return api.RehearseFlows200JSONResponse{
		Object:       "flow_rehearsal",
		ProgramID:    b.ProgramID,
		Days:         days,
		SalesCount:   done.Sales,
		Complete:     done.Complete,
		ChangedCount: done.Changed,
		Before:       toSums(done.Before),
		After:        toSums(done.After),
		Examples:     mapped(done.Examples, toRehearsalExample),
	}, err
}

// within prefixes the parameter of a refusal with at, the member of the body that contains it. It
// does not prefix the body's references.
func within(at string, err error) error {
	var p *problem.Error
	if !errors.As(err, &p) || p.Param == "" || p.Param == "program_id" || p.Param == "flow_id" {
		return err
	}
	out := *p
	out.Param = at + p.Param
	return &out
}

// toRehearsalExample converts a sale with a different commission.
func toRehearsalExample(e sale.Example) api.FlowRehearsalExample {
	pay := func(p sale.Pay) api.FlowRehearsalPay {
		return api.FlowRehearsalPay{
			AmountMinor: p.AmountMinor, Currency: p.Currency, FlowID: p.FlowID, FlowBranchID: p.BranchID,
		}
	}
	return api.FlowRehearsalExample{
		SaleID: e.Sale.ID, CustomerID: e.Sale.CustomerID, PartnerID: opt.Value(e.Sale.PartnerID),
		OccurredAt: e.Sale.OccurredAt, AmountMinor: e.Sale.AmountMinor, Currency: e.Sale.Currency,
		Before: pay(e.Before), After: pay(e.After),
	}
}

// branchInputs returns the branches of a body. It returns nil for nil, which changes nothing; an
// empty list removes all branches.
func branchInputs(inputs []api.FlowBranchInput) []flow.BranchInput {
	if inputs == nil {
		return nil
	}
	return mapped(inputs, func(b api.FlowBranchInput) flow.BranchInput {
		return flow.BranchInput{
			ID: b.ID, Label: b.Label, Conditions: b.Conditions, RateType: string(b.RateType), RateValue: b.RateValue,
		}
	})
}

// PreviewFlows computes the commission of a payment, and records nothing.
func (s *Server) PreviewFlows(ctx context.Context,
	r api.PreviewFlowsRequestObject) (api.PreviewFlowsResponseObject, error) {
	u, b := work.From(ctx), r.Body
	p, err := sale.PreviewPayment(ctx, u, sale.Payment{
		ProgramID: b.ProgramID, AmountMinor: b.AmountMinor, TaxMinor: b.TaxMinor, FeeMinor: b.FeeMinor, Currency: b.Currency,
		BillingType: (*string)(b.BillingType), Interval: (*string)(b.Interval), ProductID: b.ProductID,
		ProductName: b.ProductName, OccurredAt: b.OccurredAt, Metadata: b.Metadata,
	}, sale.Buyer{
		CustomerID: b.CustomerID, PartnerID: b.PartnerID, Number: b.PaymentNumber, Months: b.CustomerMonths,
	})
	if err != nil {
		return nil, err
	}
	out := api.PreviewFlows200JSONResponse{
		Object: "flow_preview", ProgramID: b.ProgramID, PartnerID: p.PartnerID, Currency: p.Currency,
		Warnings: []api.SaleWarning{}, Explanation: p.Explanation,
	}
	if p.Decides != nil {
		out.DecidingFlowID, out.DecidingFlowBranchID = &p.Decides.FlowID, p.Decides.BranchID
	}
	if p.Warning != nil {
		out.Warnings = []api.SaleWarning{*p.Warning}
		return out, nil
	}
	e := p.Earned
	out.AmountMinor, out.Currency, out.RevenueMinor, out.MatureAt = e.Amount, e.Currency, e.Base, &e.MatureAt
	out.RateType, out.RateValue = new(api.RateType(e.Rate.RateType)), &e.Rate.RateValue
	out.FlowID, out.FlowBranchID = &e.Choice.FlowID, e.Choice.BranchID
	out.Status = new(api.CommissionStatus(rules.InitialStatus(e.Choice.ApprovalMode, e.MatureAt, u.Now)))
	return out, nil
}

// DeleteFlow removes a flow; its commissions keep its id.
func (s *Server) DeleteFlow(ctx context.Context, r api.DeleteFlowRequestObject) (api.DeleteFlowResponseObject, error) {
	err := flow.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteFlow200JSONResponse{ID: r.ID, Object: "flow", Deleted: true}, err
}
