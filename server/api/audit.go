package api

import (
	"context"
	"encoding/json"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/call"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/ledger"
)

// entry is a line of the audit log. before and after hold what changed.
type entry struct {
	programID, action, targetID string
	reason                      *string
	before, after               any
}

// audit writes the line with the change that it tells of.
func audit(ctx context.Context, c *call.Call, e entry) error {
	before, err := snapshot(e.before)
	if err != nil {
		return err
	}
	after, err := snapshot(e.after)
	if err != nil {
		return err
	}
	return queries.AuditInsert(ctx, c.Later(), db.AuditInsertParams{
		ID: ident.New(ident.Audit), OrgID: c.Key.OrgID, ProgramID: e.programID, Action: e.action, TargetID: e.targetID,
		APIKeyID: &c.Key.ID, RequestID: &c.RequestID, Reason: e.reason, Before: before, After: after, CreatedAt: c.Now,
	})
}

func snapshot(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}

// voidCommission takes an open commission back: its row, its money, its event.
func voidCommission(ctx context.Context, c *call.Call, k db.Commission, reason string) error {
	if _, err := queries.CommissionVoid(ctx, c.Later(), db.CommissionVoidParams{Now: &c.Now, Reason: &reason, ID: k.ID, OrgID: k.OrgID}); err != nil {
		return err
	}
	c.Events.Record("commission.voided", event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}, api.CommissionVoidedData{
		CommissionID: k.ID, SaleID: k.SaleID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency, Reason: reason,
	})
	return ledger.Move(ctx, c.Later(), ledger.Commission{
		OrgID: k.OrgID, ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID, Currency: k.Currency, Status: "voided",
		AmountMinor: k.AmountMinor, At: c.Now,
	}, k.Status)
}

// patch sets a field that an update names: to its value, or to null.
func patch[T any](field **T, given nullable.Nullable[T]) {
	if !given.IsSpecified() {
		return
	}
	*field = nil
	if v, err := given.Get(); err == nil {
		*field = &v
	}
}
