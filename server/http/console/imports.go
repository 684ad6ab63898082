package console

import (
	"cmp"
	"encoding/csv"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/ident"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/locale/currency"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// importRoutes are the pages about imports from other programs.
var importRoutes = map[string]route{
	"GET /console/p/{program}/imports":                   {Do: imports},
	"GET /console/p/{program}/imports/new":               {Do: newImport},
	"POST /console/p/{program}/imports/new":              {Do: createImport},
	"POST /console/p/{program}/imports/files":            {Do: uploadImport, File: "files", Stream: importer.MaxUpload, Timeout: uploadTime},
	"GET /console/p/{program}/imports/{id}":              {Do: showImport},
	"GET /console/p/{program}/imports/{id}/progress":     {Do: importProgress},
	"GET /console/p/{program}/imports/{id}/problems.csv": {Do: importProblems},
	"GET /console/p/{program}/imports/{id}/balances.csv": {Do: importBalances},
	"GET /console/p/{program}/imports/{id}/files":        {Do: importColumns},
	"POST /console/p/{program}/imports/{id}/files":       {Do: assignColumns},
	"POST /console/p/{program}/imports/{id}/discard":     {Do: discardImport},
	"POST /console/p/{program}/imports/{id}/run":         {Do: runImport},
	"GET /console/p/{program}/imports/{id}/undo":         {Do: lookUndoImport},
	"POST /console/p/{program}/imports/{id}/undo":        {Do: undoImport},
}

// uploadTime is how long the upload of files may take.
const uploadTime = 3 * time.Minute

// origin is a source of imports as people choose it.
type origin struct {
	Name, Title, Brings string
	Key, KeyHint        string // of the API key
	Account             string // the label of the account; "" if the source has none
	Since               string // the objects that the source can limit to later changes; "" for none
}

// origins are the sources in their order.
var origins = []origin{
	{
		Name: "rewardful", Title: "Rewardful",
		Brings: "Affiliates, links, coupons, referrals, sales, commissions and payouts.",
		Key:    "API secret", KeyHint: "Company settings › API in Rewardful.", Since: "referrals",
	},
	{
		Name: "tolt", Title: "Tolt",
		Brings: "Partners, links, promotion codes, customers, transactions and commissions.",
		Key:    "API key", KeyHint: "Settings › Integrations › API in Tolt.", Account: "Program ID",
	},
	{
		Name: "firstpromoter", Title: "FirstPromoter",
		Brings: "Promoters, links, coupons, referrals, sales, commissions and payouts.",
		Key:    "API key", KeyHint: "Settings › Integrations › API in FirstPromoter.", Account: "Account ID",
	},
	{
		Name: "tapfiliate", Title: "Tapfiliate",
		Brings: "Affiliates, links, coupons, customers, conversions, commissions and payments.",
		Key:    "API key", KeyHint: "Profile settings in Tapfiliate.",
	},
	{
		Name: "partnerstack", Title: "PartnerStack",
		Brings: "Partnerships, links, customers, transactions and rewards.",
		Key:    "public and secret key", KeyHint: "Settings › Integrations in PartnerStack. Join the two with a colon: public:secret.",
		Since: "customers",
	},
	{
		Name: "dub", Title: "Dub",
		Brings: "Partners, links, discount codes, customers, sales, commissions and payouts.",
		Key:    "API key", KeyHint: "Settings › API keys in Dub.",
	},
	{
		Name: importer.CSV, Title: "CSV files",
		Brings: "Any other program, and Rail’s own export: files of partners, links, coupons, customers, sales, commissions and payouts.",
	},
}

// Guide is the guide for moving from the source.
func (o origin) Guide() string {
	switch o.Name {
	case "":
		return "/docs/guides/move-from-others"
	case importer.CSV:
		return "/docs/guides/export"
	}
	return "/docs/guides/move-from-" + o.Name
}

// originOf returns a source by its name, without one for a source that only the command rail import reads.
func originOf(name string) origin {
	for _, o := range origins {
		if o.Name == name {
			return o
		}
	}
	return origin{}
}

// imported is an import as its pages show it.
type imported struct {
	db.Import

	Origin origin
}

// Title is the title of the source.
func (i imported) Title() string { return i.Origin.title(i.Source) }

func (o origin) title(name string) string {
	if p, found := source.Find(name); o.Title == "" && found {
		return p.Title
	}
	return cmp.Or(o.Title, name)
}

// movesIn reports whether the person may import.
func (v *visit) movesIn() bool { return v.actor.Allows([]string{"write"}) }

// moversOnly refuses persons who may not change everything that an import writes.
func (v *visit) moversOnly() error {
	if v.movesIn() {
		return nil
	}
	return problem.New(problem.InsufficientScope, "Only owners and managers can import.")
}

// importOf returns the import of the page's address.
func (v *visit) importOf() (imported, error) {
	if err := v.moversOnly(); err != nil {
		return imported{}, err
	}
	id := v.PathValue("id")
	if !ident.Has(id, ident.Import) {
		return imported{}, site.NotFound()
	}
	m, err := queries.ImportGet(v.Ctx(), v.console.Pool, db.ImportGetParams{ID: id, OrgID: v.session.User.OrgID})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && m.ProgramID != v.program.ID {
		return imported{}, site.NotFound()
	}
	return imported{m, originOf(m.Source)}, err
}

// importRow is a line of the list of imports.
type importRow struct {
	api.Import

	Title string
}

// New and Refused are the numbers of objects of all kinds.
func (r importRow) New() int64 {
	return r.sum(func(c api.ImportCount) int64 { return c.New + c.Changed })
}

// Refused is the number of objects that are not imported.
func (r importRow) Refused() int64 { return r.sum(func(c api.ImportCount) int64 { return c.Refused }) }

// Read is the number of objects of the source.
func (r importRow) Read() int64 { return r.sum(func(c api.ImportCount) int64 { return c.Read }) }

func (r importRow) sum(of func(api.ImportCount) int64) (n int64) {
	c := r.Counts
	for _, kind := range []api.ImportCount{
		c.Partners, c.Links, c.Coupons, c.Customers, c.Sales, c.Commissions, c.Payouts,
	} {
		n += of(kind)
	}
	return n
}

// imports lists the imports of a program.
func imports(v *visit) error {
	if err := v.moversOnly(); err != nil {
		return err
	}
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	reply, err := v.console.api.ListImportsWithResponse(v.Ctx(), &api.ListImportsParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before, Limit: new(int64(40)),
	})
	if err != nil {
		return err
	}
	found := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	list := among(v, turn, found, func(i api.Import) string { return i.ID }, func(i api.Import) importRow {
		return importRow{i, originOf(string(i.Source)).title(string(i.Source))}
	})
	return v.show(sheet{"imports", "/imports", "Import", struct {
		List    site.Listing
		Sources []origin
	}{list, origins}})
}

// newImportData holds the data of the page that starts an import.
type newImportData struct {
	Sources []origin
	Source  origin // the chosen one; without a name while none is chosen
	Account string // of the last import of the source
	Files   int
}

// newImport shows the sources, or the form of the chosen one.
func newImport(v *visit) error {
	if err := v.moversOnly(); err != nil {
		return err
	}
	name := cleaned(v.QueryParam("source"))
	if v.Form != nil {
		name = v.value("source")
	}
	data := newImportData{Sources: origins, Source: originOf(name), Files: importer.MaxFiles}
	if data.Source.Account != "" {
		reply, err := v.console.api.ListImportsWithResponse(v.Ctx(), &api.ListImportsParams{ProgramID: v.program.ID})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(reply.JSON200.Data, func(i api.Import) bool { return string(i.Source) == name })
		if i >= 0 {
			data.Account = opt.Value(reply.JSON200.Data[i].SourceAccount)
		}
	}
	return v.show(sheet{"import-new", "/imports", "New import", data})
}

// createImport starts a dry run of a source with an API.
func createImport(v *visit) error {
	if err := v.moversOnly(); err != nil {
		return err
	}
	body := map[string]any{
		"program_id": v.program.ID, "source": v.value("source"), "api_key": v.value("api_key"), "dry_run": true,
		"emit_events": v.value("emit_events") != "",
	}
	o := originOf(v.value("source"))
	if v.value("api_key") == "" {
		return v.again(problem.Invalid("api_key", "Fill in the %s.", o.Key), newImport)
	}
	if account := v.value("source_account"); account != "" {
		body["source_account"] = account
	} else if o.Account != "" {
		return v.again(problem.Invalid("source_account", "Fill in the %s.", strings.ToLower(o.Account[:1])+o.Account[1:]), newImport)
	}
	if since := v.value("since"); since != "" {
		day, bare, err := clock.ParseDate(since)
		if err != nil || !bare {
			return v.again(problem.Invalid("since", "Choose a day."), newImport)
		}
		body["since"] = clock.Midnight(day.Time, v.Locale.Zone()).String()
	}
	var started api.Import
	if err := v.send("createImport", body, &started); err != nil {
		return v.again(v.oneImport(err), newImport)
	}
	return v.Redirect(http.StatusSeeOther, v.at("/imports/"+started.ID))
}

// oneImport words the refusal of a second import.
func (v *visit) oneImport(err error) error {
	if p, ok := refused(err); ok && p.Code == problem.ImportActive {
		return problem.New(problem.ImportActive, "Another import of this program is under way. Wait for its end, then start this one.")
	}
	return err
}

// runImport writes a ready import.
func runImport(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	if err := v.send("runImport", nil, nil, m.ID); err != nil {
		return v.again(v.oneImport(err), showImport)
	}
	return v.Redirect(http.StatusSeeOther, v.at("/imports/"+m.ID))
}

// discardImport ends an import that waits for its columns.
func discardImport(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	err = v.unit().Within(v.Ctx(), func(u *work.Unit) error {
		return v.console.Imports.Abandon(v.Ctx(), u, m.ID, "It was discarded before its files were read.")
	})
	if err != nil {
		return err
	}
	return v.done(v.at("/imports"), "The files are deleted. Nothing was imported.")
}

// undoMost bounds the objects that the page before an undo counts, of each kind.
const undoMost = 1000

// lookUndoImport shows the objects that an undo removes and keeps.
func lookUndoImport(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	if !undoable(m.Import) {
		return v.Redirect(http.StatusSeeOther, v.at("/imports/"+m.ID))
	}
	stays, later, err := v.console.Imports.Stays(v.Ctx(), v.unit(), m.Import, undoMost)
	if err != nil {
		return err
	}
	confirm := site.Confirm{
		Action: v.at("/imports/" + m.ID + "/undo"), Back: v.at("/imports/" + m.ID), Button: "Undo the import", Danger: true,
		Hidden: []site.Hidden{{Name: "form_token", Value: v.FormToken()}, {Name: "once", Value: frame{}.Once()}},
		Points: []string{"The objects that this import created are removed, unless something has used or changed them since."},
	}
	if later > 0 {
		confirm.Points = append(confirm.Points, v.Locale.Count(int64(later))+oneOrMany(later,
			" later import of the same source is undone with it.", " later imports of the same source are undone with it."))
	}
	confirm.Points = append(confirm.Points, "No emails and no events are sent.")
	return v.show(sheet{"import-undo", "/imports", "Undo the import", struct {
		Import  imported
		Confirm site.Confirm
		Stays   []string
	}{m, confirm, v.stays(stays)}})
}

// stays describes the objects that an undo keeps.
func (v *visit) stays(found map[source.Kind]int64) (lines []string) {
	for _, s := range []struct {
		kind         source.Kind
		one, several string
	}{
		{source.KindPartner, "partner who signed in to the portal", "partners who signed in to the portal"},
		{source.KindLink, "link with visits", "links with visits"},
		{source.KindCustomer, "customer who paid since", "customers who paid since"},
		{source.KindCommission, "commission that a payout of Rail paid or a refund changed", "commissions that a payout of Rail paid or a refund changed"},
	} {
		switch n := found[s.kind]; {
		case n >= undoMost:
			lines = append(lines, v.Locale.Count(n)+" or more "+s.several+".")
		case n > 0:
			lines = append(lines, v.Locale.Count(n)+" "+oneOrMany(n, s.one, s.several)+".")
		}
	}
	return lines
}

// undoable reports whether an import can be undone.
func undoable(m db.Import) bool {
	return m.Status == db.ImportStatusDone || m.Status == db.ImportStatusFailed
}

// undoImport removes what an import created.
func undoImport(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	if err := v.send("undoImport", nil, nil, m.ID); err != nil {
		return v.again(v.oneImport(err), showImport)
	}
	return v.Redirect(http.StatusSeeOther, v.at("/imports/"+m.ID))
}

// problemBatch is how many problems or balances are read at a time for a file.
const problemBatch = 1000

// download begins a CSV file of an import.
func download(v *visit, name string) *csv.Writer {
	v.Response().Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.Response().Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	v.Response().WriteHeader(http.StatusOK)
	return csv.NewWriter(v.Response())
}

// importBalances sends the balances of an import's partners as a file.
func importBalances(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	out := download(v, "import-balances.csv")
	_ = out.Write([]string{"partner", "email", "currency", "source", "rail", "difference"}) // Flush has the error
	p := db.ImportBalancesAfterParams{ImportID: m.ID, OrgID: m.OrgID, Lim: problemBatch}
	for {
		rows, err := queries.ImportBalancesAfter(v.Ctx(), v.console.Pool, p)
		if err != nil {
			return err
		}
		for _, r := range rows {
			p.AfterID, p.AfterCurrency = r.SourceID, r.Currency
			_ = out.Write([]string{
				plain.Cell(r.SourceID), plain.Cell(opt.Value(r.Email)), r.Currency, currency.Decimal(r.SourceMinor, r.Currency),
				currency.Decimal(r.RailMinor, r.Currency), currency.Decimal(r.RailMinor-r.SourceMinor, r.Currency),
			})
		}
		if out.Flush(); out.Error() != nil || len(rows) < problemBatch {
			return out.Error()
		}
	}
}

// importProblems sends the problems of an import as a file.
func importProblems(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	out := download(v, "import-problems.csv")
	_ = out.Write([]string{"kind", "source_id", "code", "problem", "detail"}) // Flush has the error
	for after := ""; ; {
		rows, err := queries.ImportProblemsAfter(v.Ctx(), v.console.Pool, db.ImportProblemsAfterParams{
			ImportID: m.ID, OrgID: m.OrgID, After: after, Lim: problemBatch,
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			after = r.ID
			_ = out.Write([]string{r.Kind, plain.Cell(r.SourceID), r.Code, problemWords(r.Code), plain.Cell(r.Detail)})
		}
		if out.Flush(); out.Error() != nil || len(rows) < problemBatch {
			return out.Error()
		}
	}
}

// problemNames are the codes of problems in words, in the order of the filter.
var problemNames = []site.Option{
	{Value: "balance_differs", Label: "Unpaid balance differs"},
	{Value: "stated_balance_differs", Label: "The source’s balance and commissions differ"},
	{Value: "paid_differs", Label: "Payouts and paid commissions differ"},
	{Value: "gone_at_source", Label: "No longer at the source"},
	{Value: "missing_member", Label: "Incomplete at the source"},
	{Value: "unknown_status", Label: "Unknown status"},
	{Value: "not_money", Label: "Not money"},
	{Value: "test_data", Label: "Test data"},
	{Value: "missing_reference", Label: "Refers to a missing object"},
	{Value: "duplicate", Label: "Twice at the source"},
	{Value: "value_taken", Label: "Link value is taken"},
	{Value: "code_taken", Label: "Coupon code is taken"},
	{Value: "customer_taken", Label: "Customer has another partner"},
	{Value: "deleted", Label: "Deleted in Rail"},
	{Value: "conflict", Label: "Conflicts with Rail"},
	{Value: "out_of_bounds", Label: "Value out of bounds"},
	{Value: "merged", Label: "Joined with another object"},
	{Value: "recorded", Label: "Already in Rail"},
	{Value: "detached", Label: "Commission without its sale"},
	{Value: "group_missing", Label: "Group is missing in Rail"},
	{Value: "paid_already", Label: "Already paid in Rail"},
	{Value: "in_payout", Label: "In a payout of Rail"},
	{Value: "not_changed", Label: "Change not taken over"},
	{Value: "kept", Label: "Not undone"},
}

// problemName returns the code of a problem in words, "" for an unknown one.
func problemName(code string) string {
	for _, option := range problemNames {
		if option.Value == code {
			return option.Label
		}
	}
	return ""
}

// problemWords returns the code of a problem in words.
func problemWords(code string) string { return cmp.Or(problemName(code), doing(code)) }

// failureWords explains why an import failed.
func (i imported) failureWords() string {
	why := ""
	if i.Error != nil {
		why = *i.Error
	}
	if strings.Contains(why, source.ErrKey.Error()) {
		return i.Title() + " refused the API key. Copy the key again, and check that it may read everything."
	}
	why = strings.TrimPrefix(why, "importer: ")
	if why == "" {
		return "It could not continue."
	}
	return strings.ToUpper(why[:1]) + strings.TrimSuffix(why[1:], ".") + "."
}
