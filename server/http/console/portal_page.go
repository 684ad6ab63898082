package console

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/slug"
)

var portalRoutes = map[string]route{
	"GET /console/p/{program}/portal":                  {Do: portalPage},
	"POST /console/p/{program}/portal":                 {Do: savePortal},
	"POST /console/p/{program}/portal/logo":            {Do: saveLogo, File: "logo"},
	"POST /console/p/{program}/portal/rule":            {Do: saveJoinRule},
	"POST /console/p/{program}/portal/questions":       {Do: addQuestion},
	"POST /console/p/{program}/portal/questions/{key}": {Do: changeQuestion},
}

// portalData holds the data of the page about the portal and the join page.
type portalData struct {
	api.PortalSettings
	Groups             []site.Option
	Rule               api.AutoApproval
	Countries, Domains string
}

// portalPage shows the settings of the portal and the join page.
func portalPage(v *visit) error {
	s, err := v.portalSettings()
	if err != nil {
		return err
	}
	groups, err := v.groupChoices()
	if err != nil {
		return err
	}
	data := portalData{PortalSettings: s, Groups: groups}
	if s.AutoApprove != nil {
		data.Rule = *s.AutoApprove
	}
	data.Countries, data.Domains = strings.Join(data.Rule.Countries, " "), strings.Join(data.Rule.EmailDomains, "\n")
	return v.show(sheet{"portal", "/portal", "Portal and join page", data})
}

// LogoPath is the address of the logo on the server that is asked, whatever its name.
func (d portalData) LogoPath() string {
	u, err := url.Parse(opt.Value(d.LogoURL))
	if err != nil {
		return ""
	}
	return u.Path
}

// When is the mode of auto-approval.
func (d portalData) When() string {
	if d.AutoApprove == nil {
		return "never"
	}
	return "some"
}

// Whens are the modes that the form offers.
func (portalData) Whens() []site.Option {
	return []site.Option{
		{Value: "never", Label: "Nobody", Hint: "Review every application."},
		{Value: "some", Label: "Applicants who match all of these"},
	}
}

// File is a line for a file.
func (f frame) File(name, label, accept string) site.Input {
	in := f.Line("file", name, label, nil)
	in.Accept = accept
	return in
}

// Lines are several texts as they are typed, one a line.
func (portalData) Lines(texts []string) string { return strings.Join(texts, "\n") }

// portalSettings are those of the program.
func (v *visit) portalSettings() (api.PortalSettings, error) {
	reply, err := v.console.api.RetrievePortalSettingsWithResponse(v.Ctx(), v.program.ID, nil)
	if err != nil {
		return api.PortalSettings{}, err
	}
	return *reply.JSON200, nil
}

// updatePortal changes the settings and shows the page again.
func (v *visit) updatePortal(body map[string]any, notice string) error {
	if err := v.send("updatePortalSettings", body, nil, v.program.ID); err != nil {
		return v.again(err, portalPage)
	}
	return v.done(v.at("/portal"), notice)
}

// savePortal changes the look and the words.
func savePortal(v *visit) error {
	body := v.body("updatePortalSettings")
	for _, name := range []string{"link_hosts", "embed_hosts"} {
		body[name] = strings.Fields(v.value(name))
	}
	return v.updatePortal(body, "The settings are saved.")
}

// saveLogo stores another logo, or takes it away.
func saveLogo(v *visit) error {
	if v.value("do") == "remove" {
		return v.updatePortal(map[string]any{"logo": nil}, "The logo is gone.")
	}
	if len(v.Upload.Body) == 0 {
		return v.again(problem.On("logo", problem.ParameterMissing, "Choose a file first."), portalPage)
	}
	data := base64.StdEncoding.EncodeToString(v.Upload.Body)
	return v.updatePortal(map[string]any{"logo": map[string]any{"data": data}}, "The logo is saved.")
}

// saveJoinRule saves the rule of auto-approval.
func saveJoinRule(v *visit) error {
	var rule any
	if v.value("when") == "some" {
		rule = map[string]any{
			"group_ids": append([]string{}, v.values("group_ids")...), "countries": words(v.value("countries")),
			"email_domains": words(v.value("email_domains")),
		}
	}
	return v.updatePortal(map[string]any{"auto_approve": rule}, "The rule is saved.")
}

// words are those of a text, which spaces, commas and lines part.
func words(text string) []string { return strings.Fields(strings.ReplaceAll(text, ",", " ")) }

// addQuestion puts a question behind the others.
func addQuestion(v *visit) error {
	s, err := v.portalSettings()
	if err != nil {
		return err
	}
	q := v.question()
	taken := make([]string, len(s.Questions))
	for i, other := range s.Questions {
		taken[i] = other.Key
	}
	q.Key = keyOfQuestion(q.Label, taken)
	return v.saveQuestions(append(s.Questions, q), "The question is added.")
}

// maxKey is how long the key of a question may be.
const maxKey = 40

// keyOfQuestion names the answers of a new question, by the words of its label.
func keyOfQuestion(label string, taken []string) string {
	stem := strings.Trim(strings.ReplaceAll(slug.Of(label, maxKey-3), "-", "_"), "_")
	if stem == "" {
		stem = "question"
	}
	key := stem
	for n := 2; slices.Contains(taken, key); n++ {
		key = fmt.Sprintf("%s_%d", stem, n)
	}
	return key
}

// changeQuestion saves, moves or removes a question.
func changeQuestion(v *visit) error {
	s, err := v.portalSettings()
	if err != nil {
		return err
	}
	list := s.Questions
	at := slices.IndexFunc(list, func(q api.PortalQuestion) bool { return q.Key == v.PathValue("key") })
	if at < 0 {
		return problem.New(problem.ResourceNotFound, "There is no such question.")
	}
	switch v.value("do") {
	case "remove":
		return v.saveQuestions(slices.Delete(list, at, at+1), "The question is deleted.")
	case "up":
		up := max(at-1, 0)
		list[at], list[up] = list[up], list[at]
		return v.saveQuestions(list, "The question is moved.")
	}
	q := v.question()
	q.Key = list[at].Key
	list[at] = q
	return v.saveQuestions(list, "The question is saved.")
}

// question reads a question from the form.
func (v *visit) question() api.PortalQuestion {
	q := api.PortalQuestion{
		Label: v.value("label"), Type: api.QuestionType(v.value("type")), Required: v.value("required") != "",
		Options: []string{},
	}
	if q.Type != api.QuestionTypeChoice {
		return q
	}
	for line := range strings.SplitSeq(v.value("options"), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			q.Options = append(q.Options, line)
		}
	}
	return q
}

func (v *visit) saveQuestions(list []api.PortalQuestion, notice string) error {
	return v.updatePortal(map[string]any{"questions": list}, notice)
}

// labels are the questions of the join page by their keys, for who reads the answers.
func (v *visit) labels() (map[string]string, error) {
	s, err := v.portalSettings()
	out := map[string]string{}
	for _, q := range s.Questions {
		out[q.Key] = q.Label
	}
	return out, err
}
