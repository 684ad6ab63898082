package sample

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/outbound/campaign"
	"rail/server/outbound/mail"
	"rail/server/outbound/sequence"
	"rail/server/program/resource"
	"rail/server/work"
)

// The content has no random numbers, so that the money does not depend on it.

// resources adds resources in two folders and outside of any; the last is for one group.
func (b *builder) resources(ctx context.Context, u *work.Unit) error {
	for _, r := range []struct {
		title, url string
		folder     *string
		groups     []string
	}{
		{"Program guide", "/partners/guide", nil, nil}, {"Answers to common questions", "/partners/questions", nil, nil},
		{"Logos", "/press/logos.zip", new("Brand"), nil}, {"Screenshots", "/press/screenshots.zip", new("Brand"), nil},
		{"Video script", "/partners/video-script", new("Creators"), []string{b.creators}},
	} {
		if _, err := resource.Create(ctx, at(u, b.start), resource.Input{
			ProgramID: b.programID, Title: r.title, URL: site + r.url, Folder: r.folder, GroupIDs: r.groups, Published: true,
		}); err != nil {
			return err
		}
	}
	return queries.SampleFiles(ctx, u.Tx, db.SampleFilesParams{ProgramID: b.programID, OrgID: u.OrgID})
}

// notes adds a former employee's notes on the first partners.
func (b *builder) notes(ctx context.Context, u *work.Unit) error {
	for i, text := range []string{
		"Met at the fair. Wants to know of new features before they are out.",
		"Agreed on 25 % until the end of the year.\nAsk again in January.",
		"Prefers to be called before noon.",
	} {
		if err := queries.PartnerNoteInsert(ctx, u.Tx, db.PartnerNoteInsertParams{
			ID: u.NewID(ident.PartnerNote), OrgID: u.OrgID, ProgramID: b.programID, PartnerID: b.partners[i].id,
			AuthorID: u.NewID(ident.User), AuthorName: new("Grace Miller"), Text: text, CreatedAt: b.now.Days(int64(i - 30)),
		}); err != nil {
			return err
		}
	}
	return nil
}

// campaigns adds a campaign sent to every partner who was active at its time, and one in each other state.
func (b *builder) campaigns() {
	// Nothing is sent: the sender leaves out the campaigns of a sample.
	outbox := &mail.Outbox{Configured: true}
	for _, c := range []struct {
		name, subject, body string
		audience            campaign.Audience
		written             clock.Time
		scheduled           *clock.Time
		begins              clock.Time // or zero
		then                func(ctx context.Context, u *work.Unit, c db.Campaign) error
	}{
		{
			"Summer news", "What is new in Northwind Notes", "Hello,\n\nthe **AI pack** is here. Show it to your readers.\n",
			campaign.Audience{}, b.now.Days(-61), nil, b.now.Days(-60), sent,
		},
		{name: "Autumn offer for creators", subject: "30 % in the first year, until November"},
		{name: "Black Friday", subject: "40 % on everything, for one week", scheduled: new(b.now.Days(30))},
		{name: "New logos", subject: "New logos are on the shelf", begins: b.now.Plus(-20 * time.Minute)},
		{name: "Survey", subject: "Five questions to you", begins: b.now.Plus(-20 * time.Minute), then: paused},
	} {
		if c.body == "" {
			c.body, c.written, c.audience.GroupIDs = "Hello,\n\nautumn is here.\n", b.now.Days(-2), []string{b.creators}
		}
		var added db.Campaign
		b.milestone(c.written, func(ctx context.Context, u *work.Unit) (err error) {
			added, err = campaign.Create(ctx, u, campaign.Input{
				ProgramID: b.programID, Name: c.name, Subject: c.subject, Body: c.body, Audience: c.audience,
				ScheduledAt: c.scheduled,
			})
			return err
		})
		if c.begins.IsZero() {
			continue
		}
		b.milestone(c.begins, func(ctx context.Context, u *work.Unit) error {
			added, err := campaign.Send(ctx, u, outbox, added.ID)
			if err != nil || c.then == nil {
				return err
			}
			return c.then(ctx, u, added)
		})
	}
}

// paused pauses a campaign.
func paused(ctx context.Context, u *work.Unit, c db.Campaign) error {
	_, err := campaign.Pause(ctx, u, c.ID)
	return err
}

// sent ends a campaign an hour after its begin, as if its mails had been sent.
func sent(ctx context.Context, u *work.Unit, c db.Campaign) error {
	if err := queries.CampaignRecipientsAdd(ctx, u.Tx, db.CampaignRecipientsAddParams{
		CampaignID: c.ID, ProgramID: c.ProgramID, OrgID: c.OrgID, Statuses: []string{string(db.PartnerStatusActive)},
		PartnerIds: []string{}, GroupIds: []string{}, TagIds: []string{}, StartedAt: u.Now,
	}); err != nil {
		return err
	}
	if err := queries.SampleSendRecipients(ctx, u.Tx, db.SampleSendRecipientsParams{
		At: u.Now, CampaignID: c.ID, OrgID: c.OrgID,
	}); err != nil {
		return err
	}
	done := u.Now.Plus(time.Hour)
	return queries.SampleSendCampaign(ctx, u.Tx, db.SampleSendCampaignParams{
		SentAt: &done, UpdatedAt: done, ID: c.ID, OrgID: c.OrgID,
	})
}

// welcome adds a sequence for new partners, and a paused one. All of the partners have received its mails by now.
func (b *builder) welcome(ctx context.Context, u *work.Unit) error {
	steps := []sequence.Step{
		{DelayDays: 0, Subject: "Welcome", Body: "Welcome to the program.\n\nYour links are in your portal."},
		{DelayDays: 3, Subject: "Where to put your link", Body: "Readers click where you recommend."},
		{DelayDays: 11, Subject: "How you are paid", Body: "Commissions are due 30 days after the sale."},
	}
	s, err := sequence.Create(ctx, u, sequence.Input{
		ProgramID: b.programID, Name: "Welcome", Trigger: db.SequenceTriggerApproved, Steps: steps,
	})
	if err != nil {
		return err
	}
	b.milestone(b.now, func(ctx context.Context, u *work.Unit) error {
		later, err := sequence.Create(ctx, at(u, b.start), sequence.Input{
			ProgramID: b.programID, Name: "After the first commission", Trigger: db.SequenceTriggerFirstCommission,
		})
		if err != nil {
			return err
		}
		if _, err := sequence.SetStatus(ctx, at(u, b.start), later.ID, db.SequenceStatusPaused); err != nil {
			return err
		}
		return queries.SampleFinishSequence(ctx, u.Tx, db.SampleFinishSequenceParams{
			Steps: int64(len(steps)), SequenceID: s.ID, OrgID: u.OrgID,
		})
	})
	return nil
}
