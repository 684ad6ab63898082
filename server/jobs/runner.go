package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"rail/server/clock"
	"rail/server/telemetry/outage"
	"rail/server/work/queue"
)

const (
	// lateRounds is after how many of its periods without success a job is late, and leastLate the minimum time.
	lateRounds = 10
	leastLate  = time.Minute
)

// Runner runs jobs periodically, measures their rounds, and tracks which fail.
type Runner struct {
	clock   clock.Clock
	outages *outage.Log
	seconds *prometheus.HistogramVec
	failed  *prometheus.CounterVec
	last    *prometheus.GaugeVec
	period  *prometheus.GaugeVec
	// Noted, if not nil, gets the error of each round, nil for success.
	Noted func(error)

	moving    sync.RWMutex // held for reading by every round, and for writing while the test clock moves
	mu        sync.Mutex
	succeeded map[string]clock.Time // or the time of the job's first run
}

// NewRunner returns a runner with its metrics in r, which may be nil.
func NewRunner(c clock.Clock, log *slog.Logger, r prometheus.Registerer) *Runner {
	factory, job := promauto.With(r), []string{"job"}
	return &Runner{
		clock: c, outages: outage.New(log, c, "job", "job"), succeeded: map[string]clock.Time{},
		seconds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rail_job_seconds", Help: "Duration of a round of a job.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10, 60, 300},
		}, job),
		failed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "rail_job_failures_total", Help: "Failed rounds of a job.",
		}, job),
		last: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rail_job_last_success_timestamp_seconds", Help: "Time of a job's last successful round; before the first, of its start.",
		}, job),
		period: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rail_job_period_seconds", Help: "Time between the starts of two rounds of a job.",
		}, job),
	}
}

// Loop runs the job periodically until ctx ends. A failed round is retried by the next one.
func (r *Runner) Loop(ctx context.Context, j Job) {
	// A ticker drops ticks while a round runs, so that a slow job does not queue up.
	tick := time.NewTicker(j.Every)
	defer tick.Stop()
	for {
		r.Round(ctx, j)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Round runs the job once. It waits while the test clock moves.
func (r *Runner) Round(ctx context.Context, j Job) {
	r.moving.RLock()
	defer r.moving.RUnlock()
	r.round(ctx, j)
}

// alone calls do while no other round runs.
func (r *Runner) alone(ctx context.Context, do func() error) error {
	locked := make(chan struct{})
	go func() {
		r.moving.Lock()
		select {
		case locked <- struct{}{}:
		case <-ctx.Done():
			r.moving.Unlock()
		}
	}()
	select {
	case <-locked:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer r.moving.Unlock()
	return do()
}

// round is Round for a caller that has moving.
func (r *Runner) round(ctx context.Context, j Job) {
	r.begin(j)
	began := clock.Real()
	err := queue.Guard(func() error { return j.Run(ctx, r.clock.Now()) })
	if ctx.Err() != nil {
		return // stopping the server is not a failure
	}
	r.seconds.WithLabelValues(j.Name).Observe(time.Since(began).Seconds())
	r.outages.Note(j.Name, err)
	if r.Noted != nil {
		r.Noted(err)
	}
	if err != nil {
		r.failed.WithLabelValues(j.Name).Inc()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.success(j.Name)
}

// success records a success of a job. The caller holds mu.
func (r *Runner) success(job string) {
	now := r.clock.Now()
	r.succeeded[job] = now
	r.last.WithLabelValues(job).Set(float64(now.UnixMilli()) / 1000)
}

// begin records a job's first run, and creates its metrics, so that they exist before a failure.
func (r *Runner) begin(j Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.succeeded[j.Name]; ok {
		return
	}
	r.success(j.Name)
	r.failed.WithLabelValues(j.Name)
	r.period.WithLabelValues(j.Name).Set(j.Every.Seconds())
}

// Late returns how long a job has had no success, if that is at least ten of its periods and a minute; else 0. A
// job that does not run here is not late.
func (r *Runner) Late(j Job) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.succeeded[j.Name]
	if age := r.clock.Now().Sub(last.Time); ok && age > max(lateRounds*j.Every, leastLate) {
		return age
	}
	return 0
}
