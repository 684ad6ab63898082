package campaign_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/jobs"
	"rail/server/outbound/mail"
	"rail/server/program/tracking"
	"rail/server/secret"
)

// postman is a transport that stores mails by recipient. It refuses mails to the recipients in
// refuse.
type postman struct {
	mu     sync.Mutex
	mails  map[string][]string
	refuse string
}

func (p *postman) Send(_ context.Context, m *gomail.Msg) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := m.GetToString()[0]
	if p.refuse != "" && strings.Contains(to, p.refuse) {
		return errors.New("no such mailbox")
	}
	var text strings.Builder
	if _, err := m.WriteTo(&text); err != nil {
		return err
	}
	plain := strings.NewReplacer("=\r\n", "", "=3D", "=", "\r\n ", " ").Replace(text.String())
	p.mails[strings.Trim(to, "<>")] = append(p.mails[strings.Trim(to, "<>")], plain)
	return nil
}

func (p *postman) count() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.mails {
		n += len(m)
	}
	return n
}

// mailing is a server with a mail server.
type mailing struct {
	*apitest.Server
	program string
	post    *postman
}

func newMailing(t *testing.T) mailing {
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	return mailing{s, s.Program(), &postman{mails: map[string][]string{}}}
}

// sender sends through the given transport.
func (m mailing) sender(by mail.Transport) mail.Sender {
	m.T.Helper()
	keeper, err := secret.New(m.Config.SecretKey)
	require.NoError(m.T, err)
	return mail.Sender{
		Pool: m.Pool, Transport: by, From: "rail@rail.example", Name: "Rail", BaseURL: m.URL, Keeper: keeper, Pixel: true,
		Link:  tracking.URL,
		Clock: m.Clock,
		Log:   slog.New(slog.DiscardHandler),
	}
}

// run runs jobs at the clock's time. Mails go to the postman.
func (m mailing) run(names ...string) {
	m.T.Helper()
	for _, name := range names {
		require.NoError(m.T, m.try(name), name)
	}
}

// try runs a job that may fail.
func (m mailing) try(name string) error {
	m.T.Helper()
	all := jobs.All(jobs.Deps{Pool: m.Pool, Clock: m.Clock, Mail: m.sender(m.post)})
	at := slices.IndexFunc(all, func(j jobs.Job) bool { return j.Name == name })
	require.NotEqual(m.T, -1, at, name)
	return all[at].Run(m.T.Context(), m.Clock.Now())
}

func (m mailing) campaign(more ...M) string {
	m.T.Helper()
	body := M{"program_id": m.program, "name": "Autumn", "subject": "News", "body": "Hello, **autumn** is here."}
	for _, x := range more {
		maps.Copy(body, x)
	}
	return m.Must(201, m.Post("/v1/campaigns", body)).String("id")
}

func (m mailing) send(id string) apitest.Answer {
	return m.Post("/v1/campaigns/"+id+"/send", M{"program_id": m.program})
}

// stats are the counts total, queued, sent, failed, opened and skipped, and the status.
func (m mailing) stats(id string) []any {
	m.T.Helper()
	a := m.Must(200, m.Get("/v1/campaigns/"+id+"?program_id="+m.program))
	n := apitest.Answer{Body: a.Body["stats"].(M)}
	return []any{
		n.Int("total"), n.Int("queued"), n.Int("sent"), n.Int("failed"), n.Int("opened"), n.Int("skipped"),
		a.String("status"),
	}
}

func want(status string, total, queued, sent, failed, opened, skipped int64) []any {
	return []any{total, queued, sent, failed, opened, skipped, status}
}

// TestCampaign runs a campaign from the draft to the last mail. One partner has unsubscribed, and
// one mailbox does not exist.
func TestCampaign(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	for _, name := range []string{"ada", "bob", "gone", "quiet"} {
		m.Partner(m.program, M{"handle": name, "email": name + "@example.com"})
	}
	suspended := m.Partner(m.program, M{"handle": "held", "email": "held@example.com"})
	m.Must(200, m.Post("/v1/partners/"+suspended, M{"status": "suspended"}))
	_, err := m.Pool.Exec(t.Context(), "UPDATE partners SET unsubscribed_at = now() WHERE handle = 'quiet'")
	require.NoError(t, err)
	m.post.refuse = "gone@"

	id := m.campaign()
	require.Equal(t, want("draft", 0, 0, 0, 0, 0, 0), m.stats(id))
	a := m.Must(200, m.send(id))
	require.Equal(t, "sending", a.String("status"))
	require.Equal(t, want("sending", 4, 3, 0, 0, 0, 1), m.stats(id))
	m.Refused(409, "campaign_not_sendable", "", m.send(id))
	m.Refused(409, "campaign_not_editable", "", m.Post("/v1/campaigns/"+id, M{"name": "x"}))
	m.Refused(409, "campaign_not_editable", "", m.Delete("/v1/campaigns/"+id))

	m.run("send-campaigns", "send-mail")
	require.Equal(t, want("sending", 4, 1, 2, 0, 0, 1), m.stats(id), "one is tried again later")
	for range 6 {
		m.Clock.Advance(13 * time.Hour)
		m.run("send-mail")
	}
	m.run("send-campaigns")
	require.Equal(t, want("sent", 4, 0, 2, 1, 0, 1), m.stats(id))
	require.NotEmpty(t, m.Get("/v1/campaigns/"+id+"?program_id="+m.program).String("sent_at"))
	require.Equal(t, 2, m.post.count())
	m.Refused(409, "campaign_not_pausable", "", m.Post("/v1/campaigns/"+id+"/pause", nil))

	text := m.post.mails["ada@example.com"][0]
	for _, part := range []string{
		"<strong>autumn</strong>", "List-Unsubscribe: <" + m.URL + "/mail/unsubscribe/",
		"List-Unsubscribe-Post: List-Unsubscribe=One-Click", "Unsubscribe: " + m.URL,
	} {
		require.Contains(t, text, part)
	}
	var bodies int
	require.NoError(t, m.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE body <> ''").Scan(&bodies))
	require.Zero(t, bodies, "a text is not kept for every reader")
}

// address finds an address in the mail.
func addressIn(t *testing.T, text, before, until string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, before)
	require.True(t, ok, text)
	out, _, ok := strings.Cut(rest, until)
	require.True(t, ok)
	return out
}

// TestOpenedAndUnsubscribed requests the open and unsubscribe addresses of a mail.
func TestOpenedAndUnsubscribed(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	id := m.campaign()
	m.Must(200, m.send(id))
	m.run("send-campaigns", "send-mail", "send-campaigns")
	text := m.post.mails["ada@example.com"][0]

	pixel := addressIn(t, text, `<img src="`, `"`)
	for range 2 {
		got := fetch(t, http.MethodGet, pixel, nil)
		require.Equal(t, []any{200, "image/gif", "no-store"}, []any{
			got.StatusCode, got.Header.Get("Content-Type"), got.Header.Get("Cache-Control"),
		})
	}
	require.Equal(t, want("sent", 1, 0, 1, 0, 1, 0), m.stats(id), "opened counts readers, not looks")
	require.Equal(t, 200, fetch(t, http.MethodGet, strings.Replace(pixel, "part_", "part_x", 1), nil).StatusCode)
	require.Equal(t, want("sent", 1, 0, 1, 0, 1, 0), m.stats(id), "nobody else can make marks")

	out := addressIn(t, text, "List-Unsubscribe: <", ">")
	shown := fetch(t, http.MethodGet, out, nil)
	require.Equal(t, 200, shown.StatusCode)
	require.Contains(t, shown.Header.Get("Content-Security-Policy"), "default-src 'none'")
	var left bool
	poll := func() bool {
		require.NoError(t, m.Pool.QueryRow(t.Context(), "SELECT unsubscribed_at IS NOT NULL FROM partners").Scan(&left))
		return left
	}
	require.False(t, poll(), "looking is not leaving")
	require.Equal(t, 200, fetch(t, http.MethodPost, out, url.Values{"List-Unsubscribe": {"One-Click"}}).StatusCode)
	require.True(t, poll())
	second := m.campaign()
	require.Equal(t, "sending", m.Must(200, m.send(second)).String("status"))
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 1, 0, 0, 0, 0, 1), m.stats(second))
	require.Equal(t, 200, fetch(t, http.MethodPost, out, url.Values{"again": {"yes"}}).StatusCode)
	require.False(t, poll())
	require.Equal(t, 404, fetch(t, http.MethodGet, m.URL+"/mail/unsubscribe/"+strings.Repeat("0", 32), nil).StatusCode)
	require.Equal(t, 404, fetch(t, http.MethodPost, m.URL+"/mail/unsubscribe/x", url.Values{}).StatusCode)
}

func fetch(t *testing.T, method, address string, form url.Values) *http.Response {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	require.NoError(t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, got.Body)
	require.NoError(t, errors.Join(err, got.Body.Close()))
	return got
}

// TestLeavesWhileQueued: a partner who unsubscribes or is deleted after the start gets no mail.
func TestLeavesWhileQueued(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	early := m.Partner(m.program, M{"handle": "early", "email": "early@example.com"})
	late := m.Partner(m.program, M{"handle": "late", "email": "late@example.com"})
	m.Partner(m.program, M{"handle": "last", "email": "last@example.com"})
	id := m.campaign()
	m.Must(200, m.send(id))
	m.Must(200, m.Delete("/v1/partners/"+early))
	m.run("send-campaigns")
	m.Must(200, m.Delete("/v1/partners/"+late))
	_, err := m.Pool.Exec(t.Context(), "UPDATE partners SET unsubscribed_at = now() WHERE handle = 'last'")
	require.NoError(t, err)
	m.run("send-mail", "send-campaigns", "send-campaigns")
	require.Equal(t, want("sent", 4, 0, 1, 0, 0, 3), m.stats(id))
	require.Len(t, m.post.mails, 1)
}

// TestCampaignPause: a pause keeps queued mails back. A changed text applies to the remaining
// mails, and no partner gets the mail twice.
func TestCampaignPause(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com"})
	id := m.campaign()
	m.Must(200, m.send(id))
	m.post.refuse = "bob@"
	m.run("send-campaigns", "send-mail")
	m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", M{"program_id": m.program}))
	m.post.refuse = ""
	m.Clock.Advance(time.Hour)
	m.run("send-campaigns", "send-mail")
	require.Equal(t, want("paused", 2, 1, 1, 0, 0, 0), m.stats(id))
	m.Must(200, m.Post("/v1/campaigns/"+id, M{"subject": "Newer news"}))
	m.Partner(m.program, M{"handle": "eve", "email": "eve@example.com"})
	m.Must(200, m.send(id))
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 3, 0, 3, 0, 0, 0), m.stats(id), "the audience is read again")
	require.Equal(t, 3, m.post.count())
	require.Contains(t, m.post.mails["bob@example.com"][0], "Subject: Newer news")
	m.Must(200, m.Delete("/v1/campaigns/"+m.campaign()))
}

// TestCampaignSchedule: a scheduled campaign starts at its time. A campaign without
// recipients is paused.
func TestCampaignSchedule(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	at := m.Clock.Now().Plus(time.Hour)
	id := m.campaign(M{"scheduled_at": at})
	nobody := m.campaign(M{"scheduled_at": at, "audience": M{"statuses": []string{"declined"}}})
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	m.run("send-campaigns")
	require.Equal(t, want("scheduled", 0, 0, 0, 0, 0, 0), m.stats(id))
	m.Refused(409, "campaign_not_sendable", "", m.send(id))
	m.Clock.Advance(time.Hour)
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 1, 0, 1, 0, 0, 0), m.stats(id))
	require.Equal(t, want("paused", 0, 0, 0, 0, 0, 0), m.stats(nobody))

	other := m.campaign(M{"scheduled_at": m.Clock.Now().Plus(time.Hour)})
	require.Equal(t, "draft", m.Must(200, m.Post("/v1/campaigns/"+other, M{"scheduled_at": nil})).String("status"))
	require.Equal(t, "scheduled",
		m.Must(200, m.Post("/v1/campaigns/"+other, M{"scheduled_at": m.Clock.Now().Plus(time.Hour)})).String("status"))
	require.Equal(t, "paused", m.Must(200, m.Post("/v1/campaigns/"+other+"/pause", nil)).String("status"))
	require.Equal(t, "sending", m.Must(200, m.send(other)).String("status"))
	past := M{"program_id": m.program, "name": "x", "subject": "x", "body": "x", "scheduled_at": m.Clock.Now()}
	m.Refused(400, "parameter_invalid", "scheduled_at", m.Post("/v1/campaigns", past))
}

// TestCampaignResume: a resumed campaign waits if its time is in the future. Otherwise it goes to
// the recipients who have not received it.
func TestCampaignResume(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	resume := func(id string) apitest.Answer { return m.Post("/v1/campaigns/"+id+"/resume", nil) }
	id := m.campaign(M{"scheduled_at": m.Clock.Now().Plus(time.Hour)})
	m.Refused(409, "campaign_not_resumable", "", resume(id))
	m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", nil))
	require.Equal(t, "scheduled", m.Must(200, resume(id)).String("status"))
	m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", nil))
	m.Clock.Advance(2 * time.Hour)
	m.Refused(409, "campaign_audience_empty", "", resume(id))
	require.Equal(t, want("paused", 0, 0, 0, 0, 0, 0), m.stats(id), "a refusal changes nothing")
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com"})
	m.post.refuse = "bob@"
	require.Equal(t, "sending", m.Must(200, resume(id)).String("status"))
	m.run("send-campaigns", "send-mail")
	m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", M{"program_id": m.program}))
	m.post.refuse = ""
	require.Equal(t, "sending", m.Must(200, m.Post("/v1/campaigns/"+id+"/resume", M{"program_id": m.program})).String("status"))
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 2, 0, 2, 0, 0, 0), m.stats(id))
	require.Len(t, m.post.mails["ada@example.com"], 1, "nobody gets it twice")
	m.Refused(409, "campaign_not_resumable", "", resume(id))
	m.Refused(404, "resource_not_found", "program_id", m.Post("/v1/campaigns/"+id+"/resume", M{"program_id": m.Program()}))
}

// TestCampaignAudience: a partner must match every list of the audience. Within a list, one value
// is enough.
func TestCampaignAudience(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	gold := m.Must(201, m.Post("/v1/groups", M{"program_id": m.program, "name": "Gold"})).String("id")
	vip := m.Must(201, m.Post("/v1/tags", M{"program_id": m.program, "name": "VIP"})).String("id")
	new := m.Must(201, m.Post("/v1/tags", M{"program_id": m.program, "name": "New"})).String("id")
	var partners []string
	for i, p := range []M{{"group_id": gold}, {"group_id": gold}, {}, {}} {
		id := m.Partner(m.program, p)
		partners = append(partners, id)
		m.Must(200, m.Post("/v1/partners/"+id, M{"tag_ids": [][]string{{vip}, {}, {new}, {vip, new}}[i]}))
	}
	m.Must(201, apitest.Apply(m.Server, m.program, "pending@example.com"))
	for _, c := range []struct {
		audience any
		total    int64
	}{
		{nil, 4}, {M{}, 4}, {M{"group_ids": []string{gold}}, 2}, {M{"tag_ids": []string{vip, new}}, 3},
		{M{"tag_ids": []string{vip}, "group_ids": []string{gold}}, 1},
		{M{"statuses": []string{"pending"}}, 1}, {M{"statuses": []string{"pending", "active"}}, 5},
		{M{"partner_ids": []string{partners[1], partners[2], partners[2]}}, 2},
		{M{"partner_ids": partners[1:], "group_ids": []string{gold}}, 1},
	} {
		a := m.Must(200, m.send(m.campaign(M{"audience": c.audience})))
		require.Equal(t, c.total, apitest.Answer{Body: a.Body["stats"].(M)}.Int("total"), "%v", c.audience)
	}
	id := m.campaign(M{"audience": M{"group_ids": []string{gold}}})
	m.Must(200, m.Delete("/v1/groups/"+gold))
	m.Refused(409, "campaign_audience_empty", "", m.send(id))
	require.Equal(t, want("draft", 0, 0, 0, 0, 0, 0), m.stats(id), "a group that is gone is nobody, not everybody")
	m.Refused(404, "resource_not_found", "audience.tag_ids[0]", m.Post("/v1/campaigns/"+id, M{
		"audience": M{"tag_ids": []string{"tag_none"}},
	}))
	for ids, code := range map[string]string{"part_none": "resource_not_found", m.Partner(m.Server.Program()): "invalid_reference"} {
		refused := m.Post("/v1/campaigns/"+id, M{"audience": M{"partner_ids": []string{partners[0], ids}}})
		m.Refused(map[string]int{"resource_not_found": 404, "invalid_reference": 400}[code], code, "audience.partner_ids[1]", refused)
	}
	alone := m.campaign(M{"audience": M{"partner_ids": partners[:1]}})
	shown := m.Must(200, m.Get("/v1/campaigns/"+alone+"/preview"))
	require.Equal(t, M{"partner_ids": []any{partners[0]}}, shown.Body["audience"])
	require.EqualValues(t, 1, shown.Int("total"))
	m.Must(200, m.Delete("/v1/partners/"+partners[0]))
	m.Refused(409, "campaign_audience_empty", "", m.send(alone))
	m.Must(200, m.Post("/v1/campaigns/"+id, M{"audience": nil}))
	m.Must(200, m.send(id))
}

// TestCampaignWithoutMail: without a mail server nothing changes and nothing is lost.
func TestCampaignWithoutMail(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	m := mailing{s, s.Program(), nil}
	id := m.campaign()
	m.Refused(501, "email_not_configured", "", m.send(id))
	require.Equal(t, want("draft", 0, 0, 0, 0, 0, 0), m.stats(id))
	_, err := s.Pool.Exec(t.Context(), "UPDATE campaigns SET status = 'paused' WHERE id = $1", id)
	require.NoError(t, err)
	m.Refused(501, "email_not_configured", "", m.Post("/v1/campaigns/"+id+"/resume", nil))
	other := s.Program()
	m.Refused(404, "resource_not_found", "program_id", s.Get("/v1/campaigns/"+id+"?program_id="+other))
	m.Refused(404, "resource_not_found", "program_id", s.Post("/v1/campaigns/"+id+"/send", M{"program_id": other}))
}

// TestCampaignOnce: concurrent callers start a campaign once, and concurrent replicas send each
// mail once.
func TestCampaignOnce(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	for range 30 {
		m.Partner(m.program)
	}
	id := m.campaign()
	statuses := make([]int, 8)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() { statuses[i] = m.send(id).Status })
	}
	all.Wait()
	won := 0
	for _, status := range statuses {
		require.Contains(t, []int{200, 409}, status)
		if status == 200 {
			won++
		}
	}
	require.Equal(t, 1, won)
	for range 4 {
		all.Go(func() { m.run("send-campaigns", "send-mail") })
	}
	all.Wait()
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 30, 0, 30, 0, 0, 0), m.stats(id))
	require.Equal(t, 30, m.post.count())
	require.Len(t, m.post.mails, 30)
}

// TestCampaignPreview: a preview returns the mail and the number of recipients. A test mail goes
// only to the owner.
func TestCampaignPreview(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	for _, name := range []string{"ada", "quiet"} {
		m.Partner(m.program, M{"handle": name, "email": name + "@example.com"})
	}
	_, err := m.Pool.Exec(t.Context(), "UPDATE partners SET unsubscribed_at = now() WHERE handle = 'quiet'")
	require.NoError(t, err)
	id := m.campaign(M{"body": "Hello, **autumn** <script>is</script> here."})
	p := m.Must(200, m.Get("/v1/campaigns/"+id+"/preview"))
	require.EqualValues(t, 2, p.Int("total"))
	require.EqualValues(t, 1, p.Int("skipped"))
	require.Contains(t, p.String("html"), "<strong>autumn</strong>")
	require.NotContains(t, p.String("html"), "<script>")
	require.Equal(t, M{}, p.Body["audience"], "every active partner")

	owner := "owner@shop.example"
	_, err = m.Pool.Exec(t.Context(), "UPDATE organizations SET owner_email = NULL WHERE id = $1", m.Org)
	require.NoError(t, err)
	m.Refused(409, "campaign_not_sendable", "", m.Post("/v1/campaigns/"+id+"/test", nil))
	_, err = m.Pool.Exec(t.Context(), "UPDATE organizations SET owner_email = $2 WHERE id = $1", m.Org, owner)
	require.NoError(t, err)
	require.Equal(t, owner, m.Must(200, m.Post("/v1/campaigns/"+id+"/test", nil)).String("recipient"))
	m.run("send-mail")
	require.Len(t, m.post.mails[owner], 1)
	require.Contains(t, m.post.mails[owner][0], "Subject: Test: News")
	require.Equal(t, 1, m.post.count())
	require.Equal(t, want("draft", 0, 0, 0, 0, 0, 0), m.stats(id))
	stranger := m.NewKey(m.NewOrg("Other"), true, "write")
	m.Must(404, m.Do("GET", "/v1/campaigns/"+id+"/preview", stranger, nil))
	m.Must(404, m.Do("POST", "/v1/campaigns/"+id+"/test", stranger, nil))
	bare := apitest.New(t)
	program := bare.Program()
	draft := bare.Must(201, bare.Post("/v1/campaigns", M{"program_id": program, "name": "x", "subject": "x", "body": "x"}))
	bare.Refused(501, "email_not_configured", "", bare.Post("/v1/campaigns/"+draft.String("id")+"/test", nil))
}
