package backlog

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// gauge is a metric of the state.
type gauge struct {
	desc  *prometheus.Desc
	value func(State) float64
}

func newGauge(name, help string, value func(State) float64) gauge {
	return gauge{prometheus.NewDesc(name, help, nil, nil), value}
}

var gauges = []gauge{
	newGauge("rail_webhook_queue", "Deliveries of events that wait, counted up to 10000.",
		func(s State) float64 { return float64(s.Deliveries) }),
	newGauge("rail_webhook_oldest_seconds", "How long the delivery has been due that was due first.",
		func(s State) float64 { return s.DeliveriesDue }),
	newGauge("rail_webhook_endpoints_failing", "Endpoints that have been tried since they took something the last time.",
		func(s State) float64 { return float64(s.EndpointsFailing) }),
	newGauge("rail_webhook_failing_seconds", "For how long the endpoint has been failing that fails the longest; 0 where none does.",
		func(s State) float64 { return s.EndpointFailing }),
	newGauge("rail_mail_failing_seconds", "For how long mails have been tried and none has gone; 0 while mails go.",
		func(s State) float64 { return s.MailFailing }),
	newGauge("rail_backup_last_success_timestamp_seconds", "When the last backup was made; 0 where none was.",
		func(s State) float64 { return s.BackupAt }),
	newGauge("rail_audit_last_clean_timestamp_seconds", "When the last audit found nothing; 0 where none has.",
		func(s State) float64 { return s.AuditAt }),
	newGauge("rail_webhook_endpoints_disabled", "Endpoints that are turned off, by hand or after lasting failure.",
		func(s State) float64 { return float64(s.EndpointsOff) }),
	newGauge("rail_mail_queue", "Mails that wait, counted up to 10000.",
		func(s State) float64 { return float64(s.Mails) }),
	newGauge("rail_mail_oldest_seconds", "How long the mail has been due that was due first.",
		func(s State) float64 { return s.MailsDue }),
	newGauge("rail_inbox_queue", "Events of payment processors that are due, counted up to 10000.",
		func(s State) float64 { return float64(s.Inbox) }),
	newGauge("rail_inbox_oldest_seconds", "How long the event of a payment processor has been due that was due first.",
		func(s State) float64 { return s.InboxDue }),
	newGauge("rail_inbox_waiting", "Events of payment processors that wait for another one or for another try.",
		func(s State) float64 { return float64(s.InboxWaiting) }),
	newGauge("rail_inbox_failed", "Events of payment processors that failed, as long as they are kept.",
		func(s State) float64 { return float64(s.InboxFailed) }),
	newGauge("rail_ledger_unfolded", "Entries of the ledger behind the mark of the fold, which moves by 10000 at a time.",
		func(s State) float64 { return float64(s.LedgerUnfolded) }),
	newGauge("rail_report_sums_dirty", "Days of programs whose sums are to be made again.",
		func(s State) float64 { return float64(s.ReportDays) }),
	newGauge("rail_archive_behind_seconds",
		"How long ago the database archived its log the last time, while it fails to; 0 while it does not fail.",
		func(s State) float64 { return s.ArchiveBehind }),
	newGauge("rail_database_bytes", "Size of the database.",
		func(s State) float64 { return float64(s.Bytes) }),
}

var (
	up      = prometheus.NewDesc("rail_database_up", "Whether the database told what waits in it.", nil, nil)
	payouts = prometheus.NewDesc("rail_payouts", "Payouts, by status.", []string{"status"}, nil)
)

// Describe names the metrics of the backlog.
func (r *Reader) Describe(out chan<- *prometheus.Desc) {
	out <- up
	out <- payouts
	for _, g := range gauges {
		out <- g.desc
	}
}

// Collect reads the backlog. If the database does not answer it reports that, and the other metrics keep their
// values.
func (r *Reader) Collect(out chan<- prometheus.Metric) {
	s, err := r.Read(context.Background())
	if err != nil {
		out <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, 0)
		return
	}
	out <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, 1)
	for _, g := range gauges {
		out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(s))
	}
	for status, n := range s.Payouts {
		out <- prometheus.MustNewConstMetric(payouts, prometheus.GaugeValue, float64(n), string(status))
	}
}
