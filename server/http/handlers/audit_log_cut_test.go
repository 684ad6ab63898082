package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/jobs"
)

// cutLog runs the job that deletes old entries of the audit log.
func cutLog(t *testing.T, s *apitest.Server, days int, now clock.Time) {
	t.Helper()
	for _, j := range jobs.All(jobs.Deps{Pool: s.Pool, Clock: s.Clock, AuditRetentionDays: days}) {
		if j.Name == "cut-audit-log" {
			require.NoError(t, j.Run(t.Context(), now))
			return
		}
	}
	require.Fail(t, "no such job")
}

// TestAuditRetention: old entries are deleted if the operator sets a retention. Lists and totals
// stay exact, and a corrected commission stays corrected.
func TestAuditRetention(t *testing.T) {
	t.Parallel()
	h := apitest.NewInboxed(t)
	at := h.Clock.Now()
	into, from := h.Customer(h.ProgramID, h.PartnerID), h.Customer(h.ProgramID, h.PartnerID)
	h.Sell(into, "ch_1", at.Time)
	sale := h.Sell(from, "ch_2", at.Time)
	id := h.Get("/v1/commissions?program_id=" + h.ProgramID + "&sale_id=" + sale).Data()[0]["id"].(string)
	h.Must(200, h.Post("/v1/commissions/"+id, M{"amount_minor": 3000, "reason": "Agreed by phone"}))
	reward := h.Must(201, apitest.Grant(h.Server, h.ProgramID, h.PartnerID)).String("id")
	h.Must(200, h.Post("/v1/commissions/"+reward+"/reject", M{"reason": "No."}))
	_, err := h.Pool.Exec(t.Context(), `ALTER TABLE audit_log_entries DISABLE TRIGGER audit_log_entries_append_only;
		UPDATE audit_log_entries SET created_at = created_at - interval '400 days';
		ALTER TABLE audit_log_entries ENABLE TRIGGER audit_log_entries_append_only`)
	require.NoError(t, err)
	h.Must(201, apitest.Grant(h.Server, h.ProgramID, h.PartnerID))
	list := "/v1/audit_log_entries?program_id=" + h.ProgramID
	entries := func(want int) {
		t.Helper()
		page := h.Must(200, h.Get(list))
		require.EqualValues(t, want, page.Int("total_count"))
		require.Len(t, page.Data(), want)
		require.EqualValues(t, len(h.Get(list+"&action=commission.corrected").Data()),
			h.Get(list+"&action=commission.corrected").Int("total_count"))
		apitest.Balanced(t, h.Server)
	}
	entries(5)
	old := h.Get(list + "&action=commission.corrected").Data()[0]["id"].(string)
	cutLog(t, h.Server, 0, at)
	entries(5)
	cutLog(t, h.Server, 401, at)
	entries(5)
	cutLog(t, h.Server, 30, at.Plus(time.Hour))
	entries(1)
	h.Refused(404, "resource_not_found", "", h.Get("/v1/audit_log_entries/"+old))

	explained := h.Must(200, h.Get("/v1/commissions/"+id+"?include[]=explanation")).Body["explanation"].(M)["amount"]
	require.Regexp(t, `Corrected to 30\.00 USD on 2025-07-28\.$`, explained, "without who did it and why")
	h.Must(200, h.Merge(into, from, nil))
	require.EqualValues(t, 3000, h.Get("/v1/commissions/"+id).Int("amount_minor"), "a merge leaves what was corrected")
	entries(int(h.Get(list).Int("total_count")))
}
