package console

import (
	"net/url"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/outbound/mail"
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

// Waits reports whether it waits for its time.
func (d mailData) Waits() bool { return d.Status == api.CampaignStatusScheduled }

// At is the time of sending in a zone, as a field has it.
func (d mailData) At(zone *time.Location) string {
	if d.ScheduledAt == nil {
		return ""
	}
	return d.ScheduledAt.In(zone).Format(fieldTime)
}

// Confirmation is the form that asks before the mail is sent.
func (d mailData) Confirmation(f frame) site.Confirm {
	out := site.Confirm{
		Action: f.at("/mails/" + d.ID + "/send"), Back: f.at("/mails/" + d.ID), Button: "Send in 10 minutes",
		Other:  site.Action{Label: "Send now", Name: "do", Value: sendAtOnce},
		Points: []string{d.To + ": " + f.partnersIn(d.Preview.Total) + "."},
		Hidden: []site.Hidden{{Name: "form_token", Value: f.FormToken()}, {Name: "once", Value: f.Once()}},
	}
	if n := d.Preview.Skipped; n > 0 {
		out.Points = append(out.Points, f.Locale.Count(n)+" of them have unsubscribed and get nothing.")
	}
	out.Points = append(out.Points, "Until it is sent, you can undo this. Sent messages cannot be recalled.")
	return out
}

// MailText is a line for the text of a mail.
func (f frame) MailText(name, label, stored string) site.Input {
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
	n := max(len(d.Chosen), len(d.Preview.Audience.PartnerIds))
	return f.Tick("chosen", "Only to "+oneOrMany(n, "the chosen partner", "the "+f.Locale.Count(int64(n))+" chosen partners"), n > 0)
}

// ToSome reports whether the mail is, or was, for chosen partners alone.
func (d mailData) ToSome() bool { return len(d.Chosen)+len(d.Preview.Audience.PartnerIds) > 0 }

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

// PartnersIn is a number of partners.
func (f frame) PartnersIn(n int64) string { return f.partnersIn(n) }

// Recipients is the number of partners who get the mail.
func (d letterData) Recipients() int64 { return d.Total - d.Skipped }

// partnersIn is a number of partners.
func (v *visit) partnersIn(n int64) string {
	return v.Locale.Count(n) + " " + oneOrMany(n, "partner", "partners")
}

// SendAt is the field with the time of sending, in the program's time zone.
func (f frame) SendAt(d mailData) site.Input {
	return f.Line("datetime-local", "scheduled_at", "Send at", d.At(f.Locale.Zone())).Maybe().
		Says("Time in " + f.Locale.Zone().String() + ". Leave empty to send it manually.")
}

// ZoneMoment is a time in the program's time zone, which it names.
func (f frame) ZoneMoment(at clock.Time) string {
	return f.Locale.Moment(at.Time) + " (" + f.Locale.Zone().String() + ")"
}

// To is the choice between all active partners and some partners.
func (f frame) To(d mailData) site.Input {
	a, stored := d.Preview.Audience, toEveryone
	if len(a.GroupIds)+len(a.TagIds)+len(a.Statuses) > 0 {
		stored = "some"
	}
	return f.Line("radios", "to", "Who gets it", stored).Of([]site.Option{
		{Value: toEveryone, Label: "Everyone", Hint: "All active partners."},
		{Value: "some", Label: "By group, tag or state", Hint: "Partners in any of the groups and with any of the tags."},
	})
}

// Placeholders are the placeholders of mails.
func (frame) Placeholders() []mail.Placeholder { return mail.Placeholders }

// LetterPath is the address of the frame with the mail, as a partner gets it.
func (f frame) LetterPath(d mailData) string {
	if d.ID == "" {
		return f.at("/mails/preview")
	}
	path := f.at("/mails/" + d.ID + "/letter")
	if d.As != nil {
		path += "?partner_id=" + url.QueryEscape(*d.As)
	}
	return path
}
