package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListFlows lists the flows of a program in the order in which they are asked:
// priority, then partner before group before program, then the oldest.
func (s *Server) ListFlows(ctx context.Context, r api.ListFlowsRequestObject) (api.ListFlowsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	status, statusIn := choices(p.Status)
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.GroupRef("group_id", p.GroupID), work.PartnerRef("partner_id", p.PartnerID)},
	}, lister[db.FlowCursorRow, db.Flow]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (db.FlowCursorRow, error) {
			return queries.FlowCursor(ctx, tx, db.FlowCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org, GroupID: p.GroupID, PartnerID: p.PartnerID})
		},
		page: func(ctx context.Context, tx pgtx.DBTX, after, before *db.FlowCursorRow, lim int32) ([]db.Flow, error) {
			q := db.FlowPageParams{ProgramID: p.ProgramID, OrgID: org, Status: status, StatusIn: statusIn, GroupID: p.GroupID, PartnerID: p.PartnerID, Lim: lim}
			at := after
			if after != nil {
				q.AfterID = &after.ID
			}
			if before != nil {
				at, q.BeforeID = before, &before.ID
			}
			if at != nil {
				q.Priority, q.Specificity, q.At = &at.Priority, &at.Specificity, &at.CreatedAt
			}
			return queries.FlowPage(ctx, tx, q)
		},
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.FlowCount(ctx, tx, db.FlowCountParams{
				ProgramID: p.ProgramID, OrgID: org, Status: status, StatusIn: statusIn, GroupID: p.GroupID, PartnerID: p.PartnerID,
			})
		},
	})
	if err != nil {
		return nil, err
	}
	data, err := mappedAll(rows.rows, toFlow)
	if err != nil {
		return nil, err
	}
	if err := fillFlows(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListFlows200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, nil
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
