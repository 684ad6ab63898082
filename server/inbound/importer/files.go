package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/importer/source"
	"rail/server/locale/plain"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// PartSize bounds a part of an uploaded file, in bytes.
	PartSize = 1 << 20
	// MaxFiles bounds the files of an import.
	MaxFiles = 20
	// MaxUpload bounds their bytes together.
	MaxUpload = 32 << 20
	// fileWait is how long an import waits for its rows, files and columns. After otherWait, another import may end it.
	fileWait = 24 * time.Hour
	// AddSize bounds the rows of a file that are stored in one transaction.
	AddSize = 500
)

// File is an uploaded file of an import. Without a Mapping, headers are matched by meaning. A file without a Kind is
// left out.
type File struct {
	Number  int32
	Name    string
	Kind    source.Kind
	Mapping map[string]string
	Size    int64
}

// Upload adds a part of a file to an import that is being filled, in the order of parts.
func (s *Service) Upload(ctx context.Context, u *work.Unit, id string, f File, part int32, content []byte) error {
	m, err := filled(ctx, u, id)
	if err != nil {
		return err
	}
	return queries.ImportFilePut(ctx, u.Tx, db.ImportFilePutParams{
		ImportID: m.ID, OrgID: m.OrgID, ProgramID: m.ProgramID, File: f.Number, Part: part,
		Name: plain.Short(f.Name, maxName),
		Kind: string(f.Kind), Content: content,
	})
}

const maxName = 255

// filled locks an import that is being filled.
func filled(ctx context.Context, u *work.Unit, id string) (db.Import, error) {
	m, p, err := lock(ctx, u, id)
	if err == nil && (p.Phase != filling || m.Status != db.ImportStatusReading) {
		err = problem.New(problem.ImportNotReady, "The import takes no more files.")
	}
	return m, err
}

// Files lists the uploaded files of an import whose rows are not all read.
func (s *Service) Files(ctx context.Context, u *work.Unit, id string) ([]File, error) {
	rows, err := queries.ImportFiles(ctx, u.DB(), db.ImportFilesParams{ImportID: id, OrgID: u.OrgID})
	files := make([]File, len(rows))
	for i, r := range rows {
		files[i] = File{Number: r.File, Name: r.Name, Kind: source.Kind(r.Kind), Size: r.Size}
		if len(r.Mapping) > 0 {
			err = errors.Join(err, json.Unmarshal(r.Mapping, &files[i].Mapping))
		}
	}
	return files, err
}

// Head returns the beginning of a file.
func (s *Service) Head(ctx context.Context, u *work.Unit, id string, file int32) ([]byte, error) {
	return queries.ImportFilePart(ctx, u.DB(), db.ImportFilePartParams{ImportID: id, OrgID: u.OrgID, File: file, Part: 0})
}

// Assign sets the kind and the columns of a file.
func (s *Service) Assign(ctx context.Context, u *work.Unit, id string, f File) error {
	m, err := filled(ctx, u, id)
	if err != nil {
		return err
	}
	p := db.ImportFileAssignParams{Kind: string(f.Kind), ImportID: m.ID, OrgID: m.OrgID, File: f.Number}
	if f.Mapping != nil {
		p.Mapping = encode(f.Mapping)
	}
	n, err := queries.ImportFileAssign(ctx, u.Tx, p)
	if err == nil && n == 0 {
		err = problem.NotFound("")
	}
	if err != nil {
		return err
	}
	return queries.ImportTouch(ctx, u.Later(), db.ImportTouchParams{UpdatedAt: u.Now, ID: m.ID, OrgID: m.OrgID})
}

// Filling reports whether an import waits for files or their columns.
func Filling(m db.Import) bool {
	return m.Status == db.ImportStatusReading && placeOf(m).Phase == filling
}

// errFile is wrapped by the error about a file that cannot be read, which no later attempt changes.
var errFile = errors.New("the file")

// parse reads the rows of the next uploaded file, for at most a turn. The place has the lines of the file that are
// stored; they are read again to find the next one.
func (s *Service) parse(ctx context.Context, m db.Import, p place, now clock.Time) error {
	u := s.unit(m.OrgID, m.ID, now)
	files, err := s.Files(ctx, u, m.ID)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f File) bool { return f.Kind == "" })
	if p.List >= len(files) {
		return s.inUnit(ctx, m, now, func(u *work.Unit, m db.Import, at place) error {
			if at != p {
				return nil
			}
			err := queries.ImportFilesDelete(ctx, u.Later(), db.ImportFilesDeleteParams{ImportID: m.ID, OrgID: m.OrgID})
			if err != nil {
				return err
			}
			return save(ctx, u, m, place{Phase: planning, Began: u.Now})
		})
	}
	program, err := u.Program(ctx, m.ProgramID)
	if err != nil {
		return err
	}
	f := files[p.List]
	reader := source.CSV{
		Currency: program.Currency, Now: m.CreatedAt, Zone: clock.StoredZone(program.TimeZone),
	}
	if f.Mapping != nil {
		reader.Mapping = map[source.Kind]map[string]string{f.Kind: f.Mapping}
	}
	return s.parseFile(ctx, m, p, f, reader, now)
}

// parseFile stores the rows of a file from the place on.
func (s *Service) parseFile(
	ctx context.Context, m db.Import, p place, f File, reader source.CSV, now clock.Time,
) error {
	began := clock.Real()
	p.Name = plain.Short(f.Name, maxStep)
	var rows []source.Row
	skip := p.Lines
	add := func(last bool) error {
		before, some := p, rows
		before.Name = placeOf(m).Name
		rows = nil
		p.Lines, p.Done = p.Lines+int64(len(some)), p.Done+int64(len(some))
		after := p
		if last {
			after.List, after.Lines, after.Done, after.Name = p.List+1, 0, 0, ""
		}
		return s.inUnit(ctx, m, now, func(u *work.Unit, at db.Import, stored place) error {
			if stored.Phase != parsing || stored.List != before.List || stored.Lines != before.Lines {
				return errEnded // another server was faster
			}
			var err error
			m, err = s.store(ctx, u, at, some, after)
			return err
		})
	}
	for row, err := range reader.Rows(f.Kind, &parts{ctx: ctx, s: s, id: m.ID, org: m.OrgID, file: f.Number}) {
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			return fmt.Errorf("%w %s: %w", errFile, f.Name, err)
		case skip > 0:
			skip--
			continue
		}
		if rows = append(rows, row); len(rows) < AddSize {
			continue
		}
		if err := add(false); err != nil {
			return err
		}
		if time.Since(began) > turn {
			return nil
		}
	}
	return add(true)
}

// maxStep bounds the name of a file in the description of a step.
const maxStep = 48

// parts reads an uploaded file.
type parts struct {
	ctx  context.Context //nolint:containedctx // of the one call that reads
	s    *Service
	id   string
	org  string
	file int32
	part int32
	in   bytes.Reader
	err  error
}

// Read reads the next bytes.
func (r *parts) Read(b []byte) (int, error) {
	for r.in.Len() == 0 && r.err == nil {
		content, err := queries.ImportFilePart(r.ctx, r.s.Pool, db.ImportFilePartParams{
			ImportID: r.id, OrgID: r.org, File: r.file, Part: r.part,
		})
		r.part++
		if err = work.IgnoreNoRows(err); err == nil && len(content) == 0 {
			err = io.EOF
		}
		r.err = err
		r.in.Reset(content)
	}
	if r.in.Len() == 0 {
		return 0, r.err
	}
	return r.in.Read(b)
}

// KindOf returns the kind of a file by its name, else by its headers: the kind with the most columns, a complete one
// before others. It returns "" for a file that cannot be read.
func KindOf(name string, head []byte) source.Kind {
	best, most := source.Kind(""), 0
	for _, kind := range source.Kinds {
		_, used, err := source.CSV{}.Headers(kind, bytes.NewReader(head))
		if err != nil {
			return ""
		}
		n := len(used)
		if len(Lacks(kind, used)) == 0 {
			n += complete
		}
		if n > most {
			best, most = kind, n
		}
	}
	lower := strings.ToLower(name)
	for _, k := range named {
		if slices.ContainsFunc(k.words, func(word string) bool { return strings.Contains(lower, word) }) {
			return k.kind
		}
	}
	return best
}

// complete is more than the columns of any kind.
const complete = 1000

// Lacks lists the needs of a kind for which a mapping has no column.
func Lacks(kind source.Kind, used map[string]string) (needs []string) {
	for _, f := range source.Fields(kind) {
		has := slices.ContainsFunc(source.Fields(kind), func(other source.Field) bool {
			return other.Need == f.Need && used[other.Name] != ""
		})
		if f.Need != "" && !has && !slices.Contains(needs, f.Need) {
			needs = append(needs, f.Need)
		}
	}
	return needs
}

// named are the words in the names of files of each kind; the more particular kinds come first.
var named = []struct {
	kind  source.Kind
	words []string
}{
	{source.KindCommission, []string{"commission", "reward"}},
	{source.KindPayout, []string{"payout"}},
	{source.KindCoupon, []string{"coupon", "promo_code", "promo-code", "discount"}},
	{source.KindLink, []string{"link"}},
	{source.KindCustomer, []string{"customer", "referral", "lead"}},
	{source.KindSale, []string{"sale", "conversion", "transaction", "order", "purchase"}},
	{source.KindPartner, []string{"partner", "affiliate", "promoter", "ambassador"}},
}
