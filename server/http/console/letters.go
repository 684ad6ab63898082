package console

import (
	"html"

	"rail/gen/api"
	"rail/server/http/site"
)

// Methods for the templates of mails.

// Editable reports whether the mail can still be changed.
func (d mailData) Editable() bool {
	return d.Status == api.CampaignStatusDraft || d.Status == api.CampaignStatusPaused ||
		d.Status == api.CampaignStatusScheduled
}

// Sendable reports whether it can be sent now.
func (d mailData) Sendable() bool {
	return d.Status == api.CampaignStatusDraft || d.Status == api.CampaignStatusPaused
}

// Pausable reports whether it can be held.
func (d mailData) Pausable() bool {
	return d.Status == api.CampaignStatusSending || d.Status == api.CampaignStatusScheduled
}

// At is when the mail is to be sent, as a field has it.
func (d mailData) At() string {
	if d.ScheduledAt == nil {
		return ""
	}
	return d.ScheduledAt.UTC().Format(fieldTime)
}

// Sure is the form that sends the mail.
func (d mailData) Sure(f frame) site.Confirm {
	out := site.Confirm{
		Action: f.at("/mails/" + d.ID + "/send"), Back: f.at("/mails/" + d.ID), Button: "Send it now",
		Points: []string{d.To + ": " + f.partnersIn(d.Letter.Total) + "."},
		Hidden: []site.Hidden{{Name: "form_token", Value: f.FormToken()}, {Name: "once", Value: f.Once()}},
	}
	if n := d.Letter.Skipped; n > 0 {
		out.Points = append(out.Points, f.Locale.Count(n)+" of them have unsubscribed and get nothing.")
	}
	out.Points = append(out.Points, "Sent messages cannot be recalled.")
	return out
}

// Letter is a line for the text of a mail.
func (f frame) Letter(name, label, stored string) site.Input {
	in := f.Line("textarea", name, label, stored).Says("Markdown: **bold**, *italic*, [a link](https://…), # a heading.")
	in.Most = maxLetter
	return in
}

// Listed is a line with several values to tick that are chosen already, unless the form says otherwise.
func (f frame) Listed(name, label string, options []site.Option) site.Input {
	in := f.Line("boxes", name, label, nil)
	if in.Options = options; f.Form != nil {
		in.Options = site.Choose(options, f.values(name)...)
	}
	return in
}

// ForChosen is the box of a mail that is for chosen partners alone.
func (f frame) ForChosen(d mailData) site.Input {
	n := max(len(d.Chosen), len(d.Letter.Audience.PartnerIds))
	return f.Tick("chosen", "Only to "+oneOrMany(n, "the chosen partner", "the "+f.Locale.Count(int64(n))+" chosen partners"), n > 0)
}

// ToSome reports whether the mail is, or was, for chosen partners alone.
func (d mailData) ToSome() bool { return len(d.Chosen)+len(d.Letter.Audience.PartnerIds) > 0 }

// States are the partners' states that a mail can be for.
func (f frame) States(stored []api.PartnerStatus) site.Input {
	options, named := []site.Option{}, []string{}
	for _, s := range []api.PartnerStatus{api.PartnerStatusActive, api.PartnerStatusPending, api.PartnerStatusSuspended} {
		options = append(options, site.Option{Value: string(s), Label: site.Words(string(s), vocabulary)})
	}
	for _, s := range stored {
		named = append(named, string(s))
	}
	return f.Boxes("audience.statuses", "In which state", named, options)
}

// partnersIn is a number of partners.
func (v *visit) partnersIn(n int64) string {
	return v.Locale.Count(n) + " " + oneOrMany(n, "partner", "partners")
}

// Page returns the mail as an HTML document, with the footer of bulk mail.
func (d mailData) Page(program string) string {
	return `<!doctype html><html lang="en"><title>` + html.EscapeString(d.Letter.Subject) + "</title>" + d.Letter.HTML +
		"<hr><p><small>You get this mail as a partner of " + html.EscapeString(program) + ". <u>Unsubscribe</u></small></p>"
}
