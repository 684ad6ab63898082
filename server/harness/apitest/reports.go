package apitest

import (
	"fmt"
	"testing"
)

// Reported retrieves a report of a program.
func (s *Server) Reported(program, query string) Answer {
	s.T.Helper()
	return s.Must(200, s.Get("/v1/reports?program_id="+program+query))
}

// ReportRow returns the figures of a report's row: clicks, leads, customers, sales, refunded, revenue,
// commissions. It returns nil if there is no row.
func ReportRow(a Answer, key any) []string {
	rows, _ := a.Body["rows"].([]any)
	for _, r := range rows {
		if m := r.(M); m["key"] == key {
			return Figures(m)
		}
	}
	return nil
}

// Figures returns the figures of a report's row or sum, in the order of ReportRow.
func Figures(m M) (out []string) {
	for _, name := range []string{
		"clicks", "leads", "customers", "sales", "refunded", "revenue_minor", "commissions_minor",
	} {
		out = append(out, fmt.Sprint(m[name]))
	}
	return out
}

// SumReports sums the days that have ended.
func SumReports(t testing.TB, s *Server) { t.Helper(); RunJob(t, s, "sum-reports") }
