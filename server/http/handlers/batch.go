package handlers

import (
	"context"
	"encoding/json"
	"net/http"

	"rail/gen/api"
	"rail/server/http/middleware"
	"rail/server/problem"
	"rail/server/work"
)

const batchResult = "batch_result"

// outcome is the result of one item of a batch: the fields of api.SaleBatchOutcome and similar
// types.
type outcome[T any] struct {
	Error  *api.Error
	Index  int64
	Result *T
	Status int64
}

// recorded is the answer to one item, with its status.
type recorded[T any] struct {
	status int
	result T
}

// eachItem runs the operation of each item of a batch in one transaction. It returns the outcomes
// and the number of successes. A refused item leaves nothing behind; a failure of the server ends
// the whole batch (decisions, 244).
func eachItem[In, Out any](
	ctx context.Context, programID string, items []json.RawMessage, do func(context.Context, In) (recorded[Out], error),
) (out []outcome[Out], succeeded int64, err error) {
	u := work.From(ctx)
	if err := u.InProgram(ctx, programID); err != nil {
		return nil, 0, err
	}
	out = make([]outcome[Out], len(items))
	errs := u.Share(ctx, len(items), func(i int, u *work.Unit) error {
		if err := middleware.ItemFault(ctx, i); err != nil {
			return err
		}
		var in In
		if err := json.Unmarshal(items[i], &in); err != nil {
			return err
		}
		done, err := do(work.Into(ctx, u), in)
		out[i] = outcome[Out]{Index: int64(i), Status: int64(done.status), Result: &done.result}
		return err
	})
	for i, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		p := middleware.Problem(err)
		if p.Status() >= http.StatusInternalServerError {
			return nil, 0, err
		}
		out[i] = outcome[Out]{Index: int64(i), Status: int64(p.Status()), Error: toError(p, u.RequestID)}
	}
	return out, succeeded, nil
}

// toError converts a refusal to an error body.
func toError(p *problem.Error, requestID string) *api.Error {
	e := &api.Error{
		Type: api.ErrorType(p.Type()), Code: api.ErrorCode(p.Code), Message: p.Message, RequestID: requestID,
	}
	if p.Param != "" {
		e.Param = &p.Param
	}
	return e
}

// CreateSaleBatch records payments, each like CreateSale.
func (s *Server) CreateSaleBatch(ctx context.Context,
	r api.CreateSaleBatchRequestObject) (api.CreateSaleBatchResponseObject, error) {
	record := func(ctx context.Context, b api.SaleCreate) (recorded[api.RecordedSale], error) {
		b.ProgramID = r.Body.ProgramID
		answer, err := s.CreateSale(ctx, api.CreateSaleRequestObject{Body: &b})
		if stored, ok := answer.(api.CreateSale200JSONResponse); ok {
			return recorded[api.RecordedSale]{http.StatusOK, api.RecordedSale(stored)}, err
		}
		added, _ := answer.(api.CreateSale201JSONResponse)
		return recorded[api.RecordedSale]{http.StatusCreated, api.RecordedSale(added)}, err
	}
	out, succeeded, err := eachItem(ctx, r.Body.ProgramID, r.Body.Items, record)
	return api.CreateSaleBatch200JSONResponse{
		Object: batchResult, Succeeded: succeeded, Failed: int64(len(out)) - succeeded,
		Data: mapped(out, func(o outcome[api.RecordedSale]) api.SaleBatchOutcome { return api.SaleBatchOutcome(o) }),
	}, err
}

// CreateClickBatch records visits, each like CreateClick.
func (s *Server) CreateClickBatch(ctx context.Context,
	r api.CreateClickBatchRequestObject) (api.CreateClickBatchResponseObject, error) {
	record := func(ctx context.Context, b api.ClickCreate) (recorded[api.Click], error) {
		b.ProgramID = r.Body.ProgramID
		answer, err := s.CreateClick(ctx, api.CreateClickRequestObject{Body: &b})
		added, _ := answer.(api.CreateClick201JSONResponse)
		return recorded[api.Click]{http.StatusCreated, api.Click(added)}, err
	}
	out, succeeded, err := eachItem(ctx, r.Body.ProgramID, r.Body.Items, record)
	return api.CreateClickBatch200JSONResponse{
		Object: batchResult, Succeeded: succeeded, Failed: int64(len(out)) - succeeded,
		Data: mapped(out, func(o outcome[api.Click]) api.ClickBatchOutcome { return api.ClickBatchOutcome(o) }),
	}, err
}
