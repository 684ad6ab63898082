package console

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/problem"
)

var mailRoutes = map[string]route{
	"GET /console/p/{program}/mails":              {Do: mails},
	"GET /console/p/{program}/mails.csv":          {Do: mailTable},
	"GET /console/p/{program}/mails/new":          {Do: newMail},
	"GET /console/p/{program}/mails/preview":      {Do: blankLetter},
	"POST /console/p/{program}/mails/preview":     {Do: draftLetter},
	"GET /console/p/{program}/mails/{id}/letter":  {Do: savedLetter},
	"POST /console/p/{program}/mails/{id}/letter": {Do: draftLetter},
	"POST /console/p/{program}/mails":             {Do: createMail},
	"GET /console/p/{program}/mails/{id}":         {Do: showMail},
	"GET /console/p/{program}/mails/{id}/edit":    {Do: editMail},
	"POST /console/p/{program}/mails/{id}":        {Do: saveMail},
	"GET /console/p/{program}/mails/{id}/send":    {Do: confirmMail},
	"POST /console/p/{program}/mails/{id}/send":   {Do: sendMail},
	"POST /console/p/{program}/mails/{id}/hold":   {Do: holdMail},
	"POST /console/p/{program}/mails/{id}/test":   {Do: testMail},
	"POST /console/p/{program}/mails/{id}/pause":  {Do: pauseMail},
	"POST /console/p/{program}/mails/{id}/delete": {Do: deleteMail},

	"GET /console/p/{program}/mails/failed":               {Do: failedMails},
	"GET /console/p/{program}/mails/failed.csv":           {Do: failedMailTable},
	"POST /console/p/{program}/mails/failed/{mail}/retry": {Do: retryMail},
}

const (
	mailsPath  = "/mails"
	mailsTitle = "Emails"
	// maxLetter is how long a mail of the page's forms may be: a form has 32 KiB, and text may be escaped.
	maxLetter = 8000
	// toEveryone is the audience of all active partners.
	toEveryone = "everyone"
	// fieldTime is how a browser writes a time into a field.
	fieldTime = "2006-01-02T15:04"
)

// audienceLists are the fields of an audience that a form has.
var audienceLists = []string{"audience.group_ids", "audience.tag_ids", "audience.statuses"}

// mailList holds the data of the page of mails.
type mailList struct {
	site.Listing
	Sequences []api.Sequence
	Failed    int64 // mails that could not be delivered lately
}

// mails shows the program's campaigns and sequences.
func mails(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	reply, err := v.console.api.ListCampaignsWithResponse(v.Ctx(), &api.ListCampaignsParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before,
	})
	if err != nil {
		return err
	}
	list := reply.JSON200
	found := pageOf(list.Data, list.HasMore, list.TotalCount)
	data := mailList{Listing: site.Listed(v.Request().URL, turn, found,
		func(c api.Campaign) string { return c.ID }, list.Data)}
	if data.Sequences, err = v.sequences(); err != nil {
		return err
	}
	status, err := v.console.api.RetrieveProgramStatusWithResponse(v.Ctx(), v.program.ID, nil)
	if err != nil {
		return err
	}
	data.Failed = status.JSON200.Waiting.FailedMails
	return v.show(sheet{"mails", mailsPath, mailsTitle, data})
}

func mailTable(v *visit) error {
	query := v.query()
	query.Set("program_id", v.program.ID)
	of := func(name string, count func(api.CampaignStats) int64) field { return countField(name, "stats", count) }
	return v.fileOf("listCampaigns", "mails", query, []field{
		plainField("Name", "name"),
		plainField("Subject", "subject"),
		wordField("State", "status"),
		timeField("Scheduled", "scheduled_at"),
		timeField("Sent", "sent_at"),
		of("Partners", func(s api.CampaignStats) int64 { return s.Total }),
		of("Emails sent", func(s api.CampaignStats) int64 { return s.Sent }),
		of("Opened", func(s api.CampaignStats) int64 { return s.Opened }),
		of("Failed", func(s api.CampaignStats) int64 { return s.Failed }),
		of("Unsubscribed", func(s api.CampaignStats) int64 { return s.Skipped }),
		rowID,
	})
}

// mailData is a campaign with what would be sent.
type mailData struct {
	api.Campaign
	Preview      api.CampaignPreview
	Groups, Tags []site.Option // those there are, with those of the audience chosen
	To           string        // the audience in words
	Me           string        // who gets a test
	Chosen       []string      // partners of a new mail that it is for alone
	As           *string       // the partner whose mail is shown; nil for the first recipient
}

// mailOf reads the campaign of the page's address.
func (v *visit) mailOf() (data mailData, err error) {
	id := v.PathValue("id")
	one, err := v.console.api.RetrieveCampaignWithResponse(v.Ctx(), id,
		&api.RetrieveCampaignParams{ProgramID: v.program.ID})
	if err != nil {
		return data, err
	}
	letter, err := v.console.api.PreviewCampaignWithResponse(v.Ctx(), id,
		&api.PreviewCampaignParams{ProgramID: &v.program.ID})
	if err != nil {
		return data, err
	}
	data.Campaign, data.Preview, data.Me = *one.JSON200, *letter.JSON200, v.session.User.Email
	a := data.Preview.Audience
	if data.Groups, data.Tags, err = v.audienceChoices(a.GroupIds, a.TagIds); err != nil {
		return data, err
	}
	data.To = v.audienceWords(data)
	return data, nil
}

// audienceChoices are the program's groups and tags, those of an audience chosen.
func (v *visit) audienceChoices(chosenGroups, chosenTags []string) (inGroups, withTags []site.Option, err error) {
	groups, tags, err := v.choices()
	return site.Choose(groups, chosenGroups...), site.Choose(tags, chosenTags...), err
}

// audienceWords describes an audience, such as: active partners of VIP or Press, tagged Podcast.
func (v *visit) audienceWords(data mailData) string {
	var states []string
	for _, s := range data.Preview.Audience.Statuses {
		states = append(states, strings.ToLower(site.Words(string(s), vocabulary)))
	}
	if len(states) == 0 {
		states = []string{"active"}
	}
	text := "All " + strings.Join(states, " and ") + " partners"
	if n := len(data.Preview.Audience.PartnerIds); n > 0 {
		text += " among " + v.Locale.Count(int64(n)) + " chosen " + oneOrMany(n, "one", "ones")
	}
	if names := chosen(data.Groups); len(names) > 0 {
		text += " of " + strings.Join(names, " or ")
	}
	if names := chosen(data.Tags); len(names) > 0 {
		text += ", tagged " + strings.Join(names, " or ")
	}
	return text
}

// chosen are the names of the options that are.
func chosen(options []site.Option) (names []string) {
	for _, o := range options {
		if o.Chosen {
			names = append(names, o.Label)
		}
	}
	return names
}

// newMail shows the form of a mail to all partners, or to those in the address.
func newMail(v *visit) (err error) {
	data := mailData{Chosen: v.QueryParams()["partner_id"]}
	if v.Form != nil {
		data.Chosen = v.values("partner_id")
	}
	if data.Groups, data.Tags, err = v.audienceChoices(nil, nil); err != nil {
		return err
	}
	v.frames()
	return v.show(sheet{"mail-edit", mailsPath, "Write an email", data})
}

// createMail writes a draft, or a mail that is sent at its time.
func createMail(v *visit) error {
	var campaign api.Campaign
	if err := v.audienceFault(v.values("partner_id")); err != nil {
		return v.again(err, newMail)
	}
	if err := v.send("createCampaign", v.mailBody("createCampaign", v.values("partner_id")), &campaign); err != nil {
		return v.again(err, newMail)
	}
	return v.mailSaved(campaign, "The email is saved. Nothing is sent yet.")
}

// mailSaved leads from the form of a mail to its page, or to the question before it is sent.
func (v *visit) mailSaved(m api.Campaign, notice string) error {
	to := v.at("/mails/" + m.ID)
	if v.value("then") == "send" && m.ScheduledAt == nil {
		return v.Redirect(http.StatusSeeOther, to+"/send")
	}
	return v.done(to, notice)
}

// audienceFault refuses a part of the partners that nothing narrows: the API would send to everyone.
func (v *visit) audienceFault(ids []string) error {
	if !v.Form.Has("to") || v.value("to") == toEveryone || v.value("chosen") != "" && len(ids) > 0 {
		return nil
	}
	for _, list := range audienceLists {
		if len(v.values(list)) > 0 {
			return nil
		}
	}
	return problem.Invalid("to", "Choose at least one group, tag or state, or send to everyone.")
}

// mailBody is the form of a mail, which may be for chosen partners alone. Its time is typed in the program's time zone
// and without seconds, as browsers do.
func (v *visit) mailBody(operation string, ids []string) map[string]any {
	body := v.body(operation)
	if v.value("to") == toEveryone {
		for _, list := range audienceLists {
			put(body, list, []string{})
		}
	}
	if v.value("chosen") == "" {
		ids = []string{}
	}
	put(body, "audience.partner_ids", ids)
	if at, err := time.ParseInLocation(fieldTime, v.value("scheduled_at"), v.Locale.Zone()); err == nil {
		body["scheduled_at"] = at.Format(time.RFC3339)
	}
	return body
}

// showMail shows a mail as a partner will see it, to whom it goes, and how that went.
func showMail(v *visit) error {
	data, err := v.mailOf()
	if err != nil {
		return err
	}
	if data.As, err = v.askedPartner(); err != nil {
		return err
	}
	v.frames()
	return v.show(sheet{"mail", mailsPath, data.Name, data})
}

func editMail(v *visit) error {
	data, err := v.mailOf()
	if err != nil {
		return err
	}
	v.frames()
	return v.show(sheet{"mail-edit", mailsPath, "Change the email", data})
}

// saveMail changes a mail. Its audience stays: it can be larger than a form.
func saveMail(v *visit) error {
	stored, err := v.mailOf()
	if err != nil {
		return err
	}
	if err := v.audienceFault(stored.Preview.Audience.PartnerIds); err != nil {
		return v.again(err, editMail)
	}
	body := v.mailBody("updateCampaign", stored.Preview.Audience.PartnerIds)
	var saved api.Campaign
	if err := v.send("updateCampaign", body, &saved, v.PathValue("id")); err != nil {
		return v.again(err, editMail)
	}
	return v.mailSaved(saved, "The email is saved.")
}

// confirmMail says to how many a mail goes before it does.
func confirmMail(v *visit) error {
	data, err := v.mailOf()
	if err != nil {
		return err
	}
	return v.show(sheet{"mail-send", mailsPath, "Send the email?", data})
}

// sendDelay is how long a mail waits after "Send", so that a person can undo it.
const sendDelay = 10 * time.Minute

// sendAtOnce is the value of the button that sends a mail without the delay.
const sendAtOnce = "now"

// sendMail schedules a mail for 10 minutes later, or sends it now. The API refuses what cannot be sent.
func sendMail(v *visit) error {
	data, err := v.mailOf()
	if err != nil {
		return err
	}
	id, now := data.ID, v.value("do") == sendAtOnce
	if !now && data.Sendable() && v.console.People.Mail.Ready() && data.Preview.Total > 0 {
		return v.sendLater(data)
	}
	waits := now && data.Waits()
	if waits { // the API sends drafts and paused mails
		if err := v.send("pauseCampaign", nil, nil, id); err != nil {
			return v.again(err, confirmMail)
		}
	}
	var sent api.Campaign
	if err := v.send("sendCampaign", v.body("sendCampaign"), &sent, id); err != nil {
		if waits { // it is sent at its time, as before
			err = errors.Join(err, v.send("resumeCampaign", nil, nil, id))
		}
		return v.again(err, confirmMail)
	}
	return v.done(v.at("/mails/"+id), "The email is on its way to "+
		v.partnersIn(sent.Stats.Total-sent.Stats.Skipped)+".")
}

// sendLater schedules a mail, with a notice that undoes it.
func (v *visit) sendLater(data mailData) error {
	at := v.Now.Plus(sendDelay).UTC().Format(time.RFC3339)
	if err := v.send("updateCampaign", map[string]any{"scheduled_at": at}, nil, data.ID); err != nil {
		return v.again(err, confirmMail)
	}
	path := v.at("/mails/" + data.ID)
	return v.undoable(path, "The email is sent to "+v.partnersIn(data.Preview.Total-data.Preview.Skipped)+" in 10 minutes.",
		site.Undo{Path: path + "/hold"})
}

// holdMail removes the time of a mail: it is a draft again, or paused if a part was sent before.
func holdMail(v *visit) error {
	if err := v.send("updateCampaign", map[string]any{"scheduled_at": nil}, nil, v.PathValue("id")); err != nil {
		return v.again(err, showMail)
	}
	return v.done(v.at("/mails/"+v.PathValue("id")), "The email is not sent.")
}

func testMail(v *visit) error {
	var test api.CampaignTest
	if err := v.send("testCampaign", v.body("testCampaign"), &test, v.PathValue("id")); err != nil {
		return v.again(err, showMail)
	}
	return v.done(v.at("/mails/"+v.PathValue("id")), "A test is on its way to "+test.Recipient+".")
}

func pauseMail(v *visit) error {
	if err := v.send("pauseCampaign", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, showMail)
	}
	return v.done(v.at("/mails/"+v.PathValue("id")), "The email is paused. Sent messages cannot be recalled.")
}

func deleteMail(v *visit) error {
	if err := v.send("deleteCampaign", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, showMail)
	}
	return v.done(v.at(mailsPath), "The email is deleted.")
}
