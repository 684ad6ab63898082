package handlers

import (
	"context"
	"encoding/json"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/list"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// ListImports lists the imports of a program, newest first.
func (s *Server) ListImports(ctx context.Context,
	r api.ListImportsRequestObject) (api.ListImportsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ImportList{Status: list.Any(p.Status)}, toImport)
	return api.ListImports200JSONResponse(out), err
}

// RetrieveImport returns one import.
func (s *Server) RetrieveImport(ctx context.Context,
	r api.RetrieveImportRequestObject) (api.RetrieveImportResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.ImportGet(ctx, u.Short(), db.ImportGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toImport(row), row.ProgramID, err)
	return api.RetrieveImport200JSONResponse(out), err
}

// CreateImport starts an import.
func (s *Server) CreateImport(ctx context.Context,
	r api.CreateImportRequestObject) (api.CreateImportResponseObject, error) {
	u, b := work.From(ctx), r.Body
	o := importer.Order{
		ProgramID: b.ProgramID, Source: string(b.Source), Key: b.APIKey, Account: b.SourceAccount, Since: b.Since,
		DryRun: b.DryRun == nil || *b.DryRun, EmitEvents: opt.Value(b.EmitEvents),
	}
	var columns *api.ImportMapping
	if b.Files != nil {
		program, err := u.Program(ctx, b.ProgramID)
		if err != nil {
			return nil, err
		}
		reader := source.CSV{Currency: program.Currency, Now: u.Now, Zone: clock.StoredZone(program.TimeZone)}
		if o.Rows, columns, err = fileRows(b, reader); err != nil {
			return nil, err
		}
	}
	row, err := s.Imports.Start(ctx, u, o)
	out := toImport(row)
	out.Columns = columns
	return api.CreateImport201JSONResponse(out), err
}

// maxHeader bounds a header in an answer, in characters.
const maxHeader = 255

// fileRows reads the files of an import, and returns their columns by Rail's fields.
func fileRows(b *api.ImportCreate, reader source.CSV) (all []source.Row, columns *api.ImportMapping, err error) {
	columns = &api.ImportMapping{}
	if b.Mapping != nil {
		reader.Mapping = map[source.Kind]map[string]string{}
		for kind, of := range *b.Mapping {
			reader.Mapping[source.Kind(kind)] = of
		}
	}
	f := b.Files
	for i, file := range []*string{f.Partners, f.Links, f.Coupons, f.Customers, f.Sales, f.Commissions, f.Payouts} {
		if file == nil {
			continue
		}
		kind := source.Kinds[i]
		for row, err := range reader.Rows(kind, strings.NewReader(*file)) {
			if err != nil {
				return nil, nil, problem.Invalid("files."+string(kind), "files.%s: %s.", kind, err)
			}
			all = append(all, row)
		}
		_, used, err := reader.Headers(kind, strings.NewReader(*file))
		if err != nil {
			return nil, nil, err // not reached: the rows were read
		}
		for field, header := range used {
			used[field] = plain.Short(header, maxHeader)
		}
		(*columns)[string(kind)] = used
	}
	return all, columns, nil
}

// ListImportProblems lists the problems of an import, newest first.
func (s *Server) ListImportProblems(ctx context.Context,
	r api.ListImportProblemsRequestObject) (api.ListImportProblemsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	m, err := importOf(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	q := newQuery(m.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ImportProblemList{
		ImportID: &m.ID, Kind: (*string)(p.Kind), Code: (*string)(p.Code),
	}, toImportProblem)
	return api.ListImportProblems200JSONResponse(out), err
}

// ListImportBalances lists the unpaid money of partners of the source.
func (s *Server) ListImportBalances(ctx context.Context,
	r api.ListImportBalancesRequestObject) (api.ListImportBalancesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	m, err := importOf(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	q := newQuery(m.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ImportBalanceList{ImportID: &m.ID}, toImportBalance)
	return api.ListImportBalances200JSONResponse(out), err
}

// importOf reads an import of the caller's programs.
func importOf(ctx context.Context, u *work.Unit, id string) (db.Import, error) {
	m, err := queries.ImportGet(ctx, u.Short(), db.ImportGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return m, err
	}
	return m, u.CheckProgram(m.ProgramID)
}

// RunImport writes a ready import.
func (s *Server) RunImport(ctx context.Context, r api.RunImportRequestObject) (api.RunImportResponseObject, error) {
	row, err := s.Imports.Run(ctx, work.From(ctx), r.ID)
	return api.RunImport200JSONResponse(toImport(row)), err
}

// UndoImport removes what an import created.
func (s *Server) UndoImport(ctx context.Context, r api.UndoImportRequestObject) (api.UndoImportResponseObject, error) {
	row, err := s.Imports.Undo(ctx, work.From(ctx), r.ID)
	return api.UndoImport200JSONResponse(toImport(row)), err
}

// toImport converts an import without its key.
func toImport(m db.Import) api.Import {
	step, done, total := importer.Progress(m)
	counts := importer.CountsOf(m)
	of := func(kind source.Kind) api.ImportCount {
		c := counts[kind]
		return api.ImportCount{Read: c.Read, New: c.New, Same: c.Same, Changed: c.Changed, Refused: c.Refused}
	}
	out := api.Import{
		ID: m.ID, Object: "import", ProgramID: m.ProgramID, Source: api.ImportSource(m.Source),
		SourceAccount: m.SourceAccount, Status: api.ImportStatus(m.Status), DryRun: m.DryRun, EmitEvents: m.EmitEvents,
		Since: m.Since, Progress: api.ImportProgress{Step: step, Done: done, Total: total},
		Counts: api.ImportCounts{
			Partners: of(source.KindPartner), Links: of(source.KindLink), Coupons: of(source.KindCoupon),
			Customers: of(source.KindCustomer), Sales: of(source.KindSale), Commissions: of(source.KindCommission),
			Payouts: of(source.KindPayout),
		},
		Balances: []api.ImportBalance{}, Groups: []api.ImportGroup{}, ProblemsCount: m.ProblemsCount, Error: m.Error,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, FinishedAt: m.FinishedAt,
	}
	_ = json.Unmarshal(m.Balances, &out.Balances) // written by the importer in the API's form
	var groups []importer.Group
	_ = json.Unmarshal(m.Groups, &groups) // written by the importer
	for _, g := range groups {
		shown := api.ImportGroup{Name: g.Name, Partners: g.Partners, GroupID: opt.OrNil(g.GroupID)}
		if g.Rate > 0 {
			shown.RatePercent = new(float64(g.Rate) / 100)
		}
		out.Groups = append(out.Groups, shown)
	}
	return out
}

func toImportBalance(b db.ImportBalance) api.ImportPartnerBalance {
	return api.ImportPartnerBalance{
		ID: b.ID, Object: "import_balance", ImportID: b.ImportID, SourceID: b.SourceID, Email: b.Email,
		Currency: b.Currency, SourceMinor: b.SourceMinor, RailMinor: b.RailMinor, CreatedAt: b.CreatedAt,
	}
}

func toImportProblem(p db.ImportProblem) api.ImportProblem {
	return api.ImportProblem{
		ID: p.ID, Object: "import_problem", ImportID: p.ImportID, Kind: api.ImportKind(p.Kind), SourceID: p.SourceID,
		Code: api.ImportProblemCode(p.Code), Detail: p.Detail, CreatedAt: p.CreatedAt,
	}
}
