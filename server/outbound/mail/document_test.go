package mail

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/problem"
)

// both returns the HTML and the plain text of a document.
func both(t *testing.T, markdown string, values Values) (html, plain string) {
	t.Helper()
	d := parse(markdown, values)
	page, err := d.html(lightMail.with([3]uint8{}, nil), [3]uint8{})
	require.NoError(t, err)
	return string(page), d.text()
}

// TestPlainText: the plain text has no signs of Markdown, and the addresses of links.
func TestPlainText(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]string{
		"Hello, **autumn** is *here* with `code`.":         "Hello, autumn is here with code.",
		"# News\n\nOne\ntwo\\\nthree":                      "News\n\nOne\ntwo\nthree",
		"See [our page](https://acme.example/a?b=1).":      "See our page: https://acme.example/a?b=1.",
		"[https://acme.example](https://acme.example)":     "https://acme.example",
		"<https://acme.example> <ada@example.com>":         "https://acme.example ada@example.com",
		"[Write](mailto:ada@example.com)":                  "Write: ada@example.com",
		"[Here](javascript:alert(1))":                      "Here",
		"[One][x]\n\n[x]: https://acme.example":            "One: https://acme.example",
		"- one\n- **two**\n  - three\n\n1. a\n2. b":        "- one\n- two\n  - three\n\n1. a\n2. b",
		"> quoted\n> text":                                 "> quoted\n> text",
		"a\n\n***\n\nb":                                    "a\n\n" + rule + "\n\nb",
		"```\n**code**\n```\n\n    more":                   "**code**\n\nmore",
		"![A cat](https://acme.example/cat.png) &amp; \\*": "A cat & *",
		"<b>bold</b> <script>alert(1)</script>":            "bold alert(1)",
	} {
		_, plain := both(t, markdown, nil)
		require.Equal(t, want, plain, markdown)
	}
}

// TestPlaceholders: values and fallbacks replace placeholders, an address becomes a link, and other braces stay.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	values := Values{
		"first_name": "Ada", "coupon": "ADA10", "link": "https://acme.example/?ref=ada&x=1", "handle": "a&b c",
		"portal_link": "https://rail.example/portal?program=prg_1", "email": "ada@example.com",
	}
	for markdown, want := range map[string][2]string{
		"Hello {{first_name}},":            {"Hello Ada,", "Hello Ada,"},
		"Hello {{ first_name | there }}":   {"Hello Ada", "Hello Ada"},
		"Hello {{last_name|dear partner}}": {"Hello dear partner", "Hello dear partner"},
		"Hello {{last_name}}!":             {"Hello !", "Hello !"},
		"**{{first_name}}**_{{coupon}}_":   {"<strong>Ada</strong><em>ADA10</em>", "AdaADA10"},
		"Use `{{coupon}}`":                 {">ADA10</code>", "Use ADA10"},
		"    {{coupon}}":                   {"<pre><code>ADA10</code></pre>", "ADA10"},
		"{{link}}\nnext": {
			`href="https://acme.example/?ref=ada&amp;x=1"`, "https://acme.example/?ref=ada&x=1\nnext",
		},
		"[Yours]({{link}})":                     {`href="https://acme.example/?ref=ada&amp;x=1"`, "Yours: https://acme.example/?ref=ada&x=1"},
		"[{{link}}](https://acme.example)":      {">https://acme.example/?ref=ada&amp;x=1</a>", "https://acme.example/?ref=ada&x=1: https://acme.example"},
		"[T](https://t.example/?h={{handle}})":  {`href="https://t.example/?h=a%26b%20c"`, "T: https://t.example/?h=a%26b%20c"},
		"<https://t.example/?h={{first_name}}>": {`href="https://t.example/?h=Ada"`, "https://t.example/?h=Ada"},
		"{{nothing}} {{ {x} }}":                 {"{{nothing}} {{ {x} }}", "{{nothing}} {{ {x} }}"},
	} {
		html, plain := both(t, markdown, values)
		require.Contains(t, html, want[0], markdown)
		require.Equal(t, want[1], plain, markdown)
		require.NotContains(t, html+plain, markOpen, markdown)
	}
	html, plain := both(t, "Hello {{first_name|there}}", nil)
	require.Contains(t, html, "{{first_name|there}}")
	require.Contains(t, plain, "{{first_name|there}}", "no values")
	require.Equal(t, "Ada, news for you", values.Subject("{{first_name|You}}, news\r\n for {{name|you}}"))
}

// TestHostileValues: a partner's name is never markup, a link or a header, wherever its placeholder is.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	places := []string{
		"Hello {{name}}", "**{{name}}**", "# {{name}}", "- {{name}}", "> {{name}}", "[x](https://acme.example/{{name}})",
		"[x]({{name}})", "[{{name}}](https://acme.example)", "![{{name}}](https://acme.example/a.png)", "`{{name}}`",
		"    {{name}}", "<https://acme.example/{{name}}>", "[x](https://acme.example \"{{name}}\")", "{{name}}\n===",
		"{{last_name|{{name}}", "[x][y]\n\n[y]: {{name}}",
	}
	for _, name := range []string{
		"<script>alert(1)</script>", "[click](https://evil.example)", "https://evil.example", "**bold** _it_ `c`",
		"<img src=https://evil.example/x onerror=alert(1)>", "javascript:alert(1)", "&lt;b&gt;", `"><b>`, "{{coupon}}",
		"# h", "\ue0000\ue001", `\`, "](https://evil.example)", "![i](https://evil.example/i.png)", "<https://evil.example>",
	} {
		for _, place := range places {
			values := Values{"name": marks.Replace(name), "coupon": "SECRET"}
			html, plain := both(t, place, values)
			for _, never := range []string{
				"<script", "<img src=https", `href="https://evil`, `src="https://evil`, `href="javascript:`, "<b>", "<em>", "SECRET",
				`title="button"`, "onerror=alert(1)>", "<h1>#", "<h1 style=\"\">h",
			} {
				require.NotContains(t, html, never, "%q in %q", name, place)
			}
			require.Equal(t, strings.Count(place, "**") > 0, strings.Contains(html, "<strong>"), "%q in %q", name, place)
			require.NotContains(t, html+plain, markOpen)
			if place == "Hello {{name}}" {
				require.Equal(t, "Hello "+values["name"], plain)
			}
		}
	}
	m := db.Mail{Subject: "For {{name}}", Body: "x", PartnerID: new("part_1")}
	header, _, _ := partsWith(t, m, &db.MailReaderRow{ProgramName: "A"}, Values{"name": "x\r\nBcc: evil@example.com"})
	require.Equal(t, "For x Bcc: evil@example.com", header.Get("Subject"))
	require.Empty(t, header.Get("Bcc"))
}

// TestCheckPlaceholders names an unknown placeholder and the parameter.
func TestCheckPlaceholders(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Hello {{first_name}} {{ name | there }}", "{{coupon|}}", `\{\{nothing}}`, "{{", "}} {{", "{ {x} }",
		strings.Repeat("{{name}}", maxPlaceholders),
	} {
		require.NoError(t, CheckPlaceholders("body", text), text)
	}
	for text, want := range map[string]string{
		"Hi {{first-name}}": "{{first-name}}", "{{FIRST_NAME}}": "{{FIRST_NAME}}", "{{}}": "{{}}", "{{nam|x}}": "{{nam}}",
		strings.Repeat("{{name}}", maxPlaceholders+1): "more than 100",
	} {
		var p *problem.Error
		require.ErrorAs(t, CheckPlaceholders("steps[1].body", text), &p, text)
		require.Equal(t, []any{"steps[1].body", 400}, []any{p.Param, p.Status()})
		require.Contains(t, p.Error(), want)
	}
}

// TestLayout: a mail is one HTML document in its language, with a preview of the text, dark colours, and no address
// but those of the service.
func TestLayout(t *testing.T) {
	t.Parallel()
	m := stored(PayoutPaid(ada, "pyt_1", 4999, "USD"))
	_, plain, page := parts(t, m, &db.MailReaderRow{
		ProgramID: "prg_1", ProgramName: "Acme", AccentColor: new("#ffe000"), LogoVersion: new("0a1b"),
	})
	for _, want := range []string{
		"<!doctype html>\n<html lang=\"en\">", `<meta name="color-scheme" content="light dark">`, "<title>Your payout was sent</title>",
		">Acme has sent you 49.99 USD. See your payouts: ", "prefers-color-scheme: dark", "max-width:600px", `<table class="ground" role="presentation"`,
		"<!--[if mso]>", "receiving this email as a partner of Acme.", ">Your payout was sent</h1>",
	} {
		require.Contains(t, page, want)
	}
	require.True(t, strings.HasSuffix(plain, "\n-- \nYou’re receiving this email as a partner of Acme.\n"+
		"Email preferences: https://rail.example/portal/settings#notifications\n"), plain)
	for _, address := range strings.Split(page, "https://")[1:] {
		require.True(t, strings.HasPrefix(address, "rail.example/"), address)
	}
	require.NotContains(t, page, "http://")
	require.NotContains(t, page, "ZgotmplZ")
}

// TestPreview ends after a word.
func TestPreview(t *testing.T) {
	t.Parallel()
	require.Equal(t, "One two", preview(" One\n\ntwo "))
	long := preview(strings.Repeat("word ", 100))
	require.True(t, strings.HasSuffix(long, " word…") && len(long) <= maxPreview+3, long)
	require.LessOrEqual(t, len(preview(strings.Repeat("あ", 200))), maxPreview+6)
}
