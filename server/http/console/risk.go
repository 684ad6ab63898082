package console

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/problem"
)

var riskRoutes = map[string]route{
	"GET /console/p/{program}/risk":               {Do: risks},
	"GET /console/p/{program}/risk.csv":           {Do: riskTable},
	"GET /console/p/{program}/risk/{id}":          {Do: risk},
	"POST /console/p/{program}/risk/{id}/review":  {Do: reviewRisk},
	"POST /console/p/{program}/risk/{id}/resolve": {Do: resolveRisk},
}

const (
	riskPath  = "/risk"
	riskTitle = "Risk"
	// riskRows is how many flags a page of the queue has.
	riskRows = 50
	// maxOffset is how far into the queue the API leads.
	maxOffset = 10_000
)

// riskStates are the parts of the queue by name: each is several states of flags.
var riskStates = []struct {
	name, label string
	states      []api.RiskFlagStatus
}{
	{"", "Open", []api.RiskFlagStatus{api.RiskFlagStatusOpen, api.RiskFlagStatusReviewing}},
	{"closed", "Closed", []api.RiskFlagStatus{api.RiskFlagStatusResolved, api.RiskFlagStatusDismissed}},
	{"all", "All", nil},
}

// riskList holds the data of the queue's page.
type riskList struct {
	site.Listing
	Tabs  site.Tabs
	Table string // the address of the file
}

// risks shows the flags of a program, the most severe first.
func risks(v *visit) error {
	offset, err := offsetOf(v.QueryParam("offset"))
	if err != nil {
		return err
	}
	state, tabs := v.riskTabs()
	reply, err := v.console.api.ListRiskFlagsWithResponse(v.Ctx(), &api.ListRiskFlagsParams{
		ProgramID: v.program.ID, Limit: new(int64(riskRows)), Offset: &offset, Status: state,
		PartnerID: opt.OrNil(cleaned(v.QueryParam("partner_id"))),
	})
	if err != nil {
		return err
	}
	list := riskList{site.Listing{Rows: reply.JSON200.Data, Total: reply.JSON200.TotalCount}, tabs, v.at("/risk.csv")}
	if reply.JSON200.HasMore && offset+riskRows <= maxOffset {
		list.Older = v.atOffset(offset + riskRows)
	}
	if offset > 0 {
		list.Newer = v.atOffset(max(offset-riskRows, 0))
	}
	return v.show(sheet{"risks", riskPath, riskTitle, list})
}

// offsetOf reads where in the queue a page begins. Anything else is a page that does not exist.
func offsetOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	offset, err := strconv.ParseInt(text, 10, 64)
	if err != nil || offset < 0 || offset > maxOffset {
		return 0, problem.NotFound("")
	}
	return offset, nil
}

// atOffset is the page's own address at another place of the queue.
func (v *visit) atOffset(offset int64) string {
	query := maps.Clone(v.QueryParams())
	query.Set("offset", strconv.FormatInt(offset, 10))
	return "?" + query.Encode()
}

// riskTabs are the parts of the queue, and the states of the current part.
func (v *visit) riskTabs() (shown []api.RiskFlagStatus, tabs site.Tabs) {
	tabs.Label = "Flags"
	for _, s := range riskStates {
		current := s.name == v.QueryParam("show")
		path := v.at(riskPath)
		if s.name != "" {
			path += "?show=" + s.name
		}
		if current {
			shown = s.states
		}
		tabs.Links = append(tabs.Links, site.Link{Path: path, Name: s.label, Current: current})
	}
	return shown, tabs
}

// riskTable sends all flags as a file.
func riskTable(v *visit) error {
	return v.fileOf("listRiskFlags", "risk-flags", url.Values{"program_id": {v.program.ID}}, []field{
		timeField("Found", "created_at"),
		{"Kind", func(r fileRow) string { return plain.Cell(wordsOf(r.cell("kind"))) }},
		wordField("Severity", "severity"),
		wordField("State", "status"),
		{"Partner", func(r fileRow) string {
			p, _ := member[api.RiskFlagPartner](r, "partner")
			return plain.Cell(cmp.Or(opt.Value(p.DisplayName), p.Handle, p.Email))
		}},
		timeField("Decided", "resolved_at"),
		plainField("Note", "resolution_note"),
		rowID,
	})
}

// riskData holds the data of a flag's page.
type riskData struct {
	api.RiskFlag
	Evidence evidence
	Name     string // of the partner
	Closer   string // who closed it
	Open     bool
}

// risk shows one flag: what the check saw, and who shares what with whom.
func risk(v *visit) error {
	reply, err := v.console.api.RetrieveRiskFlagWithResponse(v.Ctx(), v.PathValue("id"),
		&api.RetrieveRiskFlagParams{ProgramID: &v.program.ID})
	if err != nil {
		return err
	}
	flag := *reply.JSON200
	data := riskData{RiskFlag: flag, Open: slices.Contains(riskStates[0].states, flag.Status)}
	if data.Evidence, err = v.evidence(flag); err != nil {
		return err
	}
	if flag.Partner != nil {
		data.Name = nameOr(flag.Partner.DisplayName, flag.Partner.Email)
	}
	if by := opt.Value(flag.ResolvedBy); by != "" {
		names, err := v.console.People.Names(v.Ctx(), v.unit(), []string{by})
		if err != nil {
			return err
		}
		data.Closer = named(by, names)
	}
	return v.show(sheet{"risk", riskPath, site.Words(flag.Kind, vocabulary), data})
}

// reviewRisk marks the flag as in review.
func reviewRisk(v *visit) error {
	if err := v.send("reviewRiskFlag", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, risk)
	}
	return v.done(v.at(riskPath+"/"+v.PathValue("id")), "The flag is in review.")
}

// resolveRisk closes the flag with a note.
func resolveRisk(v *visit) error {
	if err := v.send("resolveRiskFlag", v.body("resolveRiskFlag"), nil, v.PathValue("id")); err != nil {
		return v.again(err, risk)
	}
	return v.done(v.at(riskPath), "The flag is closed.")
}

// Verdict is a line with the two ways to close a flag.
func (f frame) Verdict() site.Input {
	return f.Line("radios", "status", "What was it?", string(api.RiskFlagResolutionResolved)).Of([]site.Option{
		{Value: string(api.RiskFlagResolutionResolved), Label: "Confirmed", Hint: "Action was taken."},
		{Value: string(api.RiskFlagResolutionDismissed), Label: "False alarm", Hint: "The partner continues as before."},
	})
}
