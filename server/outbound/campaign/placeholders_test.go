package campaign_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPlaceholders: every recipient gets the mail with the recipient's values, and a name is no markup.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	group := m.Must(201, m.Post("/v1/groups", M{
		"program_id": m.program, "name": "Press", "landing_url": "https://shop.example/press",
	})).String("id")
	ada := m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com", "first_name": "Ada", "group_id": group})
	m.Must(201, m.Post("/v1/coupons", M{"program_id": m.program, "partner_id": ada, "code": "ADA10"}))
	m.Partner(m.program, M{
		"handle": "eve", "email": "eve@example.com", "first_name": "[x](https://evil.example)", "last_name": "<b>E</b>",
	})
	m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com"})
	m.Must(200, m.send(m.campaign(M{
		"subject": "For {{first_name|you}}",
		"body":    "Hello **{{first_name|there}}** {{last_name}}, {{coupon|no code}}: {{link}} [Portal]({{portal_link}})",
	})))
	m.run("send-campaigns", "send-mail", "send-campaigns")
	text := m.post.mails["ada@example.com"][0]
	for _, want := range []string{
		"Subject: For Ada", "<strong>Ada</strong> , ADA10: <a href=\"https://shop.example/press?ref=ada\"",
		"Hello Ada , ADA10: https://shop.example/press?ref=ada Portal: " + m.URL + "/portal?program=" + m.program,
	} {
		require.Contains(t, text, want)
	}
	text = m.post.mails["eve@example.com"][0]
	require.Contains(t, text, "<strong>[x](https://evil.example)</strong> &lt;b&gt;E&lt;/b&gt;, no code")
	require.NotContains(t, text, `"https://evil.example`)
	require.Contains(t, m.post.mails["bob@example.com"][0], "Hello <strong>there</strong> , no code")
	require.Contains(t, m.post.mails["bob@example.com"][0], "Subject: For you")
}

// TestPlaceholdersRefused: an unknown placeholder is refused when a text is saved, by name and parameter.
func TestPlaceholdersRefused(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	text := M{"program_id": m.program, "name": "x", "subject": "Hello {{nam}}", "body": "x"}
	refused := m.Post("/v1/campaigns", text)
	m.Refused(400, "parameter_invalid", "subject", refused)
	require.Contains(t, string(refused.Raw), "{{nam}}")
	text["subject"], text["body"] = "Hello", "Hello {{nam|there}}"
	m.Refused(400, "parameter_invalid", "body", m.Post("/v1/campaigns", text))
	m.Refused(400, "parameter_invalid", "body", m.Post("/v1/campaigns/preview", M{
		"program_id": m.program, "subject": "x", "body": "{{nam}}",
	}))
	id := m.campaign()
	m.Refused(400, "parameter_invalid", "subject", m.Post("/v1/campaigns/"+id, M{"subject": "{{nam}}"}))
	m.Refused(400, "parameter_invalid", "body", m.Post("/v1/campaigns/"+id, M{"body": "{{nam}}"}))
	steps := []M{{"delay_days": 0, "subject": "x", "body": "x"}, {"delay_days": 1, "subject": "x", "body": "{{nam}}"}}
	sequence := M{"program_id": m.program, "name": "x", "trigger": "approved", "steps": steps}
	m.Refused(400, "parameter_invalid", "steps[1].body", m.Post("/v1/sequences", sequence))
	created := m.sequence(nil)
	m.Refused(400, "parameter_invalid", "steps[1].body", m.Post("/v1/sequences/"+created, M{"steps": steps}))
}

// TestSequencePlaceholders: the mails of sequences have values, too.
func TestSequencePlaceholders(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.sequence(M{"steps": []M{{"delay_days": 0, "subject": "Welcome, {{name}}", "body": "Your link: {{link}}"}}})
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace"})
	m.run("advance-sequences", "send-mail")
	text := m.post.mails["ada@example.com"][0]
	require.Contains(t, text, "Subject: Welcome, Ada Lovelace")
	require.Contains(t, text, "?ref=ada\"")
}

// TestPreviewOfPartner: the preview is the mail of a partner, or of the first recipient, without the secret of the
// link to unsubscribe.
func TestPreviewOfPartner(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	id := m.campaign(M{"subject": "For {{name}}", "body": "Hello **{{name}}**"})
	preview := func(query string) M {
		return m.Must(200, m.Get("/v1/campaigns/"+id+"/preview"+query)).Body["email"].(M)
	}
	none := preview("")
	require.Nil(t, none["partner_id"])
	require.Nil(t, none["recipient"])
	require.Equal(t, "For {{name}}", none["subject"], "without a recipient")
	first := m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com", "first_name": "Ada"})
	bob := m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com", "first_name": "Bob"})
	require.Equal(t, []any{first, "ada@example.com", "For Ada"},
		[]any{preview("")["partner_id"], preview("")["recipient"], preview("")["subject"]})
	second := preview("?partner_id=" + bob)
	require.Equal(t, []any{bob, "For Bob"}, []any{second["partner_id"], second["subject"]})
	require.Contains(t, second["html"], "<strong>Bob</strong>")
	require.Contains(t, second["html"], "/mail/unsubscribe/preview\"")
	require.Contains(t, second["text"], "Hello Bob\n\n-- \n")
	m.Refused(400, "invalid_reference", "partner_id",
		m.Get("/v1/campaigns/"+id+"/preview?partner_id="+m.Partner(m.Program(), M{"email": "x@example.com"})))

	draft := m.Must(200, m.Post("/v1/campaigns/preview", M{
		"program_id": m.program, "subject": "", "body": "Dear {{name}}", "partner_id": bob,
		"audience": M{"partner_ids": []string{first}},
	}))
	require.EqualValues(t, 1, draft.Int("total"))
	require.Contains(t, draft.Body["email"].(M)["text"], "Dear Bob")
	require.Len(t, m.Must(200, m.Get("/v1/campaigns?program_id="+m.program)).Data(), 1, "a preview saves nothing")
}

// TestTestMail: a test has the sender of the campaign and a partner's values, and the partner gets nothing.
func TestTestMail(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com", "first_name": "Ada <i>"})
	bob := m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com", "first_name": "Bob"})
	m.sql("UPDATE organizations SET owner_email = 'owner@example.com'")
	id := m.campaign(M{"subject": "For {{name}}", "body": "Hello **{{name}}**"})
	to := m.Must(200, m.Post("/v1/campaigns/"+id+"/test", nil)).String("recipient")
	m.Clock.Advance(time.Second)
	m.Must(200, m.Post("/v1/campaigns/"+id+"/test", M{"partner_id": bob}))
	m.run("send-mail")
	require.Len(t, m.post.mails, 1)
	name := m.Must(200, m.Get("/v1/programs/"+m.program)).String("name")
	tests := m.post.mails[to]
	require.Len(t, tests, 2)
	all := tests[0] + tests[1]
	for _, want := range []string{
		`From: "` + name + `"`, "Subject: Test: For Ada <i>", "Subject: Test: For Bob", "<strong>Ada &lt;i&gt;</strong>", "Hello Bob",
		"This is a test",
	} {
		require.Contains(t, all, want)
	}
	require.NotContains(t, all, "List-Unsubscribe")
	require.NotContains(t, all, "**")
	m.Refused(400, "invalid_reference", "partner_id", m.Post("/v1/campaigns/"+id+"/test",
		M{"partner_id": m.Partner(m.Program(), M{"email": "x@example.com"})}))
}
