// Package importer moves a program in from another product. An import reads everything from the source into its rows,
// compares the rows with Rail and reports what it would write; then it writes exactly that. Each step is a batch in one
// transaction that also stores the import's place, so that another server can continue after a crash. An import can be
// repeated, which writes what changed at the source, and undone (decisions, 340 to 343).
package importer

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/inbound/importer/source"
	"rail/server/locale/plain"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

var queries = db.New()

// Service runs imports. Addresses replace the addresses of sources, by their names.
type Service struct {
	Pool      *pgxpool.Pool
	Keeper    *secret.Keeper
	Clock     clock.Clock
	Addresses map[string]string
	Mail      *mail.Outbox // may be nil

	mu     sync.Mutex
	opened map[string][]source.List // by import
}

// CSV is the name of the source that reads files.
const CSV = "csv"

// Order is an import to start. A CSV import has rows instead of a key; with Open, more rows follow by Add, and Close
// ends them.
type Order struct {
	ProgramID, Source  string
	Key, Account       *string
	Since              *clock.Time
	DryRun, EmitEvents bool
	Rows               []source.Row
	Open               bool
}

// place is the position of an import. Its members are those of the phase.
type place struct {
	Phase  phase      `json:"phase"`
	List   int        `json:"list,omitempty"` // of the source, or of the imports to undo
	Name   string     `json:"name,omitempty"` // of that list
	Cursor string     `json:"cursor,omitempty"`
	Kind   int        `json:"kind,omitempty"` // position in the phase's order of kinds
	At     clock.Time `json:"at,omitzero"`    // of the last row
	ID     string     `json:"id,omitempty"`
	Done   int64      `json:"done,omitempty"`   // rows of the list or kind that are done
	Lines  int64      `json:"lines,omitempty"`  // rows of the uploaded file that are stored
	Began  clock.Time `json:"began,omitzero"`   // the phase, for its speed
	Undone string     `json:"undone,omitempty"` // ids of the imports to undo, separated by spaces
	// Version is the version of the program's imports that a finished report is about.
	Version int64 `json:"version,omitempty"`
}

// phase is a part of an import.
type phase string

const (
	filling  phase = "fill" // files are still being added
	parsing  phase = "sort" // uploaded files are being read
	reading  phase = "read"
	planning phase = "plan"
	summing  phase = "sum"
	writing  phase = "write"
	tidying  phase = "tidy"
	undoing  phase = "undo"
)

// Count has the numbers of objects of a kind.
type Count struct {
	Read    int64 `json:"read"`
	New     int64 `json:"new"`
	Same    int64 `json:"same"`
	Changed int64 `json:"changed"`
	Refused int64 `json:"refused"`
}

// Counts has the numbers of all kinds.
type Counts map[source.Kind]*Count

// of returns the count of a kind.
func (c Counts) of(kind source.Kind) *Count {
	if c[kind] == nil {
		c[kind] = &Count{}
	}
	return c[kind]
}

// Balance is the unpaid money of one currency, in minor units: at the source and of imported commissions.
type Balance struct {
	Currency    string `json:"currency"`
	SourceMinor int64  `json:"source_minor"`
	RailMinor   int64  `json:"rail_minor"`
}

// Group is a group of the source. GroupID is that of the same name in Rail, or empty. Rate is the most frequent rate of
// its commissions in hundredths of a percent; 0 is none.
type Group struct {
	Name     string `json:"name"`
	Partners int64  `json:"partners"`
	GroupID  string `json:"group_id,omitempty"`
	Rate     int64  `json:"rate,omitempty"`
}

// family names the account at the source whose ids an import has.
func family(m db.Import) string {
	if m.SourceAccount == nil {
		return m.Source
	}
	return m.Source + " " + *m.SourceAccount
}

// Place returns the place for sealing the key of an import.
func Place(id string) string { return "imports.api_key/" + id }

// Start stores a new import; the job reads it.
func (s *Service) Start(ctx context.Context, u *work.Unit, o Order) (db.Import, error) {
	if err := o.check(); err != nil {
		return db.Import{}, err
	}
	if err := s.checkNoneActive(ctx, u, o.ProgramID); err != nil {
		return db.Import{}, err
	}
	p := place{Phase: reading, Began: u.Now}
	switch {
	case o.Open:
		p.Phase = filling
	case o.Source == CSV:
		p.Phase = planning
	}
	m := db.Import{
		ID: u.NewID(ident.Import), OrgID: u.OrgID, ProgramID: o.ProgramID, Source: o.Source, SourceAccount: o.Account,
		Since: o.Since, DryRun: o.DryRun, EmitEvents: o.EmitEvents, Status: db.ImportStatusReading, Place: encode(p),
		Counts: []byte("{}"), Balances: []byte("[]"), Groups: []byte("[]"), Params: []string{}, CreatedAt: u.Now,
		UpdatedAt: u.Now,
	}
	if u.Actor.User != "" {
		m.UserID = &u.Actor.User
	}
	if o.Key != nil {
		sealed, err := s.Keeper.Seal([]byte(*o.Key), Place(m.ID))
		if err != nil {
			return m, err
		}
		m.APIKey = sealed
	}
	if err := queries.ImportInsert(ctx, u.Tx, db.ImportInsertParams(m)); err != nil {
		return m, err
	}
	if err := audit(ctx, u, m, "import.started"); err != nil {
		return m, err
	}
	if len(o.Rows) == 0 {
		return m, nil
	}
	return s.store(ctx, u, m, o.Rows, p)
}

// check refuses an order without the access that its source needs.
func (o Order) check() error {
	product, ok := source.Find(o.Source)
	switch {
	case o.Source == CSV && o.Key != nil:
		return problem.Invalid("api_key", "api_key does not belong to files; leave it out.")
	case o.Source == CSV && len(o.Rows) == 0 && !o.Open:
		return problem.Invalid("files", "files has no rows.")
	case o.Source == CSV:
		return nil
	case !ok:
		return problem.Invalid("source", "source must be one of the products that can be imported.")
	case o.Key == nil:
		return problem.On("api_key", problem.ParameterMissing, "api_key is required to read from %s.", product.Title)
	case len(o.Rows) > 0:
		return problem.Invalid("files", "files belong to the source csv.")
	case product.NeedsAccount && o.Account == nil:
		return problem.On("source_account", problem.ParameterMissing, "source_account is required to read from %s.",
			product.Title)
	}
	return nil
}

// checkNoneActive refuses a second import of a program at a time, and a program that does not exist.
func (s *Service) checkNoneActive(ctx context.Context, u *work.Unit, programID string) error {
	if _, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: programID, OrgID: u.OrgID}); err != nil {
		return work.Found(err, "program_id")
	}
	id, err := queries.ImportActive(ctx, u.Tx, db.ImportActiveParams{ProgramID: programID, OrgID: u.OrgID})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	m, p, err := idle(ctx, u, id)
	if err != nil {
		return err
	}
	if p.Phase == filling && m.UpdatedAt.Before(u.Now.Add(-otherWait)) {
		return s.Abandon(ctx, u, id, "Its files were not completed.")
	}
	return problem.New(problem.ImportActive, "The import %s of the program is running; wait for its end.", id)
}

// Add adds rows to an import of files that is being filled.
func (s *Service) Add(ctx context.Context, u *work.Unit, id string, rows []source.Row) error {
	m, p, err := idle(ctx, u, id)
	if err != nil {
		return err
	}
	if p.Phase != filling {
		return problem.New(problem.ImportNotReady, "The import takes no more rows.")
	}
	_, err = s.store(ctx, u, m, rows, p)
	return err
}

// Close ends the rows and uploaded files of an import of files; the job reads the files, and compares the rows.
func (s *Service) Close(ctx context.Context, u *work.Unit, id string) error {
	m, p, err := idle(ctx, u, id)
	if err != nil || p.Phase != filling {
		return err
	}
	m.BusyUntil = nil
	files, err := s.Files(ctx, u, id)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return save(ctx, u, m, place{Phase: parsing, Began: u.Now})
	}
	return save(ctx, u, m, place{Phase: planning, Began: u.Now})
}

// otherWait is how long an import waits for its rows, files and columns until another import of the program may end it.
const otherWait = 15 * time.Minute

// Abandon ends an import whose files cannot be completed.
func (s *Service) Abandon(ctx context.Context, u *work.Unit, id, why string) error {
	m, p, err := lock(ctx, u, id)
	if err != nil || p.Phase != filling {
		return err
	}
	err = queries.ImportSaveFailure(ctx, u.Tx, db.ImportSaveFailureParams{
		Status: db.ImportStatusFailed, Error: new(plain.Short(why, maxError)), Attempts: m.Attempts, FinishedAt: &u.Now,
		UpdatedAt: u.Now, ID: m.ID, OrgID: m.OrgID,
	})
	if err != nil {
		return err
	}
	return queries.ImportFilesDelete(ctx, u.Later(), db.ImportFilesDeleteParams{ImportID: m.ID, OrgID: m.OrgID})
}

// Run makes the job write a ready import.
func (s *Service) Run(ctx context.Context, u *work.Unit, id string) (db.Import, error) {
	m, p, err := idle(ctx, u, id)
	if err != nil {
		return m, err
	}
	if m.Status != db.ImportStatusReady {
		return m, problem.New(problem.ImportNotReady, "The import is %s; only a ready import can be written.", m.Status)
	}
	if err := s.checkNoneActive(ctx, u, m.ProgramID); err != nil {
		return m, err
	}
	if err := checkReport(ctx, u, m, p); err != nil {
		return m, err
	}
	m.Status = db.ImportStatusWriting
	if err := audit(ctx, u, m, "import.run"); err != nil {
		return m, err
	}
	return m, save(ctx, u, m, place{Phase: writing, Began: u.Now})
}

// auditRecord is an import in the audit log.
type auditRecord struct {
	Source     string `json:"source"`
	DryRun     bool   `json:"dry_run"`
	EmitEvents bool   `json:"emit_events"`
}

// audit writes an entry of the audit log about an import.
func audit(ctx context.Context, u *work.Unit, m db.Import, action string) error {
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: m.ProgramID, Action: action, TargetID: m.ID, After: auditRecord{m.Source, m.DryRun, m.EmitEvents},
	})
}

// ReportLife is how long a report can be written.
const ReportLife = 7 * 24 * time.Hour

// checkReport refuses a report that is old, or from before another import of the program was written.
func checkReport(ctx context.Context, u *work.Unit, m db.Import, p place) error {
	n, err := queries.ImportsVersion(ctx, u.Tx, db.ImportsVersionParams{ProgramID: m.ProgramID, OrgID: m.OrgID})
	if err != nil || n == p.Version && u.Now.Before(m.UpdatedAt.Plus(ReportLife).Time) {
		return err
	}
	return problem.New(problem.ImportNotReady,
		"The report is out of date, because it is a week old or another import was written since; start the import again.")
}

// Undo makes the job remove what an import and later imports of the same source wrote.
func (s *Service) Undo(ctx context.Context, u *work.Unit, id string) (db.Import, error) {
	m, _, err := idle(ctx, u, id)
	if err != nil {
		return m, err
	}
	if m.Status != db.ImportStatusDone && m.Status != db.ImportStatusFailed {
		return m, problem.New(problem.ImportNotReady,
			"The import is %s; only an import that is done or has failed can be undone.", m.Status)
	}
	if err := s.checkNoneActive(ctx, u, m.ProgramID); err != nil {
		return m, err
	}
	imports, err := importsToUndo(ctx, u, m)
	if err != nil {
		return m, err
	}
	m.Status, m.Error, m.FinishedAt = db.ImportStatusUndoing, nil, nil
	if err := audit(ctx, u, m, "import.undone"); err != nil {
		return m, err
	}
	return m, save(ctx, u, m, place{Phase: undoing, Began: u.Now, Undone: strings.Join(imports, " ")})
}

// idle locks an import of the unit's programs, and returns its place. An import that the job works on, which a batch
// locks for seconds, is only read.
func idle(ctx context.Context, u *work.Unit, id string) (m db.Import, p place, err error) {
	if m, err = queries.ImportGet(ctx, u.Tx, db.ImportGetParams{ID: id, OrgID: u.OrgID}); err != nil {
		return m, p, work.Found(err, "")
	}
	if p = placeOf(m); !Active(m) || p.Phase == filling {
		return lock(ctx, u, id)
	}
	return m, p, u.CheckProgram(m.ProgramID)
}

// lock locks an import of the unit's programs, and returns its place.
func lock(ctx context.Context, u *work.Unit, id string) (m db.Import, p place, err error) {
	if m, err = queries.ImportLock(ctx, u.Tx, db.ImportLockParams{ID: id, OrgID: u.OrgID}); err != nil {
		return m, p, work.Found(err, "")
	}
	if err = u.CheckProgram(m.ProgramID); err != nil {
		return m, p, err
	}
	return m, p, json.Unmarshal(m.Place, &p)
}

// save writes an import's progress and its new place. Success ends a series of failures.
func save(ctx context.Context, u *work.Unit, m db.Import, p place) error {
	m.Place = encode(p)
	if m.Status != db.ImportStatusFailed {
		m.Attempts, m.Error = 0, nil
	}
	if !Active(m) {
		m.BusyUntil = nil
	}
	return queries.ImportSave(ctx, u.Later(), db.ImportSaveParams{
		Status: m.Status, Place: m.Place, Counts: m.Counts, Balances: m.Balances, Groups: m.Groups,
		ProblemsCount: m.ProblemsCount, Params: m.Params, Error: m.Error, Attempts: m.Attempts, BusyUntil: m.BusyUntil,
		DryRun: m.DryRun, UpdatedAt: u.Now, FinishedAt: m.FinishedAt,
		KeepsKey: p.Phase == reading && m.Status == db.ImportStatusReading, ID: m.ID, OrgID: m.OrgID,
	})
}

// Active reports whether the job has work with an import.
func Active(m db.Import) bool {
	return m.Status == db.ImportStatusReading || m.Status == db.ImportStatusWriting || m.Status == db.ImportStatusUndoing
}

// CountsOf returns the counts of an import.
func CountsOf(m db.Import) Counts {
	c := Counts{}
	_ = json.Unmarshal(m.Counts, &c) // written by encode
	for _, kind := range source.Kinds {
		c.of(kind)
	}
	return c
}

// encode returns the JSON of a value that always has one.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("importer: " + err.Error())
	}
	return text
}

// Progress describes the current step, with the rows that are done and all rows; all is 0 while reading.
func Progress(m db.Import) (step string, done, all int64) {
	var p place
	_ = json.Unmarshal(m.Place, &p) // written by encode
	kindOf := func(kinds []int) source.Kind { return name(kinds[min(p.Kind, len(kinds)-1)]) }
	counts := CountsOf(m)
	if !Active(m) {
		return string(m.Status), 0, 0
	}
	switch p.Phase {
	case filling:
		return "reading files", 0, 0
	case reading, parsing:
		return "reading " + p.Name, p.Done, 0
	case planning:
		kind := kindOf(planned)
		return "comparing " + string(kind), p.Done, counts.of(kind).Read
	case summing:
		return "adding up", 0, 0
	case writing:
		kind := kindOf(written)
		return "writing " + string(kind), p.Done, counts.of(kind).Read
	case tidying:
		return "tidying up", 0, 0
	case undoing:
		return "undoing " + string(kindOf(undone)), p.Done, 0
	}
	return string(m.Status), 0, 0
}

// Pace has the objects that the whole phase of an import has handled, all objects of it (0 if that is not known), and
// when it began.
type Pace struct {
	Done, All int64
	Began     clock.Time
}

// PaceOf returns the pace of an import that the job works on.
func PaceOf(m db.Import) Pace {
	p, counts := placeOf(m), CountsOf(m)
	pace := Pace{Began: p.Began, Done: p.Done}
	var kinds []int
	switch p.Phase {
	case filling, parsing, reading:
		pace.Done = 0
		for _, c := range counts {
			pace.Done += c.Read
		}
		return pace
	case planning:
		kinds = planned
	case writing:
		kinds = written
	case summing, tidying, undoing:
		return pace
	}
	for i, kind := range kinds {
		read := counts.of(name(kind)).Read
		pace.All += read
		if i < p.Kind {
			pace.Done += read
		}
	}
	return pace
}

// pause is the least time between two batches that write, so that an import uses at most about half of one connection.
const pause = 2 * time.Millisecond
