package console

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/opt"
)

// importData holds the data of the page of an import.
type importData struct {
	Import   imported
	Steps    site.Steps
	Progress importPace
	Counts   []kindCount
	Balances []importer.Balance
	Differs  []difference
	Groups   []importer.Group // without a counterpart
	Links    int64            // that will work
	Problems *problemsData
	Failure  string
	Mails    bool // the server can send the email at the end
}

// kindCount is a line of the table of counts.
type kindCount struct {
	importer.Count

	Kind, Name string
}

// Equal reports whether the balances of the source and of Rail are equal for each partner.
func (d importData) Equal() bool {
	for _, b := range d.Balances {
		if b.SourceMinor != b.RailMinor {
			return false
		}
	}
	return !d.has("balance_differs")
}

func (d importData) has(code string) bool {
	return slices.ContainsFunc(d.Differs, func(of difference) bool { return of.Code == code })
}

// Live reports whether the import is being worked on.
func (d importData) Live() bool { return importer.Active(d.Import.Import) }

// Undoable reports whether it can be undone.
func (d importData) Undoable() bool { return undoable(d.Import.Import) }

// Is reports whether the import has a status.
func (d importData) Is(status string) bool { return string(d.Import.Status) == status }

// Again is the address of the form that imports from the same source again.
func (d importData) Again() string { return "/imports/new?source=" + d.Import.Source }

// Any reports whether an object was read.
func (d importData) Any() bool {
	return slices.ContainsFunc(d.Counts, func(c kindCount) bool { return c.Read > 0 })
}

// New is the number of objects that are written.
func (d importData) New() (n int64) {
	for _, c := range d.Counts {
		n += c.New + c.Changed
	}
	return n
}

// difference lists partners whose sums differ.
type difference struct {
	Code, Name string
	Total      int64
	Rows       []api.ImportProblem
}

// problemsData is the table of problems.
type problemsData struct {
	Filters site.Filters
	List    site.Listing
	Shown   bool // the page shows the table: there are problems, or filters
}

// importSteps are the steps of an import. In the first one, a person chooses columns.
func importSteps(m db.Import, files bool) site.Steps {
	s := site.Steps{Label: "Steps of the import"}
	names := []string{"Read", "Compare", "Check the report", "Import"}
	if m.Source == importer.CSV {
		names = append([]string{"Choose columns"}, names...)
	}
	for _, name := range names {
		s.Links = append(s.Links, site.Link{Name: name})
	}
	s.At = len(names) - 4
	step, _, _ := importer.Progress(m)
	switch {
	case files:
		s.At = 0
	case m.Status == db.ImportStatusReady:
		s.At += 2
	case m.Status == db.ImportStatusWriting:
		s.At += 3
	case m.Status == db.ImportStatusDone:
		s.At += 4
	case !strings.HasPrefix(step, "reading"):
		s.At++
	}
	return s
}

// importPace is the progress of an import in words.
type importPace struct {
	Step, Speed, Left string
	Done, All         int64
	Failing           string // why the last attempt failed
}

// stepWords are the steps of the importer in other words.
var stepWords = map[string]string{
	"adding up": "Comparing balances", "tidying up": "Completing the import", "reading": "Reading",
}

// paceOf describes the progress of an import.
func (v *visit) paceOf(m imported) importPace {
	step, _, _ := importer.Progress(m.Import)
	pace := importer.PaceOf(m.Import)
	out := importPace{Step: stepWords[strings.TrimSpace(step)], Done: pace.Done, All: pace.All}
	if out.Step == "" {
		out.Step = strings.ToUpper(step[:1]) + step[1:]
	}
	if m.Error != nil {
		out.Failing = m.failureWords()
	}
	out.Speed, out.Left = v.speed(pace)
	return out
}

// speed describes how fast a phase is, and the time that is left; "" if that is not known yet.
func (v *visit) speed(p importer.Pace) (speed, left string) {
	minutes := v.Now.Sub(p.Began.Time).Minutes()
	if p.Began.IsZero() || minutes < 0.05 || p.Done == 0 {
		return "", ""
	}
	rate := float64(p.Done) / minutes
	speed = "about " + v.Locale.Count(int64(math.Round(rate))) + " objects a minute"
	switch rest := float64(p.All-p.Done) / rate; {
	case p.All <= p.Done:
	case rest < 1:
		left = "less than a minute left"
	case rest < 1.5:
		left = "about a minute left"
	case rest < 90:
		left = "about " + v.Locale.Count(int64(math.Round(rest))) + " minutes left"
	default:
		left = "about " + v.Locale.Count(int64(math.Round(rest/60))) + " hours left"
	}
	return speed, left
}

// refreshTime is how often a browser without scripts loads the page of a running import.
const refreshTime = 5 * time.Second

// showImport shows an import: its progress, its report or its result.
func showImport(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	if importer.Filling(m.Import) {
		return v.Redirect(http.StatusSeeOther, v.at("/imports/"+m.ID+"/files"))
	}
	d, err := v.importData(m)
	if err != nil {
		return err
	}
	if d.Live() {
		v.refresh = int(refreshTime.Seconds())
	}
	return v.show(sheet{"import", "/imports", "Import from " + m.Title(), d})
}

// importProgress answers the progress alone, for the script that shows it.
func importProgress(v *visit) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	d := importData{Import: m, Steps: importSteps(m.Import, false), Progress: v.paceOf(m), Counts: countsOf(m)}
	d.Mails = v.console.People.Mail.Ready()
	return v.part("import-progress", d)
}

// countsOf returns the counts of all kinds.
func countsOf(m imported) (all []kindCount) {
	counts := importer.CountsOf(m.Import)
	for _, kind := range source.Kinds {
		all = append(all, kindCount{*counts[kind], string(kind), kindNames[kind]})
	}
	return all
}

// importData reads the report of an import.
func (v *visit) importData(m imported) (importData, error) {
	d := importData{
		Import: m, Steps: importSteps(m.Import, false), Counts: countsOf(m), Progress: v.paceOf(m), Failure: m.failureWords(),
		Mails: v.console.People.Mail.Ready(),
	}
	links := importer.CountsOf(m.Import)[source.KindLink]
	d.Links = links.New + links.Same + links.Changed
	_ = json.Unmarshal(m.Balances, &d.Balances) // written by the importer
	var groups []importer.Group
	_ = json.Unmarshal(m.Groups, &groups) // written by the importer
	for _, g := range groups {
		if g.GroupID == "" {
			d.Groups = append(d.Groups, g)
		}
	}
	if d.Live() {
		return d, nil
	}
	for _, code := range []string{"balance_differs", "stated_balance_differs", "paid_differs", "gone_at_source"} {
		reply, err := v.console.api.ListImportProblemsWithResponse(v.Ctx(), m.ID, &api.ListImportProblemsParams{
			ProgramID: &v.program.ID, Limit: new(int64(listedDifferences)), Code: new(api.ImportProblemCode(code)),
		})
		if err != nil {
			return d, err
		}
		if reply.JSON200.TotalCount > 0 {
			d.Differs = append(d.Differs, difference{code, problemWords(code), reply.JSON200.TotalCount, reply.JSON200.Data})
		}
	}
	var err error
	d.Problems, err = v.problemsOf(m)
	return d, err
}

const (
	// listedDifferences is how many partners with a difference the report shows, listedProblems how many problems.
	listedDifferences, listedProblems = 5, 25
)

// problemRow is a problem as the table shows it.
type problemRow struct {
	api.ImportProblem

	What, Code string
}

// problemsOf reads the page of problems that the address asks for.
func (v *visit) problemsOf(m imported) (*problemsData, error) {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return nil, err
	}
	kinds, codes := []site.Option{{Label: "All"}}, append([]site.Option{{Label: "All"}}, problemNames...)
	for _, kind := range source.Kinds {
		kinds = append(kinds, site.Option{Value: string(kind), Label: kindNames[kind]})
	}
	kind, code := opt.OrNil(cleaned(v.QueryParam("kind"))), opt.OrNil(cleaned(v.QueryParam("code")))
	if kind != nil && kindNames[source.Kind(*kind)] == "" || code != nil && problemName(*code) == "" {
		return nil, site.NotFound()
	}
	reply, err := v.console.api.ListImportProblemsWithResponse(v.Ctx(), m.ID, &api.ListImportProblemsParams{
		ProgramID: &v.program.ID, Limit: new(int64(listedProblems)), StartingAfter: turn.After, EndingBefore: turn.Before,
		Kind: (*api.ImportKind)(kind), Code: (*api.ImportProblemCode)(code),
	})
	if err != nil {
		return nil, err
	}
	list := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	out := &problemsData{Shown: m.ProblemsCount > 0 || kind != nil || code != nil}
	out.Filters = v.filters("Problems", v.filter("kind", "Objects", kinds), v.filter("code", "Problem", codes))
	row := func(p api.ImportProblem) problemRow {
		return problemRow{p, kindNames[source.Kind(p.Kind)], problemWords(string(p.Code))}
	}
	out.List = among(v, turn, list, func(p api.ImportProblem) string { return p.ID }, row)
	return out, nil
}
