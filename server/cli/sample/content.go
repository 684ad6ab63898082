package sample

import (
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/ident"
)

// contentRows adds resources, a campaign in each state, a sequence of three mails and some notes. It uses no
// random numbers, so that the money does not depend on it.
func (b *builder) contentRows() {
	// The resources are in two folders and outside of any; the last is for one group.
	for i, r := range []struct {
		title, url string
		folder     *string
		groups     []string
	}{
		{"Program guide", "/partners/guide", nil, nil}, {"Answers to common questions", "/partners/questions", nil, nil},
		{"Logos", "/press/logos.zip", new("Brand"), nil}, {"Screenshots", "/press/screenshots.zip", new("Brand"), nil},
		{"Video script", "/partners/video-script", new("Creators"), []string{b.creators}},
	} {
		kind := "link"
		if strings.HasSuffix(r.url, ".zip") {
			kind = "file"
		}
		b.add(b.sheets.resources, ident.NewSample(ident.Resource), kind, r.title, site+r.url, r.folder, listed(r.groups),
			[]string{}, int64(i), true, b.start, b.start, b.start)
	}
	b.campaigns()
	b.welcome()
	b.noteRows()
}

// noteRows adds a former employee's notes on the first partners.
func (b *builder) noteRows() {
	for i, text := range []string{
		"Met at the fair. Wants to know of new features before they are out.",
		"Agreed on 25 % until the end of the year.\nAsk again in January.",
		"Prefers to be called before noon.",
	} {
		b.add(b.sheets.notes, ident.NewSample(ident.PartnerNote), b.partners[i].id, ident.NewSample(ident.User), "Grace Miller",
			text, b.now.Days(int64(i-30)))
	}
}

// listed returns an empty list for nil, since the columns allow no NULL.
func listed(ids []string) []string {
	if ids == nil {
		return []string{}
	}
	return ids
}

// campaigns adds a campaign sent to every partner who was active at its time, and one in each other state.
func (b *builder) campaigns() {
	// The campaign of two months ago went to the partners active then, so its counts must match the recipients' rows.
	sent, at := ident.NewSample(ident.Campaign), b.now.Plus(-60*day)
	var total, opened int64
	for i, p := range b.partners {
		if !p.works(at) {
			continue
		}
		total++
		// Three of five have opened it, some minutes apart.
		var seen any
		if i%5 < 3 {
			opened++
			seen = at.Plus(time.Duration(i) * time.Minute)
		}
		b.add(b.sheets.recipients, sent, p.id, "sent", seen)
	}
	// The whole campaign took an hour to send.
	done := at.Plus(time.Hour)
	b.add(b.sheets.campaigns, sent, "Summer news", "What is new in Northwind Notes",
		"Hello,\n\nthe **AI pack** is here. Show it to your readers.\n",
		[]string{}, []string{}, []string{}, "sent", nil, at, done, total, total, opened, at.Plus(-day), done)
	// Campaigns in other states have no recipients.
	began, written := b.now.Plus(-20*time.Minute), b.now.Plus(-2*day)
	for _, c := range []struct {
		name, subject, status string
		scheduled, started    *clock.Time
	}{
		{"Autumn offer for creators", "30 % in the first year, until November", "draft", nil, nil},
		{"Black Friday", "40 % on everything, for one week", "scheduled", new(b.now.Days(30)), nil},
		{"New logos", "New logos are on the shelf", "sending", nil, &began},
		{"Survey", "Five questions to you", "paused", nil, &began},
	} {
		b.add(b.sheets.campaigns, ident.NewSample(ident.Campaign), c.name, c.subject, "Hello,\n\nautumn is here.\n",
			[]string{b.creators}, []string{}, []string{},
			c.status, c.scheduled, c.started, nil, int64(0), int64(0), int64(0), written, written)
	}
}

// welcome adds a sequence, completed by the partners who joined two weeks ago or earlier, and a paused one.
func (b *builder) welcome() {
	id, steps := ident.NewSample(ident.Sequence), []struct {
		days          int64
		subject, body string
	}{
		{0, "Welcome", "Welcome to the program.\n\nYour links are in your portal."},
		{3, "Where to put your link", "Readers click where you recommend."},
		{11, "How you are paid", "Commissions are due 30 days after the sale."},
	}
	b.add(b.sheets.sequences, id, "Welcome", "active", "approved", b.start, b.start)
	for i, s := range steps {
		b.add(b.sheets.steps, id, int64(i), s.days, s.subject, s.body)
	}
	b.add(b.sheets.sequences, ident.NewSample(ident.Sequence), "After the first commission", "paused", "first_commission",
		b.start, b.start)
	// Partners who joined in the last two weeks are not enrolled: every enrolment is complete.
	for _, p := range b.partners {
		if done := p.joined.Plus(14 * day); p.works(done) && done.Before(b.now.Time) {
			b.add(b.sheets.enrolments, id, p.id, int64(len(steps)), p.joined, done)
		}
	}
}
