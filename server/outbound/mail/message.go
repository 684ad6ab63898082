package mail

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"github.com/yuin/goldmark"

	"rail/gen/db"
	"rail/server/locale/plain"
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

// message builds the mail in HTML and in plain text; for campaigns and sequences the plain text is the Markdown
// source.
func (s Sender) message(m db.Mail, reader *db.MailReaderRow) (*gomail.Msg, error) {
	msg, name := gomail.NewMsg(), s.Name
	if reader != nil && reader.ProgramName != "" {
		name = reader.ProgramName
	}
	msg.FromMailAddress(&mail.Address{Name: printable(name), Address: s.From})
	if err := msg.To(m.Recipient); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	page, err := HTML(s.absolute(m.Body))
	if err != nil {
		return nil, err
	}
	text := m.Body
	if m.Plain != nil {
		text = s.absolute(*m.Plain)
	}
	if m.PartnerID != nil {
		text += s.foot(msg, m, reader, page)
	}
	if reader != nil {
		if to, err := mail.ParseAddress(reader.ReplyTo); err == nil {
			msg.ReplyToMailAddress(to)
		}
		page = s.decorate(page, *reader)
	}
	_, host, _ := strings.Cut(s.From, "@")
	// Equal for every attempt, so that a receiver can drop a second copy.
	msg.SetMessageIDWithValue(m.ID + "@" + host)
	msg.SetDateWithValue(m.CreatedAt.Time)
	msg.Subject(m.Subject)
	msg.SetBodyString(gomail.TypeTextPlain, text)
	msg.AddAlternativeString(gomail.TypeTextHTML, page.String())
	return msg, nil
}

// HTML converts Markdown to a mail's HTML. It drops HTML in the text.
func HTML(markdown string) (*bytes.Buffer, error) {
	var page bytes.Buffer
	return &page, goldmark.Convert([]byte(markdown), &page)
}

// printable returns a name in one line without invisible characters, which could end a header.
func printable(name string) string { return strings.Join(strings.Fields(plain.Name(name)), " ") }

// foot adds the footer of bulk mail: the reason for it, and ways to unsubscribe for people and for mail programs
// (RFC 8058). It writes HTML to page and returns the plain text.
func (s Sender) foot(msg *gomail.Msg, m db.Mail, reader *db.MailReaderRow, page *bytes.Buffer) string {
	out := unsubscribeURL(s.BaseURL, reader.MailToken)
	msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+out+">")
	msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	why := "You get this mail as a partner of " + strings.Join(strings.Fields(reader.ProgramName), " ") + "."
	fmt.Fprintf(page, "<hr>\n<p><small>%s <a href=\"%s\">Unsubscribe</a></small></p>\n", html.EscapeString(why),
		html.EscapeString(out))
	if s.Pixel && m.CampaignID != nil {
		fmt.Fprintf(page, "<img src=\"%s\" width=\"1\" height=\"1\" alt=\"\">\n",
			html.EscapeString(s.pixelURL(*m.CampaignID, *m.PartnerID)))
	}
	return "\n\n-- \n" + why + "\nUnsubscribe: " + out + "\n"
}

// unsubscribeURL returns an address that needs no sign-in: the token is sufficient.
func unsubscribeURL(base, token string) string { return base + "/mail/unsubscribe/" + token }

// pixelURL returns the address of the image that reports the opening of a mail. The server signs it, so that
// strangers cannot fake openings.
func (s Sender) pixelURL(campaign, partner string) string {
	return s.BaseURL + "/mail/open/" + campaign + "/" + partner + "/" + s.Keeper.Mark(campaign+" "+partner) + ".gif"
}
