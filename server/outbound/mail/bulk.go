package mail

import (
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

// testPurpose is the purpose of Test.
const testPurpose = "campaign_test"

// Bulk is a text for many partners, with placeholders.
type Bulk struct{ ProgramID, Subject, Markdown string }

// Filled is a bulk mail with the values of one partner.
type Filled struct {
	From, To             string // the sender's name and the partner's address; "" without a partner
	Subject, HTML, Plain string
}

// Fill returns a bulk mail for a partner, as it would be sent. Without a partner ("") the placeholders stay. The link
// to unsubscribe is without the partner's token, which is a secret.
func (y Layout) Fill(ctx context.Context, tx pgtx.DBTX, org, partner string, b Bulk) (out Filled, err error) {
	var values Values
	if partner != "" {
		if values, err = y.ValuesOf(ctx, tx, org, partner); err != nil {
			return out, err
		}
		out.To = values["email"]
	}
	branding, err := queries.MailBranding(ctx, tx, db.MailBrandingParams{
		ProgramID: b.ProgramID, PartnerID: partner, OrgID: org,
	})
	if err != nil {
		return out, err
	}
	out.From, out.Subject = printable(branding.ProgramName), values.Subject(b.Subject)
	reader := db.MailReaderRow{
		ProgramID: b.ProgramID, ProgramName: branding.ProgramName, AccentColor: branding.AccentColor,
		SecondColor: branding.SecondColor, LogoVersion: branding.LogoVersion,
	}
	out.HTML, out.Plain, err = y.both(content{
		subject: out.Subject, language: branding.Language, body: parse(y.absolute(b.Markdown), values),
		foot: bulkFoot(branding.ProgramName, branding.Language, unsubscribeURL(y.BaseURL, "preview")),
	}, &reader)
	return out, err
}

// Test sends a bulk mail to its author, with the values of a partner, or with the placeholders if values is nil.
func Test(to, key string, b Bulk, values Values) Message {
	return Message{
		Purpose: testPurpose, Key: key, To: to, Subject: "Test: " + values.Subject(b.Subject), ProgramID: &b.ProgramID,
		Markdown: b.Markdown, Values: values, Foot: "This is a test, sent only to you. Partners get a link to unsubscribe here.",
		Language: "en",
	}
}
