package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/problem"
	"rail/server/team"
	"rail/server/work"
)

var queries = db.New()

// visit is one request and its session. Its locale has English words, with the figures of the browser's place.
type visit struct {
	site.Visit
	shared

	console *Console
	session team.Session
	actor   auth.Actor     // the person, as the API sees them
	program db.Program     // of a page of a program
	refresh int            // the seconds after which a browser without scripts loads the page again
	fault   *problem.Error // why the form was refused, for the page that shows it again
}

// unit returns a unit of work of the person, for pages that call the rules.
func (v *visit) unit() *work.Unit {
	return v.Unit(work.Unit{
		OrgID: v.session.User.OrgID, Plan: v.console.Plan.With(v.actor.Plan), Actor: v.actor.Work(),
	})
}

// Can reports whether the person's role has a scope. Templates hide forms that would be refused.
func (v *visit) Can(scope string) bool { return v.actor.Allows([]string{scope, "write"}) }

// ownersOnly refuses people who are not owners. Only owners manage API keys and connections to processors.
func (v *visit) ownersOnly() error {
	if v.session.User.Role.ManagesPeople() {
		return nil
	}
	return problem.New(problem.InsufficientScope, "Only owners can do this.")
}

// Identify loads the session and the program in the page's address. From then on the API is requested as the person.
func (v *visit) Identify() error {
	token := v.console.cookie.Value(v)
	if !tokenForm.MatchString(token) {
		return team.ErrSignedOut
	}
	session, err := v.console.People.Session(v.Request().Context(), token)
	if errors.Is(err, team.ErrSignedOut) {
		v.console.cookie.Clear(v)
	}
	if err != nil {
		return err
	}
	v.Token, v.session, v.actor = token, session, session.Actor()
	v.SetRequest(v.Request().WithContext(middleware.As(v.Ctx(), v.actor)))
	if err := v.console.Limit("person "+session.User.ID, v.console.PerPerson); err != nil {
		return err
	}
	if v.Request().Method == http.MethodPost {
		v.Response().Before(v.keepPosition)
	}
	return v.enter()
}

// enter loads the program in the page's address. Another organization's program is a 404, like an unknown one.
func (v *visit) enter() error { return v.enterProgram(v.PathValue("program")) }

// enterProgram loads a program; "" is none.
func (v *visit) enterProgram(id string) error {
	if id == "" {
		return nil
	}
	program, err := queries.ProgramGet(v.Ctx(), v.console.Pool, db.ProgramGetParams{ID: id, OrgID: v.session.User.OrgID})
	if errors.Is(err, pgx.ErrNoRows) {
		return site.NotFound()
	}
	v.program, v.Locale = program, v.Locale.In(clock.StoredZone(program.TimeZone))
	return err
}

// begins returns a day of the page's address as the moment at which it begins in the
// program's zone; the API takes a bare day for one of UTC. Other text is left to the API.
func (v *visit) begins(name string) string {
	text := cleaned(v.QueryParam(name))
	if day, bare, err := clock.ParseDate(text); err == nil && bare {
		return clock.Midnight(day.Time, v.Locale.Zone()).String()
	}
	return text
}

// setDays adds the days of the page's address that are given to a query.
func (v *visit) setDays(query url.Values, names ...string) {
	for _, name := range names {
		if text := v.begins(name); text != "" {
			query.Set(name, text)
		}
	}
}

// at returns the address of a page of the visit's program.
func (v *visit) at(path string) string { return "/console/p/" + v.program.ID + path }

// value returns a field of the form, cleaned.
func (v *visit) value(name string) string { return cleaned(url.Values(v.Form).Get(name)) }

// values returns all values of a field, such as checked boxes.
func (v *visit) values(name string) []string {
	out := make([]string, 0, len(v.Form[name]))
	for _, text := range v.Form[name] {
		out = append(out, cleaned(text))
	}
	return out
}

// cleaned removes control characters except line breaks and tabs, and broken UTF-8. Browsers send neither, and the
// database refuses some of them.
func cleaned(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
}
