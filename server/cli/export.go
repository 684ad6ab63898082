package cli

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/handlers"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
	"rail/server/work/event"
)

const (
	// overlap is how long before an export's position changes are written again: a change may become visible some time
	// after its own time.
	overlap = time.Hour
	// eventsPage is the number of events that an export reads at once.
	eventsPage = 5000
)

// exported is the manifest of an export, and its JSON.
type exported struct {
	Object     string     `json:"object"`
	Rail       string     `json:"rail"`
	ProgramID  string     `json:"program_id"`
	ExportedAt clock.Time `json:"exported_at"`
	Format     string     `json:"format"`
	// Position is for the next export's --since: all events up to this number are in this one.
	Position int64 `json:"position"`
	Since    int64 `json:"since"`
	// Complete means that the files have all objects, not only changed ones.
	Complete bool              `json:"complete"`
	Files    []exportedFile    `json:"files"`
	Balances []exportedBalance `json:"balances"`
}

// exportedFile is a file with the number of its objects.
type exportedFile struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// exportedBalance is the sum of the partners' balances in a currency.
type exportedBalance struct {
	Currency     string `json:"currency"`
	PendingMinor int64  `json:"pending_minor"`
	DueMinor     int64  `json:"due_minor"`
	PaidMinor    int64  `json:"paid_minor"`
}

// exportProgram writes a program's objects into a folder.
func exportProgram(fs *pflag.FlagSet) action {
	program := fs.String("program", "", "`PROGRAM_ID` to export")
	out := fs.String("out", "", "`FOLDER` for the files; it is created if there is none")
	format := fs.String("format", "csv", "csv or ndjson")
	since := fs.Int64("since", 0, "only objects that changed after `POSITION`, from the manifest of an earlier export")
	return func(ctx context.Context, env *Env, _ []string) error {
		switch {
		case *program == "":
			return usagef("--program is needed")
		case *out == "":
			return usagef("--out is needed")
		case *format != "csv" && *format != "ndjson":
			return usagef("--format must be csv or ndjson")
		case *since < 0:
			return usagef("--since must be the position of an export's manifest")
		}
		return withDatabase(ctx, env, func(d *database) error {
			u, err := ofProgram(ctx, env, d, "export", *program)
			if err != nil {
				return err
			}
			x := &exporter{
				in: db.Scope{ProgramID: *program, OrgID: u.OrgID}, folder: *out, say: env.progress.say,
				exported: exported{
					Object: "export", Rail: build(), ProgramID: *program, ExportedAt: env.Clock.Now(), Format: *format, Since: *since,
					Files: []exportedFile{}, Balances: []exportedBalance{},
				},
			}
			if err := x.run(ctx, d); err != nil {
				return err
			}
			return env.print(x.exported, x.table)
		})
	}
}

func (e exported) table() []string {
	rows := []string{"FILE\tOBJECTS"}
	for _, f := range e.Files {
		rows = append(rows, fmt.Sprintf("%s\t%d", f.Name, f.Rows))
	}
	return append(rows, "", fmt.Sprintf("The position is %d; rail export --since %d writes the changes after it.", e.Position, e.Position))
}

// exporter writes one export.
type exporter struct {
	exported
	in     db.Scope
	folder string
	say    func(format string, args ...any)
	tx     pgx.Tx
	files  []*exportFile
	// after is the time from which objects have changed, and changed has the hashes of the ids that events name.
	after   clock.Time
	changed map[uint64]bool
	seed    maphash.Seed
}

// run writes all files from one snapshot. Without success, files of an earlier export stay.
func (x *exporter) run(ctx context.Context, d *database) (err error) {
	all, err := handlers.New(handlers.Options{BaseURL: d.config.BaseURL, ShortURL: d.config.ShortURL}).Exports()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(x.folder, 0o700); err != nil {
		return err
	}
	// Events below the horizon are in every later snapshot.
	h, err := event.ReadHorizon(ctx, d.pool)
	if err != nil {
		return err
	}
	x.Position = h.Lowest() - 1
	if x.Since > x.Position {
		return fmt.Errorf("--since %d is after the last event, %d: the position is from another database", x.Since, x.Position)
	}
	if x.tx, err = d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
		return err
	}
	defer func() { _ = x.tx.Rollback(context.WithoutCancel(ctx)) }() // it only reads
	if _, err := x.tx.Exec(ctx, pgtx.Unhurried); err != nil {
		return err
	}
	if err := queries.PlanForValues(ctx, x.tx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			x.discard()
		}
	}()
	if err := x.changes(ctx); err != nil {
		return err
	}
	for _, e := range all {
		if err := x.write(ctx, e); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	if err := x.sum(ctx); err != nil {
		return err
	}
	return x.keep()
}

// changes reads the events since the position of the earlier export, and writes the deleted objects. Without an older
// event, the months of missing ones may have been dropped, and everything is written.
func (x *exporter) changes(ctx context.Context) error {
	deleted, err := x.create("deleted.ndjson")
	if err != nil {
		return err
	}
	x.Complete = x.Since == 0
	if !x.Complete {
		at, err := queries.EventTime(ctx, x.tx, db.EventTimeParams{OrgID: x.in.OrgID, Seq: x.Since})
		if x.Complete = errors.Is(err, pgx.ErrNoRows); err != nil && !x.Complete {
			return err
		}
		x.after = at.Plus(-overlap)
	}
	if x.Complete {
		return nil
	}
	x.changed, x.seed = map[uint64]bool{}, maphash.MakeSeed()
	for after := x.Since; ; {
		rows, err := queries.EventSubjects(ctx, x.tx, db.EventSubjectsParams{
			OrgID: x.in.OrgID, ProgramID: x.in.ProgramID, AfterSeq: after, Lim: eventsPage,
		})
		if err != nil {
			return err
		}
		for _, e := range rows {
			after = e.Seq
			x.changed[maphash.String(x.seed, e.SubjectID)] = true
			if object := objectOf(e.SubjectID); object != "" && strings.HasSuffix(e.Type, ".deleted") {
				line := deletion{object, e.SubjectID, e.CreatedAt, e.Seq}
				if err := deleted.object(line); err != nil {
					return err
				}
			}
		}
		if len(rows) < eventsPage {
			return nil
		}
	}
}

// deletion is a line of deleted.ndjson.
type deletion struct {
	Object    string     `json:"object"`
	ID        string     `json:"id"`
	DeletedAt clock.Time `json:"deleted_at"`
	Seq       int64      `json:"seq"`
}

// exportedObjects are the types of exported objects by the prefix of their ids.
var exportedObjects = map[ident.Prefix]string{
	ident.Partner: "partner", ident.Link: "link", ident.Coupon: "coupon", ident.Customer: "customer", ident.Sale: "sale",
	ident.Commission: "commission", ident.Payout: "payout",
}

// objectOf returns the type of an exported object by its id, "" for others.
func objectOf(id string) string {
	for prefix, object := range exportedObjects {
		if ident.Has(id, prefix) {
			return object
		}
	}
	return ""
}

// write writes the file of a list.
func (x *exporter) write(ctx context.Context, e handlers.Export) error {
	f, err := x.create(e.Name + "." + x.Format)
	if err != nil {
		return err
	}
	if x.Format == "csv" {
		if err := f.header(e.Columns); err != nil {
			return err
		}
	}
	return e.Read(ctx, x.tx, x.in, func(o handlers.Exported) error {
		if isNew, err := x.isNew(o); err != nil || !isNew {
			return err
		}
		if f.rows%10_000 == 9_999 {
			x.say("%s: %d", e.Name, f.rows+1)
		}
		if x.Format == "csv" {
			return f.row(o)
		}
		return f.object(o.Members)
	})
}

// isNew reports whether an object has changed since the earlier export.
func (x *exporter) isNew(o handlers.Exported) (bool, error) {
	if x.Complete {
		return true, nil
	}
	id, err := textOf(o, "id")
	if err != nil {
		return false, err
	}
	at, err := textOf(o, "updated_at")
	if err != nil {
		return false, err
	}
	changed, err := clock.Parse(at)
	return x.changed[maphash.String(x.seed, id)] || !changed.Before(x.after.Time), err
}

// sum adds the partners' balances by currency.
func (x *exporter) sum(ctx context.Context) error {
	sums, err := queries.BalanceTotals(ctx, x.tx, db.BalanceTotalsParams{ProgramID: x.in.ProgramID, OrgID: x.in.OrgID})
	for _, b := range sums {
		x.Balances = append(x.Balances, exportedBalance(b))
	}
	return err
}

// exportProgramHelp describes the files.
func exportProgramHelp() string {
	return `It writes groups, partners, links, coupons, customers, sales, commissions and payouts, each into a file with the fields of the
API, from one snapshot, and manifest.json with the counts, the balances and the position. Servers may run meanwhile. rail import
csv reads the CSV files. With --since, files have only objects that changed after that position, or up to an hour before it, and
deleted.ndjson lists deleted ones. The files contain personal data; only you can read them. /docs/guides/export has all columns.
`
}
