package scale

import (
	"context"
	"fmt"
	"time"

	"rail/server/clock"
	"rail/server/harness/dataset"
)

// step is the work of a job at a time, with a statement that counts the work, for a cost per row.
type step struct {
	name, job string
	after     time.Duration // the end of the dataset
	count     string        // of the largest program, $2, at the time $1
}

const day = 24 * time.Hour

// steps lists the steps in their order. The dataset ends with a month, and its
// approved commissions mature within the next.
var steps = []step{
	{
		"last month's payouts", "auto-payouts", time.Hour,
		"SELECT count(*) FROM payouts WHERE program_id = $2 AND created_at = $1",
	},
	{
		"half a month's commissions mature", "mature-commissions", 15 * day,
		"SELECT count(*) FROM commissions WHERE program_id = $2 AND status = 'due' AND updated_at = $1",
	},
	{
		"their balances", "fold-balances", 15 * day,
		"SELECT count(*) FROM commissions WHERE program_id = $2 AND status = 'due' AND updated_at = $1",
	},
	{
		"half a month's referrals expire", "expire-referrals", 15 * day,
		"SELECT count(*) FROM referrals WHERE program_id = $2 AND expires_at <= $1 AND expires_at > $1::timestamptz - interval '15 days'",
	},
	{
		"two days' reports", "sum-reports", day + 3*time.Hour,
		"SELECT count(*) FROM clicks WHERE program_id = $2 AND created_at > $1::timestamptz - interval '51 hours'",
	},
	{
		"payouts fall due", "payouts-due", 60 * day,
		"SELECT count(*) FROM payouts WHERE due_told AND status = 'pending' AND due_at <= $1 AND program_id = $2",
	},
	{
		"two days' events are removed", "clean-up", 4 * day,
		"SELECT count(*) * 2 / 26 FROM events WHERE program_id = $2 AND created_at <= $1",
	},
}

// jobs measures each job without work, and then the work of a month. It prints each figure at once,
// since some take minutes. The steps change the data, so each runs once, after all that
// only reads.
func (o Options) jobs(ctx context.Context, small, full *side) ([]Figure, error) {
	var out []Figure
	for i, j := range small.jobs {
		f, err := compareJobs(ctx, i, small, full, min(o.Rounds, 5))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.Name, err)
		}
		out = append(out, f)
		o.line(f, explained(f.Name))
	}
	// Off in the dataset, so that the idle jobs above find nothing to pay.
	for _, s := range []*side{small, full} {
		// The first step is that job's work.
		if _, err := s.pool.Exec(ctx, "UPDATE programs SET auto_payouts_enabled = true WHERE id = $1",
			dataset.ID("prg", 0)); err != nil {
			return nil, err
		}
	}
	for _, st := range steps {
		f, err := st.compare(ctx, small, full)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", st.name, err)
		}
		out = append(out, f)
		o.line(f, explained(f.Name))
	}
	return out, nil
}

// compareJobs measures a job without work, which is what every server does all day: the first round,
// which does not count, does what there is.
func compareJobs(ctx context.Context, i int, small, full *side, rounds int) (Figure, error) {
	var took [2][]time.Duration
	for range rounds + 1 {
		for k, s := range []*side{small, full} {
			began := time.Now()
			if err := s.jobs[i].Run(ctx, s.now); err != nil {
				return Figure{}, err
			}
			took[k] = append(took[k], time.Since(began))
		}
	}
	return Figure{
		Name: "job " + small.jobs[i].Name + ", nothing to do", Small: median(took[0][1:]), Full: median(took[1][1:]),
	}, nil
}

// compare runs the step on both sides.
func (st step) compare(ctx context.Context, small, full *side) (Figure, error) {
	f := Figure{Name: "job " + st.job + ": " + st.name}
	var err error
	if f.Small, f.SmallRows, err = st.run(ctx, small); err == nil {
		f.Full, f.Rows, err = st.run(ctx, full)
	}
	return f, err
}

// run runs the job of the step and returns its time, and how many rows it worked on.
func (st step) run(ctx context.Context, s *side) (took time.Duration, rows int64, err error) {
	at := clock.At(s.now.Add(st.after))
	for _, j := range s.jobs {
		if j.Name != st.job {
			continue
		}
		began := time.Now()
		if err := j.Run(ctx, at); err != nil {
			return 0, 0, err
		}
		took = time.Since(began)
	}
	// Steps name jobs by text; a renamed job must not pass as a fast one.
	if took == 0 {
		return 0, 0, fmt.Errorf("there is no job %s", st.job)
	}
	return took, rows, s.pool.QueryRow(ctx, st.count, at, dataset.ID("prg", 0)).Scan(&rows)
}
