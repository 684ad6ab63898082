package join

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/auth/attempt"
	"rail/server/http/site"
	"rail/server/http/site/branding"
	"rail/server/locale"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/program/joining"
	"rail/server/program/partner"
	"rail/server/work"
	"rail/server/work/metadata"
	"rail/server/work/quota"
)

const (
	// trap is a field that people do not see: what is typed into it is not from them.
	trap = "contact_name"
	// thinking and patience are the shortest and the longest time between showing and sending the form.
	thinking = 2 * time.Second
	patience = 24 * time.Hour

	maxAnswer = 1000
)

// fields are those of every application; those of the questions come beside them.
var fields = []string{"email", "first_name", "last_name", "country_code", "website_url", "terms"}

// applyData holds the data of the page.
type applyData struct {
	Headline, Hero           string
	Introduction, Offer      []string
	Benefits                 []string
	Calculator               *calculator
	FAQ                      []answered
	Group, Path, Shown, Trap string
	TermsURL, TermsVersion   string
	Form                     site.Form
	About, Questions         []site.Input
	Draft                    bool
}

// answered is a frequent question with the paragraphs of its answer.
type answered struct {
	Question string
	Answer   []string
}

// show answers with the join page, or with what to do after the form was sent.
func show(v *visit) error {
	if !v.pages.Joining.Mail.Ready() {
		return errNoMail
	}
	if v.QueryParams().Has("sent") {
		return v.note(http.StatusOK, v.Locale.T("Check your inbox"), v.Locale.T(
			"We’ve emailed you a link. Click it within 48 hours to submit your application."))
	}
	return v.page(http.StatusOK, site.Form{Values: map[string]string{}})
}

// programWords matches names that already mention a partner program.
var programWords = regexp.MustCompile(`(?i)partner|affiliate|referral|program`)

// invitation is the default headline of a program.
func invitation(l *locale.Locale, name string) string {
	if programWords.MatchString(name) {
		return l.T("Join %s", name)
	}
	return l.T("Join the %s partner program", name)
}

// page answers with the form, as it was typed.
func (v *visit) page(status int, form site.Form) error {
	offer, err := v.offer()
	if err != nil {
		return err
	}
	title := invitation(v.Locale, v.program.Name)
	data := applyData{
		Headline:     cmp.Or(opt.Value(v.settings.Headline), title),
		Introduction: site.Paragraphs(opt.Value(v.settings.Introduction)),
		Offer:        offer,
		Benefits:     v.settings.Benefits,
		Path:         v.Request().URL.Path,
		Shown:        v.stamp(),
		Trap:         trap,
		Form:         form,
		About:        v.about(form),
		Questions:    v.questions(form),
		TermsURL:     opt.Value(v.program.TermsURL),
		TermsVersion: opt.Value(v.program.TermsVersion),
		Draft:        v.draft,
	}
	if data.Calculator, err = v.calculator(); err != nil {
		return err
	}
	for _, q := range v.settings.FAQ {
		data.FAQ = append(data.FAQ, answered{q.Question, site.Paragraphs(q.Answer)})
	}
	if version := v.settings.HeroVersion; version != nil {
		data.Hero = branding.ImagePath(v.program.ID, *version)
	}
	if v.group != nil {
		data.Group = v.group.Name
	}
	l := v.layout(title)
	l.Narrow = false
	if l.Share, err = v.share(data); err != nil {
		return err
	}
	return v.writeIn(l, status, "apply", data)
}

// maxShared bounds the description of a link to the page, in letters.
const maxShared = 200

// share returns how other sites show a link to the page.
func (v *visit) share(data applyData) (*site.Share, error) {
	if v.draft {
		return nil, nil
	}
	// Programs can have the same subdomain; the oldest has the address.
	name, err := v.PathValue("program"), error(nil)
	if name != v.program.Subdomain {
		name, err = joining.PageName(v.Ctx(), v.pages.Pool, v.program.OrgID, v.program.ID)
	}
	text := slices.Concat(data.Introduction, data.Benefits, data.Offer, []string{data.Headline})[0]
	text = plain.Short(text, maxShared)
	at := v.pages.BaseURL + PathOf(name)
	if v.group != nil {
		at += "/" + v.group.Slug
	}
	picture := branding.CardPath(v.program.ID, branding.Card{
		Name:        v.program.Name,
		Website:     v.program.WebsiteURL,
		Headline:    v.settings.Headline,
		Accent:      v.settings.AccentColor,
		Second:      v.settings.SecondColor,
		LogoVersion: v.settings.LogoVersion,
	})
	return &site.Share{Title: data.Headline, Text: text, URL: at, Picture: v.pages.BaseURL + picture}, err
}

// about are the fields of every application.
func (v *visit) about(form site.Form) []site.Input {
	t := v.Locale.T
	countries := []site.Option{{Label: t("Please choose")}}
	for _, code := range v.Locale.Countries() {
		countries = append(countries, site.Option{Value: code, Label: v.Locale.Country(code)})
	}
	return []site.Input{
		site.NewInput(form, "email", t("Email"), t("We’ll email you a link to confirm your address."), "email", "email", 254),
		site.NewInput(form, "first_name", t("First name"), "", "text", "given-name", 255),
		site.NewInput(form, "last_name", t("Last name"), "", "text", "family-name", 255).Maybe(),
		site.NewInput(form, "country_code", t("Country"), "", "select", "country", 0).Of(countries),
		site.NewInput(form, "website_url", t("Website or profile"), "", "text", "url", 2048).Maybe(),
	}
}

// questions returns the fields for the program's questions.
func (v *visit) questions(form site.Form) (out []site.Input) {
	for _, q := range v.settings.Questions {
		i := site.NewInput(form, fieldOf(q), q.Label, "", "text", "off", maxAnswer)
		switch q.Type {
		case api.QuestionTypeText:
			i.Type = "textarea"
		case api.QuestionTypeChoice:
			i.Type, i.Options = "select", []site.Option{{Label: v.Locale.T("Please choose")}}
			for _, o := range q.Options {
				i.Options = append(i.Options, site.Option{Value: o, Label: o})
			}
		case api.QuestionTypeNumber:
			i.Type = "number"
		case api.QuestionTypeAddress:
		}
		i.Optional = !q.Required
		out = append(out, i)
	}
	return out
}

// fieldOf is the name of a question's field.
func fieldOf(q api.PortalQuestion) string { return "answer_" + q.Key }

// stamp returns the signed time at which the form was shown.
func (v *visit) stamp() string {
	at := strconv.FormatInt(v.Now.Unix(), 10)
	return at + "." + v.pages.Keeper.Mark("join "+v.program.ID+" "+at)
}

// thought reports whether the form was shown long enough ago for a person, and not too long.
func (v *visit) thought() bool {
	at, mark, _ := strings.Cut(v.Form.Value("shown"), ".")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !v.pages.Keeper.Marked("join "+v.program.ID+" "+at, mark) {
		return false
	}
	took := v.Now.Sub(time.Unix(seconds, 0))
	return took >= thinking && took <= patience
}

// apply takes the form. What only a machine fills in is answered as if it had been taken.
func apply(v *visit) error {
	if !v.pages.Joining.Mail.Ready() {
		return errNoMail
	}
	if v.Form.Value(trap) != "" {
		return v.sent()
	}
	input, wrong := v.read()
	if len(wrong) == 0 && !v.thought() {
		wrong = site.Faults{"": v.Locale.T("Please check your answers and send the form again.")}
	}
	if len(wrong) > 0 {
		return v.again(wrong)
	}
	err := v.unit(quota.Own{}).Within(v.Ctx(), func(u *work.Unit) error {
		return v.pages.Joining.Submit(v.Ctx(), u, v.program.ID, input)
	})
	if err != nil {
		return err
	}
	return v.sent()
}

// sent sends the browser on after the form, so that a reload repeats nothing.
func (v *visit) sent() error { return v.Redirect(http.StatusSeeOther, v.Request().URL.Path+"?sent") }

// again shows the form with the typed values and their faults.
func (v *visit) again(wrong site.Faults) error {
	names := slices.Clone(fields)
	for _, q := range v.settings.Questions {
		names = append(names, fieldOf(q))
	}
	return v.page(http.StatusUnprocessableEntity, site.Form{Values: v.Form.Typed(names...), Errors: wrong})
}

// read reads the form and its faults.
func (v *visit) read() (joining.Submission, site.Faults) {
	wrong := site.Faults{}
	for _, name := range []string{"email", "first_name", "country_code"} {
		if v.name(name) == "" {
			wrong[name] = v.Locale.T("Please fill this in.")
		}
	}
	terms := v.Form.Has("terms")
	if v.program.TermsURL != nil && !terms {
		wrong["terms"] = v.Locale.T("You must agree to the terms.")
	}
	country := v.Form.Value("country_code")
	if slices.Contains(v.program.BlockedCountries, country) {
		wrong["country_code"] = v.Locale.T("The program does not accept partners from %s.", v.Locale.Country(country))
	}
	answers := v.answers(wrong)
	body := api.ApplicationCreate{
		ProgramID: v.program.ID, Email: v.Form.Value("email"), FirstName: opt.OrNil(v.name("first_name")),
		LastName: opt.OrNil(v.name("last_name")), CountryCode: opt.OrNil(country),
		WebsiteURL: opt.OrNil(address(v.Form.Value("website_url"))), Answers: answers,
	}
	if len(wrong) == 0 {
		maps.Copy(wrong, v.faults(v.check(&body)))
	}
	return joining.Submission{
		Email: body.Email, Locale: v.Locale,
		AddressHash: v.pages.Keeper.HashIP(v.program.ID, attempt.Network(v.pages.Address(v))),
		Application: joining.Application{
			GroupID: v.groupID(), FirstName: body.FirstName, LastName: body.LastName, WebsiteURL: body.WebsiteURL,
			CountryCode: body.CountryCode, TermsAgreed: v.program.TermsURL != nil && terms,
			TermsVersion: v.program.TermsVersion, Answers: answers,
		},
	}, wrong
}

// check validates an application like a request of the API.
func (v *visit) check(body *api.ApplicationCreate) error {
	if err := v.pages.Document.ValidateBody("ApplicationCreate", body); err != nil {
		return err
	}
	if err := partner.CheckApplicant(body.Email, body.FirstName, body.LastName); err != nil {
		return err
	}
	return metadata.Check(body.Answers, "answers")
}

// faults are those of the form's fields.
func (v *visit) faults(err error) site.Faults {
	wrong := site.FaultsOf(err, fields...)
	for field, text := range wrong {
		wrong[field] = v.Locale.Said(text)
	}
	return wrong
}

// answers reads the answers to the program's questions, by their keys.
func (v *visit) answers(wrong site.Faults) json.RawMessage {
	out := map[string]any{}
	for _, q := range v.settings.Questions {
		text := v.answer(fieldOf(q))
		switch {
		case text == "" && q.Required:
			wrong[fieldOf(q)] = v.Locale.T("Please fill this in.")
		case text == "":
		default:
			answer, fault := answerOf(q, text)
			if fault != "" {
				wrong[fieldOf(q)] = v.Locale.T(fault)
			}
			out[q.Key] = answer
		}
	}
	raw, _ := json.Marshal(out) // texts and numbers always are JSON
	return raw
}

// lineBreaks are the line breaks of a text area.
var lineBreaks = strings.NewReplacer("\r\n", " ", "\n", " ")

// answer returns the text of a field, its lines joined by line breaks.
func (v *visit) answer(field string) string {
	for i, text := range v.Form[field] {
		v.Form[field][i] = lineBreaks.Replace(text)
	}
	return v.name(field)
}

// name returns a field of one line without invisible characters.
func (v *visit) name(field string) string { return strings.TrimSpace(plain.Name(v.Form.Value(field))) }

// answerOf returns an answer as it is stored, or its fault.
func answerOf(q api.PortalQuestion, text string) (answer any, fault string) {
	switch n, err := strconv.ParseInt(text, 10, 64); {
	case len([]rune(text)) > maxAnswer:
		return nil, "This is too long."
	case q.Type == api.QuestionTypeNumber && err != nil:
		return nil, "Enter a whole number."
	case q.Type == api.QuestionTypeNumber:
		return n, ""
	case q.Type == api.QuestionTypeChoice && !slices.Contains(q.Options, text):
		return nil, "Choose one of the given answers."
	case q.Type == api.QuestionTypeAddress:
		text = address(text)
		if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, "Enter the address of a web page."
		}
	}
	return text, ""
}

// address is the address of a page, which people type without its beginning.
func address(text string) string {
	if text == "" || strings.Contains(text, "://") {
		return text
	}
	return "https://" + text
}
