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
	newGauge("rail_webhook_queue", "Waiting deliveries of events, counted up to 10000.",
		func(s State) float64 { return float64(s.Deliveries) }),
	newGauge("rail_webhook_oldest_seconds", "Age in seconds of the oldest due delivery.",
		func(s State) float64 { return s.DeliveriesDue }),
	newGauge("rail_webhook_endpoints_failing", "Endpoints whose last attempts failed.",
		func(s State) float64 { return float64(s.EndpointsFailing) }),
	newGauge("rail_webhook_failing_seconds", "How long the longest failing endpoint has been failing, in seconds; 0 if none fails.",
		func(s State) float64 { return s.EndpointFailing }),
	newGauge("rail_mail_failing_seconds", "How long every attempt to send a mail has failed, in seconds; 0 while mails are sent.",
		func(s State) float64 { return s.MailFailing }),
	newGauge("rail_backup_last_success_timestamp_seconds", "Time of the last backup; 0 without any.",
		func(s State) float64 { return s.BackupAt }),
	newGauge("rail_audit_last_clean_timestamp_seconds", "Time of the last audit without findings; 0 without any.",
		func(s State) float64 { return s.AuditAt }),
	newGauge("rail_webhook_endpoints_disabled", "Disabled endpoints, manually or after lasting failure.",
		func(s State) float64 { return float64(s.EndpointsOff) }),
	newGauge("rail_mail_queue", "Waiting mails, counted up to 10000.",
		func(s State) float64 { return float64(s.Mails) }),
	newGauge("rail_mail_oldest_seconds", "Age in seconds of the oldest due mail.",
		func(s State) float64 { return s.MailsDue }),
	newGauge("rail_inbox_queue", "Due events of payment processors, counted up to 10000.",
		func(s State) float64 { return float64(s.Inbox) }),
	newGauge("rail_inbox_oldest_seconds", "Age in seconds of the oldest due event of a payment processor.",
		func(s State) float64 { return s.InboxDue }),
	newGauge("rail_inbox_waiting", "Events of payment processors that wait for another event or a retry.",
		func(s State) float64 { return float64(s.InboxWaiting) }),
	newGauge("rail_inbox_failed", "Failed events of payment processors within their retention.",
		func(s State) float64 { return float64(s.InboxFailed) }),
	newGauge("rail_payout_oldest_seconds",
		"Age in seconds of the oldest payout submitted to a rail without an end or an attention.",
		func(s State) float64 { return s.Rails.Oldest }),
	newGauge("rail_payout_rails_failing", "Payout rails without a success for ten minutes whose last call failed.",
		func(s State) float64 { return float64(s.Rails.Failing) }),
	newGauge("rail_payout_rails_without_funds", "Payout rails whose accounts lack funds.",
		func(s State) float64 { return float64(s.Rails.Poor) }),
	newGauge("rail_ledger_unfolded", "Ledger entries after the mark of the fold, which moves by 10000 at a time.",
		func(s State) float64 { return float64(s.LedgerUnfolded) }),
	newGauge("rail_report_sums_dirty", "Days of programs whose report sums are stale.",
		func(s State) float64 { return float64(s.ReportDays) }),
	newGauge("rail_archive_behind_seconds",
		"Seconds since the database last archived its log, while archiving fails; 0 otherwise.",
		func(s State) float64 { return s.ArchiveBehind }),
	newGauge("rail_database_bytes", "Size of the database.",
		func(s State) float64 { return float64(s.Bytes) }),
}

var (
	up      = prometheus.NewDesc("rail_database_up", "1 if the last backlog query succeeded.", nil, nil)
	payouts = prometheus.NewDesc("rail_payouts", "Payouts, by status.", []string{"status"}, nil)

	attention = prometheus.NewDesc("rail_payouts_attention", "Payouts that a person should look at, by their attention.",
		[]string{"attention"}, nil)
)

// Describe names the metrics of the backlog.
func (r *Reader) Describe(out chan<- *prometheus.Desc) {
	out <- up
	out <- payouts
	out <- attention
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
	for state, n := range s.Attention {
		out <- prometheus.MustNewConstMetric(attention, prometheus.GaugeValue, float64(n), state)
	}
}
