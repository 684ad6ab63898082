package bar

import (
	"bytes"
	"context"
	"encoding/csv"
	"os/exec"
	"time"

	"rail/server/clock"
	"rail/server/jobs"
	"rail/server/locale/currency"
)

// exportRace runs exports, refunds, payments, deletions and batches at once. A file must agree with the books: no row of a
// payout that was reduced, was deleted or is not being paid. A file cannot be recalled, so later calls must yield.
func exportRace(ctx context.Context, fx *raceFixture) {
	partner, _, sale, _ := fx.newSale(ctx, fx.own["prg_"])
	fx.o.object(ctx, "/v1/partners/"+partner, M{"payout_method": "paypal"})
	batch := fx.o.object(ctx, "/v1/payout_batches", fx.batch(partner)).text("id")
	payout := fx.o.first(ctx, "/v1/payouts?program_id="+fx.own["prg_"]+"&partner_id="+partner)
	files := make([][][]string, racers)
	fx.run(ctx, func(i int) (string, string, any) {
		switch i % 8 {
		case 0, 5:
			files[i] = fx.export(ctx, i, batch)
			return "", "", nil
		case 1:
			return "POST", "/v1/sales/" + sale + "/refund", M{"amount_minor": 1000}
		case 2:
			return "POST", "/v1/payouts/" + payout + "/mark_paid", nil
		case 3:
			return "DELETE", "/v1/payouts/" + payout, nil
		}
		return "POST", "/v1/payout_batches", fx.batch(partner)
	})
	files = append(files, fx.export(ctx, 0, batch))
	// The last export is slower than any request of the race.
	fx.o.object(ctx, "/v1/sales/"+sale+"/refund", M{"amount_minor": 1000})
	for _, rows := range files {
		for _, row := range rows {
			p := fx.o.get(ctx, "/v1/payouts/"+row[3])
			leaving := p.text("status") == "processing" || p.text("status") == "paid"
			fx.must(leaving && currency.Decimal(p.int("amount_minor"), "USD") == row[1],
				"a file has %v of a payout that is %s", row, p.raw)
		}
	}
}

// export runs rail export and returns the rows of its file.
func (fx *raceFixture) export(ctx context.Context, i int, batch string) [][]string {
	p := fx.sys.processes[i%len(fx.sys.processes)]
	cmd := exec.CommandContext(ctx, p.binary, "payouts", "export", "--batch", batch, "--format", "paypal")
	var errs bytes.Buffer
	cmd.Env, cmd.Stderr = p.environ, &errs
	out, err := cmd.Output()
	if err != nil && ctx.Err() == nil {
		fx.sys.fault("the export ends with %v: %s", err, errs.String())
	}
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	fx.must(err == nil, "the file cannot be read: %v", err)
	return rows
}

// monthEnds runs the monthly batch on several servers, together with requests for batches and refunds. Every partner
// with a due balance must be in the batch once. The job gets the month's end as its time, and no other race uses the
// program.
func monthEnds(ctx context.Context, fx *raceFixture) {
	program := fx.o.createID(ctx, "/v1/programs", M{
		"name": "Month", "website_url": "https://month.example", "currency": "USD", "holding_period_days": 0,
		"auto_payouts_enabled": true,
	})
	fx.o.object(ctx, "/v1/flows", M{"program_id": program, "name": "All", "rate_type": "percent", "rate_value": 2000})
	var partners, sales []string
	for range 4 {
		partner, _, sale, _ := fx.newSale(ctx, program)
		partners, sales = append(partners, partner), append(sales, sale)
	}
	now := time.Now().UTC()
	later := clock.At(time.Date(now.Year(), now.Month()+1, 1, 0, 10, 0, 0, time.UTC))
	body := M{"program_id": program, "period_end": now.Format(time.RFC3339Nano)}
	fx.run(ctx, func(i int) (string, string, any) {
		switch i % 4 {
		case 0:
			for _, j := range jobs.All(jobs.Deps{Pool: fx.sys.pool, Clock: clock.System{}}) {
				if j.Name != "auto-payouts" {
					continue
				}
				if err := j.Run(ctx, later); err != nil && ctx.Err() == nil {
					fx.sys.fault("%s: %v", j.Name, err)
				}
			}
			return "", "", nil
		case 1:
			return "POST", "/v1/payout_batches", merged(body, M{"partner_id": partners[i/4]})
		case 2:
			return "POST", "/v1/sales/" + sales[i/4] + "/refund", M{"amount_minor": 1000}
		}
		return "POST", "/v1/payout_batches", body
	})
	for _, p := range partners {
		n := len(fx.o.get(ctx, "/v1/payouts?program_id="+program+"&partner_id="+p).data())
		fx.must(n == 1, "%d payouts of a partner at the month's end", n)
	}
}
