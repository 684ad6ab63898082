package console

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/http/join"
	"rail/server/http/site"
	"rail/server/http/site/branding"
	"rail/server/ident/slug"
	"rail/server/opt"
	"rail/server/problem"
)

var portalRoutes = map[string]route{
	"GET /console/p/{program}/portal":                  {Do: portalPage},
	"POST /console/p/{program}/portal":                 {Do: savePortal},
	"GET /console/p/{program}/portal/preview":          {Do: previewPortal},
	"POST /console/p/{program}/portal/preview":         {Do: previewPortal},
	"POST /console/p/{program}/portal/logo":            {Do: saveImage, File: "image"},
	"POST /console/p/{program}/portal/logo_dark":       {Do: saveImage, File: "image"},
	"POST /console/p/{program}/portal/hero":            {Do: saveImage, File: "image"},
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
	Card               string // the path of the picture of links; "" while the join page is closed
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
	if s.Join == api.JoinModeOpen {
		data.Card = v.cardPath(s)
	}
	v.frames()
	return v.show(sheet{"portal", "/portal", "Portal and join page", data})
}

// cardPath returns the path of the picture of links to the join page.
func (v *visit) cardPath(s api.PortalSettings) string {
	c := branding.Card{
		Name: v.program.Name, Website: v.program.WebsiteURL, Headline: s.Headline, Accent: s.AccentColor,
		Second: s.SecondColor,
	}
	if s.LogoURL != nil {
		c.LogoVersion = new(path.Base(*s.LogoURL))
	}
	return branding.CardPath(v.program.ID, c)
}

// PathOf returns the path of an image on the server that is asked, whatever its name; "" for none.
func (portalData) PathOf(address *string) string {
	u, err := url.Parse(opt.Value(address))
	if err != nil {
		return ""
	}
	return u.Path
}

// Accent is the colour that the form shows.
func (d portalData) Accent() string { return cmp.Or(opt.Value(d.AccentColor), site.DefaultAccent) }

// Second is the second colour that the form shows.
func (d portalData) Second() string { return cmp.Or(opt.Value(d.SecondColor), site.DefaultSecond) }

// Contrast describes how pages show an accent.
func (portalData) Contrast(accent string) string {
	return contrastText(site.AccentContrast(accent), "readable", "hard to read")
}

// SecondContrast describes how pages show a second colour.
func (portalData) SecondContrast(second string) string {
	return contrastText(site.SecondContrast(second), "visible", "hard to see")
}

// contrastText describes how pages show a colour.
func contrastText(c site.Contrast, enough, low string) string {
	if c.Enough {
		return fmt.Sprintf("Contrast %.1f : 1, %s. Used as it is; %s in dark mode.", c.Lowest, enough, c.Dark)
	}
	return fmt.Sprintf("Contrast %.1f : 1, %s. Pages use %s instead, and %s in dark mode.", c.Lowest, low, c.Light, c.Dark)
}

// Typefaces are the typefaces of the form.
func (portalData) Typefaces() []site.Option {
	return []site.Option{
		{Value: "inter", Label: "Inter"},
		{Value: "system", Label: "Sans serif of the reader’s device"},
		{Value: "serif", Label: "Serif"},
		{Value: "rounded", Label: "Rounded (Nunito)"},
	}
}

// FAQRows are the rows of the form for questions: those in use and two more.
func (d portalData) FAQRows() []faqRow {
	rows := make([]faqRow, min(max(len(d.Faq)+2, 3), maxFAQ))
	for i := range rows {
		rows[i].Name = fmt.Sprintf("faq[%d]", i)
		if i < len(d.Faq) {
			rows[i].PortalFAQ = d.Faq[i]
		}
	}
	return rows
}

// faqRow is a question and its answer, with the beginning of the names of their fields.
type faqRow struct {
	api.PortalFAQ
	Name string
}

// The most questions and benefits, as in the API.
const (
	maxFAQ      = 8
	maxBenefits = 3
)

// BenefitRows are the lines of the form for benefits.
func (d portalData) BenefitRows() []string {
	return append(slices.Clone(d.Benefits), "", "", "")[:maxBenefits]
}

// HasCalculator reports whether the join page has a calculator.
func (d portalData) HasCalculator() bool { return d.Calculator != nil }

// Standard reports whether the program has no accent colour.
func (d portalData) Standard() bool { return d.AccentColor == nil }

// StandardSecond reports whether the program has no second colour.
func (d portalData) StandardSecond() bool { return d.SecondColor == nil }

// Calculates returns the calculator, or the values with which it begins.
func (d portalData) Calculates() api.PortalCalculator {
	if d.Calculator == nil {
		return api.PortalCalculator{Customers: 10}
	}
	return *d.Calculator
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

// imageForm is a form for an image.
type imageForm struct {
	Form                             frame
	Kind, Label, Action, Shown, Hint string
}

// Image returns the form for an image of a kind.
func (f frame) Image(kind, label string, address *string, hint string) imageForm {
	path := "/portal/" + kind
	return imageForm{f.For(path), kind, label, f.At(path), portalData{}.PathOf(address), hint}
}

// Lines are several texts as they are typed, one per line.
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
func savePortal(v *visit) error { return v.updatePortal(v.portalBody(), "The settings are saved.") }

// portalBody returns the body of a change of the settings from one of the forms.
func (v *visit) portalBody() map[string]any {
	if v.Form.Has("landing") {
		v.closeRanks("benefits[%d]")
		v.closeRanks("faq[%d].question", "faq[%d].answer")
	}
	body := v.body("updatePortalSettings")
	for _, name := range []string{"link_hosts", "embed_hosts"} {
		if delete(body, name); v.Form.Has(name) {
			body[name] = strings.Fields(v.value(name))
		}
	}
	if v.value("accent_standard") != "" {
		body["accent_color"] = nil
	}
	if v.value("second_standard") != "" {
		body["second_color"] = nil
	}
	if !v.Form.Has("landing") {
		return body
	}
	if v.value("calculates") == "" {
		body["calculator"] = nil
	}
	benefits, faq := []any{}, []any{}
	for i := range maxFAQ {
		if text := v.value(fmt.Sprintf("benefits[%d]", i)); text != "" {
			benefits = append(benefits, text)
		}
		question, answer := v.value(fmt.Sprintf("faq[%d].question", i)), v.value(fmt.Sprintf("faq[%d].answer", i))
		if question+answer != "" {
			faq = append(faq, map[string]any{"question": question, "answer": answer})
		}
	}
	body["benefits"], body["faq"] = benefits, faq
	return body
}

// closeRanks moves typed rows up into empty ones, so that a refusal of the API finds its row. names are the fields of a
// row, each with a verb for its number.
func (v *visit) closeRanks(names ...string) {
	rows := make([][]string, 0, maxFAQ)
	for i := range maxFAQ {
		var row []string
		for _, name := range names {
			row = append(row, v.value(fmt.Sprintf(name, i)))
		}
		if strings.Join(row, "") != "" {
			rows = append(rows, row)
		}
	}
	for i := range maxFAQ {
		for n, name := range names {
			text := ""
			if i < len(rows) {
				text = rows[i][n]
			}
			v.Form[fmt.Sprintf(name, i)] = []string{text}
		}
	}
}

// The headers with sentences about the colours of a draft, for the script.
const (
	contrastHeader       = "Rail-Contrast"
	secondContrastHeader = "Rail-Second-Contrast"
)

// previewPortal answers with the join page as the form would make it.
func previewPortal(v *visit) error {
	site.FramedHere(v.Response().Header())
	draft, err := v.draft()
	if p, ok := refused(err); ok {
		return v.note(http.StatusUnprocessableEntity, "There is no preview of this", p.Message)
	}
	if err != nil {
		return err
	}
	if accent, err := draft.AccentColor.Get(); err == nil {
		v.Response().Header().Set(contrastHeader, portalData{}.Contrast(accent))
	}
	if second, err := draft.SecondColor.Get(); err == nil {
		v.Response().Header().Set(secondContrastHeader, portalData{}.SecondContrast(second))
	}
	return v.console.Preview(v, v.session.User.OrgID, v.program.ID, join.ChangesOf(draft))
}

// draft returns the settings in the form, checked like those of a request; none for a GET.
func (v *visit) draft() (draft api.PortalSettingsUpdate, err error) {
	if v.Form == nil {
		return draft, nil
	}
	body := v.portalBody()
	if err := v.console.Document.ValidateBody("PortalSettingsUpdate", body); err != nil {
		return draft, err
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return draft, err
	}
	return draft, json.Unmarshal(raw, &draft)
}

// saveImage stores another logo or picture, or removes it.
func saveImage(v *visit) error {
	kind := path.Base(v.Request().URL.Path)
	name := map[string]string{"logo": "The logo", "logo_dark": "The logo for dark mode", "hero": "The picture"}[kind]
	if v.value("do") == "remove" {
		return v.updatePortal(map[string]any{kind: nil}, name+" is removed.")
	}
	if len(v.Upload.Body) == 0 {
		return v.again(problem.On("image", problem.ParameterMissing, "Choose a file first."), portalPage)
	}
	data := base64.StdEncoding.EncodeToString(v.Upload.Body)
	return v.updatePortal(map[string]any{kind: map[string]any{"data": data}}, name+" is saved.")
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
