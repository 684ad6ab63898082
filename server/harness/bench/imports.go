package bench

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/process"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/secret"
	"rail/server/work"
)

// ImportOptions selects the size of an import, and the sales a second that others record meanwhile.
type ImportOptions struct {
	Partners, Commissions, Rate int
	Out                         io.Writer
}

// alone is how long the sales are measured without an import.
const alone = 20 * time.Second

// Import measures an import by the binary: the time of its phases, the memory of the server, and how long the sales of
// other programs take before it and meanwhile.
func Import(ctx context.Context, o ImportOptions) (err error) {
	b := &bench{Options: Options{Out: o.Out}, size: newSize(partners)}
	if b.db, err = NewDatabase(ctx, ""); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.db.Close()) }()
	if err := fill(ctx, b.db.DSN, b.size); err != nil {
		return err
	}
	if b.config, err = config.Load(map[string]string{"RAIL_DATA_DIR": filepath.Join(b.db.dir, "rail")}); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, b.db.DSN)
	if err != nil {
		return err
	}
	defer pool.Close()
	if b.key, err = newKey(ctx, b.config, pool); err != nil {
		return err
	}
	rail := filepath.Join(b.db.dir, "binary")
	if err := process.Build(ctx, rail); err != nil {
		return err
	}
	p, _, err := launch(ctx, rail, b.db.dir, "RAIL_DATABASE_URL="+b.db.DSN, "RAIL_SECRET_KEY="+
		hex.EncodeToString(b.config.SecretKey[:]))
	if err != nil {
		return err
	}
	err = b.beside(ctx, o, p.addr, pool)
	if peak, failed := process.PeakMemory(p.cmd.Process.Pid); failed == nil {
		fmt.Fprintf(o.Out, "memory of the server: at most %d MiB resident\n", peak)
	}
	return errors.Join(err, p.end())
}

// beside measures sales alone, then an import with the same sales beside it.
func (b *bench) beside(ctx context.Context, o ImportOptions, addr string, pool *pgxpool.Pool) error {
	for _, during := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"alone", func(ctx context.Context) error { return clock.Wait(ctx, alone) }},
		{"beside the import", func(ctx context.Context) error { return b.imported(ctx, o, pool) }},
	} {
		sales, stop := context.WithCancel(ctx)
		var took []time.Duration
		var failed error
		var load sync.WaitGroup
		load.Go(func() { took, failed = b.sell(sales, addr, o.Rate) })
		err := during.do(ctx)
		stop()
		load.Wait()
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		slices.Sort(took)
		at := func(share float64) string { return milliseconds(took[int(share*float64(len(took)-1))]) }
		fmt.Fprintf(o.Out, "sales %s: %d, median %s, p95 %s, p99 %s, longest %s ms\n", during.name, len(took), at(.5),
			at(.95), at(.99), at(1))
	}
	return nil
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }

// sellers are the connections that record sales.
const sellers = 10

// sell records sales at a rate until ctx ends, and returns how long each took.
func (b *bench) sell(ctx context.Context, addr string, rate int) ([]time.Duration, error) {
	var all sync.WaitGroup
	took, failed := make([][]time.Duration, sellers), make([]error, sellers)
	for i := range sellers {
		all.Go(func() { took[i], failed[i] = b.seller(ctx, addr, time.Second*sellers/time.Duration(rate), int64(i)) })
	}
	all.Wait()
	return slices.Concat(took...), errors.Join(failed...)
}

// seller records a sale each interval. The time of each counts from when it was due, so that a sale that waits for an
// earlier one counts its wait.
func (b *bench) seller(ctx context.Context, addr string, interval time.Duration, number int64) (
	took []time.Duration, err error,
) {
	c, err := dial(addr, b.key)
	if err != nil {
		return nil, err
	}
	defer c.close()
	random, fresh := rand.New(rand.NewPCG(1, uint64(number))), time.Now().UnixMicro()
	due := time.Now().Add(interval * time.Duration(number) / sellers)
	for n := int64(0); ; n++ {
		due = due.Add(interval)
		if err := clock.Wait(ctx, time.Until(due)); err != nil {
			return took, nil // the end
		}
		d := pickCustomer(b.size, random)
		d.Fresh = fresh + n*sellers + number
		if err := c.do(askSale(d)); err != nil {
			return took, err
		}
		took = append(took, time.Since(due))
	}
}

// imported hands the rows of an import to the server, and waits until it is done.
func (b *bench) imported(ctx context.Context, o ImportOptions, pool *pgxpool.Pool) error {
	keeper, err := secret.New(b.config.SecretKey)
	if err != nil {
		return err
	}
	service := &importer.Service{Pool: pool, Keeper: keeper, Clock: clock.System{}}
	within := func(do func(*work.Unit) error) error {
		return work.NewRun(pool, work.Actor{Kind: work.Operator, ID: "bench"}, clock.System{}.Now()).For(org).Within(ctx, do)
	}
	var m db.Import
	if err := within(func(u *work.Unit) (err error) {
		m, err = service.Start(ctx, u, importer.Order{ProgramID: id("prg", programBase), Source: importer.CSV, Open: true})
		return err
	}); err != nil {
		return err
	}
	began := time.Now()
	rows := o.rows(clock.System{}.Now())
	for part := range slices.Chunk(rows, importer.AddSize) {
		if err := within(func(u *work.Unit) error { return service.Add(ctx, u, m.ID, part) }); err != nil {
			return err
		}
	}
	if err := within(func(u *work.Unit) error { return service.Close(ctx, u, m.ID) }); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "import: %d rows stored in %.0f s\n", len(rows), time.Since(began).Seconds())
	return b.watchImport(ctx, pool, m.ID)
}

// watchImport prints the time of each phase until the import is done with equal balances.
func (b *bench) watchImport(ctx context.Context, pool *pgxpool.Pool, importID string) error {
	phase, since := "", time.Now()
	for {
		m, err := db.New().ImportGet(ctx, pool, db.ImportGetParams{ID: importID, OrgID: org})
		if err != nil {
			return err
		}
		if name, _, _ := importer.Progress(m); name != phase {
			if phase != "" {
				fmt.Fprintf(b.Out, "import: %s in %.0f s\n", phase, time.Since(since).Seconds())
			}
			phase, since = name, time.Now()
		}
		switch m.Status {
		case db.ImportStatusFailed:
			return fmt.Errorf("the import failed: %v", m.Error)
		case db.ImportStatusDone:
			var sums []importer.Balance
			if err := json.Unmarshal(m.Balances, &sums); err != nil {
				return err
			}
			if len(sums) != 1 || sums[0].SourceMinor != sums[0].RailMinor || m.ProblemsCount > 0 {
				return fmt.Errorf("the balances are %+v, with %d problems", sums, m.ProblemsCount)
			}
			return nil
		}
		if err := clock.Wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

// rows returns partners with their customers, who each have five sales with commissions; most are paid.
func (o ImportOptions) rows(now clock.Time) (rows []source.Row) {
	for i := range o.Partners {
		p := fmt.Sprintf("p%d", i)
		joined := now.Days(int64(-700 - i%30))
		rows = append(rows, source.Row{Kind: source.KindPartner, ID: p, Partner: &source.Partner{
			Email: p + "@imported.example", Status: source.Active, CreatedAt: joined,
		}}, source.Row{Kind: source.KindLink, ID: "l" + p, Link: &source.Link{
			PartnerID: p, Param: "via", Value: "friend-" + p, URL: shop + "/", CreatedAt: joined,
		}})
	}
	for n := range o.Commissions {
		p, c := fmt.Sprintf("p%d", n/5%o.Partners), fmt.Sprintf("c%d", n/5)
		lead := now.Days(int64(-600 + n/5%300))
		if n%5 == 0 {
			rows = append(rows, source.Row{Kind: source.KindCustomer, ID: c, Customer: &source.Customer{
				PartnerID: p, ExternalIDs: []string{"imported_" + c}, LinkID: "l" + p, Status: source.Paying, LeadAt: lead,
				ConvertedAt: &lead, CreatedAt: lead,
			}})
		}
		at := lead.Days(int64(n % 5 * 30))
		k := source.Commission{
			PartnerID: p, CustomerID: c, SaleID: fmt.Sprintf("s%d", n), AmountMinor: 900, Currency: "USD", Status: source.Due,
			CreatedAt: at,
		}
		if n%5 < 4 {
			paid := at.Days(40)
			k.Status, k.PaidAt = source.Paid, &paid
		}
		rows = append(rows, source.Row{Kind: source.KindSale, ID: k.SaleID, Sale: &source.Sale{
			CustomerID: c, PartnerID: p, ChargeID: "imported_" + k.SaleID, AmountMinor: 3000, Currency: "USD", Recurring: true,
			OccurredAt: at,
		}}, source.Row{Kind: source.KindCommission, ID: fmt.Sprintf("k%d", n), Commission: &k})
	}
	return rows
}
