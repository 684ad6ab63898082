package mail

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/locale"
	"rail/server/opt"
)

// stored returns a message as the outbox stores it.
func stored(m Message) db.Mail {
	return db.Mail{
		Purpose: m.Purpose, Subject: m.Subject, Body: m.Markdown, Plain: opt.OrNil(m.Plain), Foot: opt.OrNil(m.Foot),
		Language: opt.OrNil(m.Language),
	}
}

// parts returns the header, the plain text and the HTML of a mail.
func parts(t *testing.T, m db.Mail, reader *db.MailReaderRow) (mail.Header, string, string) {
	t.Helper()
	return partsWith(t, m, reader, nil)
}

// partsWith returns them with the values of placeholders.
func partsWith(t *testing.T, m db.Mail, reader *db.MailReaderRow, values Values) (mail.Header, string, string) {
	t.Helper()
	m.ID, m.Recipient, m.CreatedAt = "mail_1", "ada@example.com", start
	msg, err := Sender{From: "rail@rail.example", Name: "Rail", BaseURL: "https://rail.example"}.message(m, reader, values)
	require.NoError(t, err)
	var raw bytes.Buffer
	_, err = msg.WriteTo(&raw)
	require.NoError(t, err)
	read, err := mail.ReadMessage(&raw)
	require.NoError(t, err)
	_, params, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	require.NoError(t, err)
	var texts []string
	for all := multipart.NewReader(read.Body, params["boundary"]); len(texts) < 2; {
		part, err := all.NextPart()
		require.NoError(t, err)
		text, err := io.ReadAll(part)
		require.NoError(t, err)
		texts = append(texts, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	return read.Header, texts[0], texts[1]
}

// TestSenderName: a program's mails are sent, whatever its name.
func TestSenderName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`a "b`: `a "b`, `Back\`: `Back\`, "Müller, GmbH (EU)": "Müller, GmbH (EU)",
		"Acme\r\nBcc: evil@example.com": "Acme Bcc: evil@example.com",
		`A" <evil@example.com> "b`:      `A" <evil@example.com> "b`, "a\x7fb": "ab",
	} {
		header, _, _ := parts(t, db.Mail{Subject: "s", Body: "b"}, &db.MailReaderRow{ProgramName: name})
		from, err := mail.ParseAddress(header.Get("From"))
		require.NoError(t, err, name)
		require.Equal(t, mail.Address{Name: want, Address: "rail@rail.example"}, *from)
		require.Empty(t, header.Get("Bcc"))
	}
}

// TestRejectionWordForWord: the plain text has the exact reason, and the HTML shows the same without markup.
func TestRejectionWordForWord(t *testing.T) {
	t.Parallel()
	for reason, html := range map[string]string{
		"Your my_shop.example [sic] sells #1 *fakes*!": "<p>Your my_shop.example [sic] sells #1 *fakes*!</p>",
		"First line.\nSecond line.\n\nAnother.":        "<p>First line.<br>\nSecond line.</p>\n<p>Another.</p>",
		"First.\r\nSecond.":                            "<p>First.<br>\nSecond.</p>",
		"---":                                          "<p>---</p>",
		"Why\n===":                                     "<p>Why<br>\n===</p>",
		"- one\n+ two\n1. three\n> four":               "<p>- one<br>\n+ two<br>\n1. three<br>\n&gt; four</p>",
		"~~~\ncode\n~~~":                               "<p>~~~<br>\ncode<br>\n~~~</p>",
		"See:\n\n    indented":                         "<p>See:</p>\n<p>\u00a0\u00a0\u00a0\u00a0indented</p>",
		"a\\b `c` &amp; <script>x</script> ![i](http://x.example)": "<p>a\\b `c` &amp;amp; &lt;script&gt;x&lt;/script&gt; ![i](http://x.example)</p>",
	} {
		m := Rejected(named("Shop *best*"), "app_1", reason)
		_, plain, page := parts(t, stored(m), nil)
		require.Contains(t, plain, "of Shop *best* was")
		require.Contains(t, plain, "\n\n"+strings.ReplaceAll(reason, "\r\n", "\n")+"\n")
		require.Contains(t, strings.ReplaceAll(page, "&nbsp;", "\u00a0"), html)
	}
}

// TestBanMail: the mail about a ban leaves out what the partner has not lost, and frames the reason.
func TestBanMail(t *testing.T) {
	t.Parallel()
	m := Banned(named("Acme"), "part_1", "First.\nSecond <b>.", Lost{Links: true}, start)
	require.Contains(t, m.Plain, "Your links no longer earn.")
	require.NotContains(t, m.Plain, "coupons")
	require.NotContains(t, m.Plain, "commissions")
	require.Contains(t, m.Plain, "The reason:\n\n> First.\n> Second <b>.\n")
	_, _, page := parts(t, db.Mail{Subject: m.Subject, Body: m.Markdown, Plain: &m.Plain}, nil)
	require.Regexp(t, `<blockquote[^>]*>\s*<p[^>]*>First\.<br[^>]*>\s*Second &lt;b&gt;\.</p>\s*</blockquote>`, page)
	m = Banned(named("Acme"), "part_1", "No.", Lost{Commissions: true, Links: true, Coupons: true}, start)
	require.Contains(t, m.Plain, "Your unpaid commissions have been declined.")
	require.Contains(t, m.Plain, "Your links and coupons no longer earn.")
}

// TestBranding: a program's mail has its name, logo, colour and reply address, one button to the portal, and a link
// to the mail settings, in the recipient's language.
func TestBranding(t *testing.T) {
	t.Parallel()
	to := named("Acme & Söhne")
	to.Locale = locale.Of("", "de")
	m := PayoutPaid(to, "pyt_1", 123456, "EUR")
	require.Equal(t, "Ihre Auszahlung wurde gesendet", m.Subject)
	header, plain, page := parts(t, stored(m), &db.MailReaderRow{
		ProgramID: "prg_1", ProgramName: to.Program, AccentColor: new("#ffe000"), LogoVersion: new("0a1b"),
		ReplyTo: "owner@acme.example",
	})
	require.Equal(t, "<owner@acme.example>", header.Get("Reply-To"))
	require.Contains(t, plain, "Acme & Söhne hat Ihnen 1.234,56 EUR gesendet.\n\n"+
		"Ihre Auszahlungen ansehen: https://rail.example/portal/payouts\n")
	require.Contains(t, plain, "E-Mail-Einstellungen: https://rail.example/portal/settings#notifications")
	require.Contains(t, page, `<img src="https://rail.example/look/prg_1/0a1b" alt="" height="40"`)
	require.Contains(t, page, "<strong>Acme &amp; Söhne</strong>")
	require.Equal(t, 1, strings.Count(page, "background:#ffe000;color:#000000"), "one button, which can be read")
	require.NotContains(t, page, "rail:")
	_, _, page = parts(t, db.Mail{Body: m.Markdown}, &db.MailReaderRow{ProgramName: "A", AccentColor: new("#102040")})
	require.Contains(t, page, "background:#102040;color:#ffffff")
	require.Equal(t, 2, strings.Count(page, "background:#102040"), "the button and the line above the text")
	second := &db.MailReaderRow{ProgramName: "A", AccentColor: new("#102040"), SecondColor: new("#0a9d75")}
	_, _, page = parts(t, db.Mail{Body: m.Markdown}, second)
	require.Equal(t, 1, strings.Count(page, "background:#102040"))
	require.Contains(t, page, "border-radius:12px 12px 0 0;background:#0a9d75")
}

// TestLanguages: every mail to partners exists in every language, with the program's name and its link.
func TestLanguages(t *testing.T) {
	t.Parallel()
	letters := func(l *locale.Locale) []Message {
		to := named("Acme")
		to.Locale = l
		return []Message{
			PortalSignIn(to, "k", "token"), Approved(to, "app_1", "token"), Rejected(to, "app_1", "No."), NewReferral(to, "cus_1", true),
			NewReferral(to, "cus_1", false), PayoutPaid(to, "pyt_1", 123456, "USD"), Invited(to, "part_1", "token"),
			Banned(to, "part_1", "No.", Lost{true, true, true}, start), Banned(to, "part_1", "No.", Lost{Links: true}, start),
			Banned(to, "part_1", "No.", Lost{Coupons: true}, start), PayoutFailed(to, "pyt_1", 100, "USD", "No."), JoinConfirm(to, "k", "token"), JoinKnown(to, "k"), JoinWaiting(to, "k"),
		}
	}
	english := letters(locale.English)
	for _, l := range locale.All()[1:] {
		for i, m := range letters(l) {
			require.NotEqual(t, english[i].Subject, m.Subject, l.Language())
			require.NotEqual(t, english[i].Plain, m.Plain, l.Language())
			require.Contains(t, m.Plain, "Acme", l.Language())
			require.Equal(t, strings.Count(english[i].Plain, pagePrefix), strings.Count(m.Plain, pagePrefix), l.Language())
			require.NotContains(t, m.Subject+m.Plain+m.Foot, "%!", l.Language())
			require.NotEqual(t, english[i].Foot, m.Foot, l.Language())
			require.Contains(t, m.Foot, "Acme", l.Language())
			require.Equal(t, l.Language(), m.Language)
		}
	}
}
