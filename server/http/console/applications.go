package console

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/problem"
)

var applicationRoutes = map[string]route{
	"GET /console/p/{program}/applications":     {Do: applications},
	"GET /console/p/{program}/applications.csv": {Do: applicationsTable},
	"POST /console/p/{program}/applications":    {Do: decideApplications},

	"POST /console/p/{program}/applications/reopen": {Do: reopenApplications},
}

// application is a row of the queue.
type application struct {
	ID, Email, Name, Website, Country, Group, Partner string
	Answers                                           []answered
	Status                                            api.ApplicationStatus
	Reason                                            string
	At                                                clock.Time
}

// answered is a question of the program with the applicant's answer.
type answered struct{ Question, Answer string }

// applicationStates are the states by which the queue can be seen.
var applicationStates = []section{
	{"", "To review"}, {"approved", "Approved"}, {"rejected", "Rejected"}, {"withdrawn", "Withdrawn"},
}

// applicationBulk has the actions on several applications.
var applicationBulk = site.Bulk{What: "applications", Actions: []site.Action{
	{Label: "Approve", Name: "do", Value: "approve"}, {Label: "Reject", Name: "do", Value: "reject", Danger: true},
}}

// applications shows who wants to become a partner, with the answers.
func applications(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	status := v.query("status").Get("status")
	state := api.ApplicationStatus(status)
	if status == "" {
		state = api.ApplicationStatusPending
	}
	reply, err := v.console.api.ListApplicationsWithResponse(v.Ctx(), &api.ListApplicationsParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before, Limit: new(int64(rowsOfPage)),
		Status: []api.ApplicationStatus{state},
		Expand: []api.ApplicationExpand{api.ApplicationExpandPartner, api.ApplicationExpandGroup},
	})
	if err != nil {
		return err
	}
	labels, err := v.labels()
	if err != nil {
		return err
	}
	list := reply.JSON200
	rows := make([]application, len(list.Data))
	for i, a := range list.Data {
		rows[i] = rowOf(a, labels)
	}
	found := pageOf(list.Data, list.HasMore, list.TotalCount)
	return v.show(sheet{"applications", "/applications", "Applications", struct {
		Tabs    site.Tabs
		Open    bool
		Bulk    site.Bulk
		Listing site.Listing
	}{
		v.applicationTabs(status), state == api.ApplicationStatusPending, applicationBulk,
		site.Listed(v.Request().URL, turn, found, func(a api.Application) string { return a.ID }, rows),
	}})
}

// applicationTabs lead to the applications of each state.
func (v *visit) applicationTabs(status string) site.Tabs {
	tabs := site.Tabs{Label: "Applications by state"}
	for _, s := range applicationStates {
		path := v.at("/applications")
		if s.path != "" {
			path += "?status=" + s.path
		}
		tabs.Links = append(tabs.Links, site.Link{Path: path, Name: s.name, Current: s.path == status})
	}
	return tabs
}

// rowOf is an application as the queue shows it.
func rowOf(a api.Application, labels map[string]string) application {
	out := application{
		ID: a.ID, Email: a.Email, Name: a.Email, Status: a.Status, Reason: opt.Value(a.RejectionReason), At: a.CreatedAt,
		Partner: opt.Value(a.PartnerID), Answers: answersOf(a.Answers, labels),
	}
	if g, err := a.Group.Get(); err == nil {
		out.Group = g.Name
	}
	if p, err := a.Partner.Get(); err == nil {
		out.Name, out.Website, out.Country = nameOf(p), opt.Value(p.WebsiteURL), opt.Value(p.CountryCode)
	}
	return out
}

// maxAnswer is how much of an answer the queue shows.
const maxAnswer = 600

// answersOf reads the answers, which are an object of anybody's members; those of the join page have the labels
// of its questions.
func answersOf(raw json.RawMessage, labels map[string]string) []answered {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	out := make([]answered, 0, len(all))
	for question, answer := range all {
		text, ok := answer.(string)
		if !ok {
			written, _ := json.Marshal(answer)
			text = string(written)
		}
		label := cmp.Or(labels[question], strings.ReplaceAll(question, "_", " "))
		out = append(out, answered{label, plain.Short(text, maxAnswer)})
	}
	slices.SortFunc(out, func(a, b answered) int { return strings.Compare(a.Question, b.Question) })
	return out
}

func applicationsTable(v *visit) error {
	query := v.query("status")
	query.Set("program_id", v.program.ID)
	query["expand[]"] = []string{"partner", "group"}
	rows, err := v.fileRows("listApplications", query)
	if err != nil {
		return err
	}
	labels, err := v.labels()
	if err != nil {
		return err
	}
	return v.sendRows("applications", applicationFields(rows, labels), rows)
}

// maxQuestions is how many questions have a column in the file of applications.
const maxQuestions = 50

// applicationFields are the columns of the file of applications, one for each answered question.
func applicationFields(rows []fileRow, labels map[string]string) []field {
	answers := func(r fileRow) []answered { return answersOf(json.RawMessage(r.cell("answers")), labels) }
	var questions []string
	for _, r := range rows {
		for _, a := range answers(r) {
			if !slices.Contains(questions, a.Question) && len(questions) < maxQuestions {
				questions = append(questions, a.Question)
			}
		}
	}
	slices.Sort(questions)
	out := []field{
		timeField("Applied", "created_at"), partnerField, plainField("Email", "email"), groupField,
		wordField("State", "status"), wordField("Source", "source"), timeField("Decided", "reviewed_at"),
		plainField("Reason", "rejection_reason"),
	}
	for _, question := range questions {
		out = append(out, field{plain.Cell(question), func(r fileRow) string {
			for _, a := range answers(r) {
				if a.Question == question {
					return plain.Cell(a.Answer)
				}
			}
			return ""
		}})
	}
	return append(out, rowID)
}

// decideApplications approves or rejects the selected applications. The applicants' emails wait for 10 minutes, and
// the notice undoes the decisions.
func decideApplications(v *visit) error {
	operation, says, body := "approveApplication", "approved", any(nil)
	switch v.value("do") {
	case "approve":
	case "reject":
		operation, says, body = "rejectApplication", "rejected", map[string]any{"reason": v.value("reason")}
	default:
		return v.again(problem.New(problem.ParameterMissing, "Choose Approve or Reject."), applications)
	}
	var decided []string
	notice, err := v.each("application is "+says, "applications are "+says, func(id string) error {
		err := v.send(operation, body, nil, id)
		if err == nil {
			decided = append(decided, id)
		}
		return err
	})
	if err != nil {
		return v.again(err, applications)
	}
	if len(decided) == 0 {
		return v.done(v.at("/applications"), notice)
	}
	return v.undoable(v.at("/applications"), notice+v.emailsWait(len(decided)), site.Undo{
		Path: v.at("/applications/reopen"), Fields: url.Values{"id": decided},
	})
}

// reopenApplications undoes decisions on applications.
func reopenApplications(v *visit) error {
	notice, err := v.each("application waits for a decision again", "applications wait for a decision again",
		func(id string) error { return v.send("reopenApplication", nil, nil, id) })
	if err != nil {
		return v.again(err, applications)
	}
	return v.done(v.at("/applications"), notice)
}
