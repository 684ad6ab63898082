package mail

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"github.com/yuin/goldmark"

	"rail/gen/db"
	"rail/server/locale"
	"rail/server/locale/plain"
	"rail/server/opt"
)

// recipient reads the program and the partner of a mail at the moment of sending and, for campaigns and
// sequences, whether it may be sent: the partner may have unsubscribed. Rail's own mails have no recipient row.
// The read continues while the server stops, since the mail is marked already.
func (s Sender) recipient(ctx context.Context, m db.Mail) (*db.MailReaderRow, error) {
	if m.PartnerID == nil && m.ProgramID == nil {
		return nil, nil //nolint:nilnil // a mail without a campaign
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	r, err := queries.MailReader(ctx, s.Pool, db.MailReaderParams{ID: m.ID, OrgID: m.OrgID})
	return &r, err
}

// message builds the mail in HTML and in plain text. values are those of its placeholders.
func (s Sender) message(m db.Mail, reader *db.MailReaderRow, values Values) (*gomail.Msg, error) {
	msg, name := gomail.NewMsg(), s.Name
	if reader != nil && reader.ProgramName != "" {
		name = reader.ProgramName
	}
	msg.FromMailAddress(&mail.Address{Name: printable(name), Address: s.From})
	if err := msg.To(m.Recipient); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	c := s.content(m, reader, values)
	html, plain, err := s.layout().both(c, reader)
	if err != nil {
		return nil, err
	}
	if m.PartnerID != nil {
		msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+unsubscribeURL(s.BaseURL, reader.MailToken)+">")
		msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	if reader != nil {
		if to, err := mail.ParseAddress(reader.ReplyTo); err == nil {
			msg.ReplyToMailAddress(to)
		}
	}
	_, host, _ := strings.Cut(s.From, "@")
	// Equal for every attempt, so that a receiver can drop a second copy.
	msg.SetMessageIDWithValue(m.ID + "@" + host)
	msg.SetDateWithValue(m.CreatedAt.Time)
	msg.Subject(c.subject)
	msg.SetBodyString(gomail.TypeTextPlain, plain)
	msg.AddAlternativeString(gomail.TypeTextHTML, html)
	return msg, nil
}

// layout returns the layout of the sender's mails.
func (s Sender) layout() Layout { return Layout{s.BaseURL, s.Name, s.Link} }

// content returns a stored mail for its layout. A bulk mail gets the values of its placeholders and a foot: the reason
// for the mail, and a link to unsubscribe (for mail programs it is in the header: RFC 8058).
func (s Sender) content(m db.Mail, reader *db.MailReaderRow, values Values) content {
	language := opt.Value(m.Language)
	if reader != nil {
		language = cmp.Or(language, reader.Language)
	}
	c := content{
		subject: m.Subject, language: language, body: parse(s.layout().absolute(m.Body), values),
		headed: m.PartnerID == nil && m.Purpose != testPurpose,
	}
	if m.Plain != nil {
		c.plain = s.layout().absolute(*m.Plain)
	}
	if m.Foot != nil {
		c.foot = parse(s.layout().absolute(*m.Foot), nil)
	}
	if m.PartnerID != nil {
		c.subject = values.Subject(m.Subject)
		c.foot = bulkFoot(reader.ProgramName, reader.Language, unsubscribeURL(s.BaseURL, reader.MailToken))
		if s.Pixel && m.CampaignID != nil {
			c.pixel = s.pixelURL(*m.CampaignID, *m.PartnerID)
		}
	}
	return c
}

// absolute inserts the service's address into links to Rail's pages.
func (y Layout) absolute(text string) string {
	return strings.ReplaceAll(text, pagePrefix, y.BaseURL+"/")
}

// bulkFoot returns the foot of bulk mail in a partner's language.
func bulkFoot(program, language, unsubscribe string) document {
	l := locale.Of("", language)
	why := Recipient{Program: program, Locale: l}.letter("", "").Foot
	return parse(why+"\\\n"+anchor(l.T("Unsubscribe"), unsubscribe, "").markdown, nil)
}

// HTML converts Markdown to a mail's HTML. It drops HTML in the text.
func HTML(markdown string) (*bytes.Buffer, error) {
	var page bytes.Buffer
	return &page, goldmark.Convert([]byte(markdown), &page)
}

// printable returns a name in one line without invisible characters, which could end a header.
func printable(name string) string { return strings.Join(strings.Fields(plain.Name(name)), " ") }

// unsubscribeURL returns an address that needs no sign-in: the token is sufficient.
func unsubscribeURL(base, token string) string { return base + "/mail/unsubscribe/" + token }

// pixelURL returns the address of the image that reports the opening of a mail. The server signs it, so that
// strangers cannot fake openings.
func (s Sender) pixelURL(campaign, partner string) string {
	return s.BaseURL + "/mail/open/" + campaign + "/" + partner + "/" + s.Keeper.Mark(campaign+" "+partner) + ".gif"
}
