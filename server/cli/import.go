package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/importer"
	origin "rail/server/inbound/importer/source"
	"rail/server/locale/currency"
	"rail/server/opt"
	"rail/server/work"
)

var hiddenImportKey = hidden{"--api-key", "RAIL_IMPORT_API_KEY"}

// importSources returns the names of the products to import from.
func importSources() []string { return append(origin.Names(), importer.CSV) }

// importInput has the flags of import.
type importInput struct {
	program, key, account, since, files, mapping string
	run, events                                  *bool
	used                                         usedColumns // is filled while files are read
}

// usedColumns are the headers that are read, by the kind of file and Rail's field.
type usedColumns map[origin.Kind]map[string]string

// table lists the columns in the order of the fields.
func (u usedColumns) table() (rows []string) {
	for _, kind := range origin.Kinds {
		if len(u[kind]) == 0 {
			continue
		}
		rows = append(rows, strings.ToUpper(string(kind))+" FIELD\tCOLUMN OF "+string(kind)+".csv")
		for _, f := range origin.Fields(kind) {
			if header, has := u[kind][f.Name]; has {
				rows = append(rows, f.Name+"\t"+header)
			}
		}
		rows = append(rows, "")
	}
	return rows
}

// importFrom starts an import, works on it until it is ready or done, and prints the report.
func importFrom(flags *pflag.FlagSet) action {
	var in importInput
	flags.StringVar(&in.program, "program", "", "`PROGRAM_ID` that gets the objects")
	flags.StringVar(&in.key, "api-key", "", "API `KEY` of the source; - reads it from standard input")
	flags.StringVar(&in.account, "account", "", "FirstPromoter's account `ID`, or Tolt's program id")
	flags.StringVar(&in.since, "since", "", "read only objects changed since a `DATE`, where the source can")
	flags.StringVar(&in.files, "files", "", "csv: `FOLDER` with partners.csv, links.csv, coupons.csv, customers.csv, sales.csv, "+
		"commissions.csv and payouts.csv, or some of them")
	flags.StringVar(&in.mapping, "mapping", "", "csv: JSON `FILE` with the headers of each file by Rail's fields")
	in.run = toggle(flags, "run", "write at once, without stopping at the report")
	in.events = toggle(flags, "emit-events", "send events for imported objects")
	return func(ctx context.Context, env *Env, args []string) error {
		in := in
		name := args[0]
		switch {
		case !slices.Contains(importSources(), name):
			return usagef("there is no source %q%s", name, suggestion("", name, importSources()))
		case in.program == "":
			return usagef("--program is needed")
		case name == importer.CSV && in.files == "":
			return usagef("--files is needed")
		case name != importer.CSV && in.files+in.mapping != "":
			return usagef("--files and --mapping are for the source csv")
		}
		return withDatabase(ctx, env, func(d *database) error {
			u, err := ofProgram(ctx, env, d, "import", in.program)
			if err != nil {
				return err
			}
			s := imports(env, d)
			in.used = usedColumns{}
			m, err := in.start(ctx, env, s, u, name)
			if err != nil {
				return err
			}
			return finishImport(ctx, env, d, s, m, in.used)
		})
	}
}

// imports returns the configured service for imports. No email is sent: the command itself shows the end.
func imports(env *Env, d *database) *importer.Service {
	return &importer.Service{
		Pool: d.pool, Keeper: d.keeper, Clock: env.Clock, Addresses: d.config.ImportURLs(),
	}
}

// start starts the import, with the rows of its files.
func (in importInput) start(ctx context.Context, env *Env, s *importer.Service, u *work.Unit,
	name string) (m db.Import, err error) {
	o := importer.Order{
		ProgramID: in.program, Source: name, DryRun: !*in.run, EmitEvents: *in.events, Open: name == importer.CSV,
	}
	if in.account != "" {
		o.Account = &in.account
	}
	if in.since != "" {
		since, _, err := clock.ParseDate(in.since)
		if err != nil {
			return m, usagef("--since %s", err)
		}
		o.Since = &since
	}
	if name != importer.CSV {
		key, err := hiddenImportKey.read(env, env.input(), in.key)
		if err != nil {
			return m, err
		}
		if key == "" {
			return m, usagef("--api-key or RAIL_IMPORT_API_KEY is needed")
		}
		o.Key = &key
	}
	err = u.Within(ctx, func(u *work.Unit) (err error) {
		m, err = s.Start(ctx, u, o)
		return err
	})
	if err != nil || !o.Open {
		return m, err
	}
	if err := in.fill(ctx, s, u, m); err != nil {
		return m, errors.Join(err, u.Within(context.WithoutCancel(ctx), func(u *work.Unit) error {
			return s.Abandon(ctx, u, m.ID, err.Error())
		}))
	}
	return m, nil
}

// fill stores the rows of the files of a folder.
func (in importInput) fill(ctx context.Context, s *importer.Service, u *work.Unit, m db.Import) error {
	program, err := u.Program(ctx, in.program)
	if err != nil {
		return err
	}
	reader := origin.CSV{Currency: program.Currency, Now: u.Now, Zone: clock.StoredZone(program.TimeZone)}
	if in.mapping != "" {
		text, err := os.ReadFile(in.mapping)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &reader.Mapping); err != nil {
			return fmt.Errorf("%s: %w", in.mapping, err)
		}
	}
	found := false
	for _, kind := range origin.Kinds {
		name := filepath.Join(in.files, string(kind)+".csv")
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		found = true
		if _, in.used[kind], err = reader.Headers(kind, file); err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err == nil {
			err = fillFrom(ctx, s, u, m, reader, kind, file)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if !found {
		return fmt.Errorf("%s has no partners.csv, links.csv, coupons.csv, customers.csv, sales.csv, commissions.csv or payouts.csv",
			in.files)
	}
	return u.Within(ctx, func(u *work.Unit) error { return s.Close(ctx, u, m.ID) })
}

// fillFrom stores the rows of a file.
func fillFrom(ctx context.Context, s *importer.Service, u *work.Unit, m db.Import, reader origin.CSV, kind origin.Kind,
	file *os.File) error {
	var rows []origin.Row
	add := func() error {
		some := rows
		rows = nil
		return u.Within(ctx, func(u *work.Unit) error { return s.Add(ctx, u, m.ID, some) })
	}
	for row, err := range reader.Rows(kind, file) {
		if err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) == importer.AddSize {
			if err := add(); err != nil {
				return err
			}
		}
	}
	return add()
}

// waitForServer is how long the command waits while a server works on the import.
const waitForServer = 500 * time.Millisecond

// finishImport works on an import until it is ready, done or undone, and prints it with the columns of its files.
func finishImport(ctx context.Context, env *Env, d *database, s *importer.Service, m db.Import, used usedColumns) error {
	for importer.Active(m) {
		if err := s.Work(ctx, env.Clock.Now()); err != nil && ctx.Err() == nil {
			env.progress.say("%s", err)
		}
		var err error
		if m, err = queries.ImportGet(ctx, d.pool, db.ImportGetParams{ID: m.ID, OrgID: m.OrgID}); err != nil {
			return err
		}
		step, done, all := importer.Progress(m)
		env.progress.say("%s: %s, %d of %d", m.ID, step, done, all)
		if importer.Active(m) {
			if err := clock.Wait(ctx, waitForServer); err != nil {
				return err
			}
		}
	}
	shown := printableImport(m)
	shown.Columns = used
	if err := env.print(shown, shown.table); err != nil {
		return err
	}
	if m.Status == db.ImportStatusFailed {
		return fmt.Errorf("the import failed: %s", *m.Error)
	}
	return nil
}

// printedImport is the JSON of an import.
type printedImport struct {
	ID            string             `json:"id"`
	Object        string             `json:"object"`
	ProgramID     string             `json:"program_id"`
	Source        string             `json:"source"`
	Status        string             `json:"status"`
	Counts        importer.Counts    `json:"counts"`
	Balances      []importer.Balance `json:"balances"`
	Groups        []importer.Group   `json:"groups"`
	ProblemsCount int64              `json:"problems_count"`
	Columns       usedColumns        `json:"columns,omitempty"` // only when the files are read
	Error         *string            `json:"error"`
	CreatedAt     clock.Time         `json:"created_at"`
	FinishedAt    *clock.Time        `json:"finished_at"`
}

func printableImport(m db.Import) printedImport {
	shown := printedImport{
		ID: m.ID, Object: "import", ProgramID: m.ProgramID, Source: m.Source, Status: string(m.Status),
		Counts: importer.CountsOf(m), ProblemsCount: m.ProblemsCount, Error: m.Error, CreatedAt: m.CreatedAt,
		FinishedAt: m.FinishedAt,
	}
	_ = json.Unmarshal(m.Balances, &shown.Balances) // written by the importer
	_ = json.Unmarshal(m.Groups, &shown.Groups)     // written by the importer
	return shown
}

func (p printedImport) table() []string {
	rows := append(p.Columns.table(), p.ID+"\t"+p.Source+"\t"+p.Status, "", "KIND\tREAD\tNEW\tSAME\tCHANGED\tREFUSED")
	for _, kind := range origin.Kinds {
		c := p.Counts[kind]
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d", kind, c.Read, c.New, c.Same, c.Changed, c.Refused))
	}
	if len(p.Balances) > 0 {
		rows = append(rows, "", "UNPAID\tAT THE SOURCE\tIN RAIL")
	}
	for _, b := range p.Balances {
		rows = append(rows, b.Currency+"\t"+currency.Decimal(b.SourceMinor, b.Currency)+"\t"+currency.Decimal(b.RailMinor, b.Currency))
	}
	if p.ProblemsCount > 0 {
		rows = append(rows, "", fmt.Sprintf("%d problems\trail imports problems %s", p.ProblemsCount, p.ID))
	}
	if p.Status == string(db.ImportStatusReady) {
		rows = append(rows, "", "Nothing is written yet\trail imports run "+p.ID)
	}
	return rows
}

// importByID returns the action of a command about one import.
func importByID(name string, do func(ctx context.Context, env *Env, d *database, u *work.Unit, m db.Import) error) action {
	return func(ctx context.Context, env *Env, args []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			m, err := queries.ImportAcrossOrgs(ctx, d.pool, args[0])
			if err != nil {
				return fmt.Errorf("there is no import %s: %w", args[0], err)
			}
			return do(ctx, env, d, byHand(env, d, name).For(m.OrgID), m)
		})
	}
}

// importRun writes a ready import.
func importRun(*pflag.FlagSet) action {
	return importByID("imports run", func(ctx context.Context, env *Env, d *database, u *work.Unit, m db.Import) error {
		s := imports(env, d)
		err := u.Within(ctx, func(u *work.Unit) (err error) { m, err = s.Run(ctx, u, m.ID); return err })
		if err != nil {
			return err
		}
		return finishImport(ctx, env, d, s, m, nil)
	})
}

// importUndo removes what an import created.
func importUndo(*pflag.FlagSet) action {
	return importByID("imports undo", func(ctx context.Context, env *Env, d *database, u *work.Unit, m db.Import) error {
		s := imports(env, d)
		err := u.Within(ctx, func(u *work.Unit) (err error) { m, err = s.Undo(ctx, u, m.ID); return err })
		if err != nil {
			return err
		}
		return finishImport(ctx, env, d, s, m, nil)
	})
}

// importShow prints an import.
func importShow(*pflag.FlagSet) action {
	return importByID("imports show", func(_ context.Context, env *Env, _ *database, _ *work.Unit, m db.Import) error {
		shown := printableImport(m)
		return env.print(shown, shown.table)
	})
}

// printedBalance is the JSON of a balance. Amounts are minor units.
type printedBalance struct {
	SourceID    string  `json:"source_id"`
	Email       *string `json:"email"`
	Currency    string  `json:"currency"`
	SourceMinor int64   `json:"source_minor"`
	RailMinor   int64   `json:"rail_minor"`
}

// importBalances lists the unpaid money of the partners of an import.
func importBalances(*pflag.FlagSet) action {
	return importByID("imports balances", func(ctx context.Context, env *Env, d *database, _ *work.Unit, m db.Import) error {
		all := []printedBalance{}
		p := db.ImportBalancesAfterParams{ImportID: m.ID, OrgID: m.OrgID, Lim: problemsPage}
		for {
			rows, err := queries.ImportBalancesAfter(ctx, d.pool, p)
			if err != nil {
				return err
			}
			for _, r := range rows {
				p.AfterID, p.AfterCurrency = r.SourceID, r.Currency
				all = append(all, printedBalance{r.SourceID, r.Email, r.Currency, r.SourceMinor, r.RailMinor})
			}
			if len(rows) < problemsPage {
				break
			}
		}
		return env.print(all, func() []string {
			rows := []string{"PARTNER\tEMAIL\tCURRENCY\tSOURCE\tRAIL"}
			for _, b := range all {
				rows = append(rows, strings.Join([]string{
					b.SourceID, opt.Value(b.Email), b.Currency, currency.Decimal(b.SourceMinor, b.Currency),
					currency.Decimal(b.RailMinor, b.Currency),
				}, "\t"))
			}
			return rows
		})
	})
}

// printedProblem is the JSON of a problem.
type printedProblem struct {
	Kind     string `json:"kind"`
	SourceID string `json:"source_id"`
	Code     string `json:"code"`
	Detail   string `json:"detail"`
}

// problemsPage is the number of problems that are read at once.
const problemsPage = 500

// importProblems lists the problems of an import.
func importProblems(*pflag.FlagSet) action {
	return importByID("imports problems", func(ctx context.Context, env *Env, d *database, _ *work.Unit, m db.Import) error {
		all := []printedProblem{}
		for after := ""; ; {
			rows, err := queries.ImportProblemsAfter(ctx, d.pool, db.ImportProblemsAfterParams{
				ImportID: m.ID, OrgID: m.OrgID, After: after, Lim: problemsPage,
			})
			if err != nil {
				return err
			}
			for _, r := range rows {
				after = r.ID
				all = append(all, printedProblem{r.Kind, r.SourceID, r.Code, r.Detail})
			}
			if len(rows) < problemsPage {
				break
			}
		}
		return env.print(all, func() []string {
			rows := []string{"KIND\tID AT THE SOURCE\tPROBLEM\tDETAIL"}
			for _, p := range all {
				rows = append(rows, strings.Join([]string{p.Kind, p.SourceID, p.Code, p.Detail}, "\t"))
			}
			return rows
		})
	})
}

// importHelp describes an import.
func importHelp() string {
	return `It reads everything from the source first, compares it with the program, and prints a report. Nothing is written until
rail imports run, or with --run. Running it again brings what changed at the source since; rail imports undo takes back what was
written. Links keep their parameters and values. No partner gets an email.
`
}
