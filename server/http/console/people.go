package console

import (
	"rail/server/http/site"
	"rail/server/team"
)

var peopleRoutes = map[string]route{
	"GET /console/team":                {Do: people},
	"POST /console/team/invite":        {Do: invite},
	"POST /console/team/uninvite":      {Do: uninvite},
	"POST /console/team/{id}/role":     {Do: changeRole},
	"POST /console/team/{id}/disable":  {Do: disablePerson},
	"POST /console/team/{id}/enable":   {Do: enablePerson},
	"POST /console/team/{id}/remove":   {Do: removePerson},
	"POST /console/team/{id}/password": {Do: resetPerson},
}

// roles are the roles with their permissions.
var roles = []site.Option{
	{Value: string(team.Owner), Label: "Owner", Hint: "Everything, including people and keys."},
	{Value: string(team.Manager), Label: "Manager", Hint: "Everything in programs except payouts and people."},
	{Value: string(team.Finance), Label: "Finance", Hint: "Sees everything, corrects sales and commissions, creates rules, confirms payouts."},
	{Value: string(team.Viewer), Label: "Viewer", Hint: "Sees everything, changes nothing."},
}

const peopleTitle = "Team"

// peopleData holds the data of the team page.
type peopleData struct {
	Organization string
	Users        []team.User
	Invited      []team.Invited
	Manages      bool
	Me           string
	Link         string // a link that was just made, shown once
	Log          []entry
}

// people shows the organization's people and invitations.
func people(v *visit) error { return v.showPeople("") }

func (v *visit) showPeople(link string) error {
	users, err := v.console.People.Users(v.Ctx(), v.unit())
	if err != nil {
		return err
	}
	data := peopleData{
		Organization: v.session.Org.Name, Users: users, Manages: v.session.User.Role.ManagesPeople(),
		Me: v.session.User.ID, Link: link,
	}
	if data.Manages {
		if data.Invited, err = v.console.People.Invited(v.Ctx(), v.unit()); err != nil {
			return err
		}
		if data.Log, err = v.peopleLog(); err != nil {
			return err
		}
	}
	return v.show(sheet{"team", "", peopleTitle, data})
}

// invite makes an invitation. Its link is shown once where it cannot be mailed.
func invite(v *visit) error {
	link, err := v.console.People.Invite(v.Ctx(), v.unit(), v.value("email"), team.Role(v.value("role")))
	if err != nil {
		return v.again(err, people)
	}
	if link == "" {
		return v.done("/console/team", "The invitation is sent.")
	}
	return v.showPeople(link)
}

func uninvite(v *visit) error {
	return v.peopleForm("The invitation is withdrawn.",
		v.console.People.Uninvite(v.Ctx(), v.unit(), v.value("email")))
}

func changeRole(v *visit) error {
	return v.peopleForm("The role is changed.",
		v.console.People.ChangeRole(v.Ctx(), v.unit(), v.PathValue("id"), team.Role(v.value("role"))))
}

func disablePerson(v *visit) error {
	return v.peopleForm("This person can no longer sign in.",
		v.console.People.Disable(v.Ctx(), v.unit(), v.PathValue("id")))
}

func enablePerson(v *visit) error {
	return v.peopleForm("This person can sign in again.",
		v.console.People.Enable(v.Ctx(), v.unit(), v.PathValue("id")))
}

func removePerson(v *visit) error {
	return v.peopleForm("This person is removed.", v.console.People.Remove(v.Ctx(), v.unit(), v.PathValue("id")))
}

// resetPerson creates a link with which the person chooses a new password.
func resetPerson(v *visit) error {
	link, err := v.console.People.ResetLinkFor(v.Ctx(), v.unit(), v.PathValue("id"), v.value("factor") != "")
	if err != nil {
		return v.again(err, people)
	}
	return v.showPeople(link)
}

// peopleForm redirects after a change, or shows the form again with the refusal.
func (v *visit) peopleForm(notice string, err error) error {
	if err != nil {
		return v.again(err, people)
	}
	return v.done("/console/team", notice)
}
