package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/page"
	"rail/server/work"
)

// ListFlows lists the flows of a program in the order in which they are asked:
// priority, then partner before group before program, then the oldest.
func (s *Server) ListFlows(ctx context.Context, r api.ListFlowsRequestObject) (api.ListFlowsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.FlowList{
		Status: page.Any(p.Status), GroupID: p.GroupID, PartnerID: p.PartnerID,
	})
	if err != nil {
		return nil, err
	}
	data, err := mappedAll(rows.Rows, toFlow)
	if err != nil {
		return nil, err
	}
	if err := fillFlows(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListFlows200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

func fillFlows(ctx context.Context, u *work.Unit, flows []api.Flow, expand []api.FlowExpand) error {
	return together(ctx, u,
		embedGroup(ctx, u, wants(expand, api.FlowExpandGroup), flows, func(f *api.Flow) (*string, *nullable.Nullable[api.Group]) { return f.GroupID, &f.Group }),
		embedPartner(ctx, u, wants(expand, api.FlowExpandPartner), flows, func(f *api.Flow) (*string, *nullable.Nullable[api.Partner]) { return f.PartnerID, &f.Partner }))
}

// RetrieveFlow returns one flow.
func (s *Server) RetrieveFlow(ctx context.Context, r api.RetrieveFlowRequestObject) (api.RetrieveFlowResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.FlowGet(ctx, u.DB(), db.FlowGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	flow, err := toFlow(row)
	if err != nil {
		return nil, err
	}
	one := []api.Flow{flow}
	err = fillFlows(ctx, u, one, r.Params.Expand)
	return api.RetrieveFlow200JSONResponse(one[0]), err
}

// DeleteFlow removes a flow; the commissions that it made keep its id.
func (s *Server) DeleteFlow(ctx context.Context, r api.DeleteFlowRequestObject) (api.DeleteFlowResponseObject, error) {
	u := work.From(ctx)
	flow, err := lockFlow(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	err = queries.FlowDelete(ctx, u.Later(), db.FlowDeleteParams{ID: flow.ID, OrgID: flow.OrgID})
	u.Record(aboutFlow(flow), events.RuleDeleted(api.RuleDeletedData{RuleID: flow.ID, Name: flow.Name}))
	return api.DeleteFlow200JSONResponse{ID: flow.ID, Object: "flow", Deleted: true}, err
}

func lockFlow(ctx context.Context, u *work.Unit, id string) (db.Flow, error) {
	flow, err := queries.FlowLock(ctx, u.DB(), db.FlowLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return flow, err
	}
	return flow, u.CheckProgram(flow.ProgramID)
}
