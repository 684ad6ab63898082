package partner_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

func TestCreatePartner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.DefaultGroups(program)[0]
	p := s.Must(201, s.Post("/v1/partners", M{"program_id": program, "email": "Ada.Lovelace+x@Example.com"}))
	require.True(t, strings.HasPrefix(p.String("id"), "part_"))
	require.Equal(t, M{
		"id": p.String("id"), "object": "partner", "program_id": program, "group_id": group,
		"email":      "Ada.Lovelace+x@Example.com",
		"first_name": nil, "last_name": nil, "display_name": nil, "company_name": nil, "website_url": nil,
		"country_code": nil, "language_code": nil, "address": nil, "tax_id": nil,
		"handle": "ada-lovelace", "status": "active", "decline_reason": nil, "suspension_reason": nil,
		"min_payout_minor":  nil,
		"terms_accepted_at": nil, "terms_version": nil, "completed_onboarding": false, "email_first_referral": true,
		"email_new_referral": true,
		"email_payout_paid":  true, "metadata": nil, "payout_method": nil, "external_id": nil, "ban_scheduled_at": nil,
		"created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, p.Body)
	require.Equal(t, p.Body, s.Must(200, s.Get("/v1/partners/"+p.String("id"))).Body)
	events := s.Events(program)
	require.Len(t, events, 1)
	require.Equal(t, "affiliate.created", events[0].String("type"))
	require.True(t, strings.HasPrefix(events[0].String("id"), "evt_"))
	require.Equal(t, "2026-09-01T12:00:00.000Z", events[0].String("created_at"))
	require.Equal(t, M{"id": p.Header.Get("Rail-Request-Id")}, events[0].Body["request"])
	require.Equal(t, M{
		"partner_id": p.String("id"), "email": "Ada.Lovelace+x@Example.com", "handle": "ada-lovelace", "status": "active",
		"group_id": group,
	}, events[0].Body["data"])

	own := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "own"})).String("id")
	full := s.Must(201,
		s.Post("/v1/partners",
			`{"program_id":"`+program+`","email":"b@example.com","first_name":"B","last_name":"L","company_name":"C",
		"website_url":"https://b.example","country_code":"de","handle":"b-1","group_id":"`+own+
				`","status":"active","metadata":{"z":1.50,"a":[1e2,null]}}`))
	for name, want := range (M{
		"first_name": "B", "last_name": "L", "company_name": "C", "website_url": "https://b.example", "country_code": "DE",
		"handle": "b-1", "group_id": own,
	}) {
		require.Equal(t, want, full.Body[name], name)
	}
	require.Contains(t, string(full.Raw), `"metadata":{"z":1.50,"a":[1e2,null]}`, "stored as given")
	require.Contains(t, string(s.Get("/v1/partners/"+full.String("id")).Raw), `"metadata":{"z":1.50,"a":[1e2,null]}`)
	null := s.Must(201, s.Post("/v1/partners", M{
		"program_id": program, "email": "n@example.com", "handle": nil, "group_id": nil, "country_code": nil, "metadata": nil,
		"first_name": nil,
	}))
	require.Equal(t, group, null.String("group_id"), "null is like leaving it out")
}

// TestInvitePartner: only an invited partner gets a mail with a sign-in link.
func TestInvitePartner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	program := s.Program()
	s.Partner(program)
	s.Partner(program, M{"email": "ada@example.com", "invite": true})
	s.Refused(400, "parameter_invalid", "invite", s.Post("/v1/partners", M{
		"program_id": program, "email": "b@example.com", "status": "pending", "invite": true,
	}))
	var recipient, text string
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT recipient, plain FROM mails WHERE purpose = 'partner_invited'").Scan(&recipient, &text))
	require.Equal(t, "ada@example.com", recipient)
	path := regexp.MustCompile(`rail://(/portal/sign-in/\S+)`).FindStringSubmatch(text)
	require.Len(t, path, 2, text)
	s.Clock.Advance(6 * 24 * time.Hour)
	s.Must(200, s.Do("GET", path[1], "", nil)) // a mail scanner only opens the page
	s.Must(303, s.Do("POST", path[1], "", nil))
	s.Must(410, s.Do("POST", path[1], "", nil))
}

func TestCreatePendingPartner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	p := s.PartnerObject(program, M{"status": "pending", "handle": "ada", "email": "ada@example.com"})
	require.Equal(t, "pending", p.String("status"))
	events := s.Events(program)
	require.Equal(t, []string{"affiliate.created", "application.submitted"}, s.EventTypes(program))
	require.Equal(t, "pending", events[0].Body["data"].(M)["status"])
	data := events[1].Body["data"].(M)
	application, _ := data["application_id"].(string)
	require.True(t, strings.HasPrefix(application, "app_"))
	require.Equal(t,
		M{
			"application_id": application, "partner_id": p.String("id"), "email": "ada@example.com", "handle": "ada",
			"answers": M{},
		}, data)
	var stored string
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), `SELECT concat_ws(' ', id, partner_id, group_id, email, source, status, answers)
		FROM applications WHERE program_id = $1`, program).Scan(&stored))
	require.Equal(t,
		strings.Join([]string{application, p.String("id"), p.String("group_id"), "ada@example.com", "api", "pending", "{}"},
			" "), stored)
	for _, status := range []string{"active", "suspended"} {
		s.Refused(409, "partner_not_reviewed", "status", s.Post("/v1/partners/"+p.String("id"), M{"status": status}))
	}
	s.Refused(404, "tracking_value_not_found", "value", s.Post("/v1/clicks", M{
		"program_id": program, "value": "ada", "landing_url": "https://shop.example", "visitor_token": "visitor-1",
	}))
}

func TestDerivedHandles(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	long := strings.Repeat("abcdefghi-", 4) + "x"
	for _, c := range [][2]string{
		{"grace@example.com", "grace"}, {"Grace@example.org", "grace-2"}, {"grace+a@example.net", "grace-3"},
		{"a@example.com", "partner"},
		{"é@example.com", "partner-2"}, {"o.b__c@example.com", "o-b-c"}, {"--x.y--@example.com", "x-y"},
		{long + "@example.com", long[:32]}, {long + "@example.org", long[:29] + "-2"},
	} {
		p := s.Must(201, s.Post("/v1/partners", M{"program_id": program, "email": c[0]}))
		require.Equal(t, strings.TrimRight(c[1], "-"), p.String("handle"), c[0])
		require.Regexp(t, `^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$`, p.String("handle"))
	}
}

// TestDerivedHandlesAtOnce: many partners with the same stem are created at once, each with a
// unique handle.
func TestDerivedHandlesAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	handles := map[string]bool{}
	for _, a := range apitest.AtOnce(16, func(i int) apitest.Answer {
		return s.Post("/v1/partners", M{"program_id": program, "email": fmt.Sprintf("race@%d.example.com", i)})
	}) {
		require.Equal(t, 201, a.Status, "%s", a.Raw)
		handles[a.String("handle")] = true
	}
	require.Len(t, handles, 16)
	for _, a := range apitest.AtOnce(8, func(i int) apitest.Answer {
		return s.Post("/v1/partners", M{
			"program_id": program, "email": "One@example.com", "handle": fmt.Sprintf("one-%d", i),
		})
	}) {
		require.Contains(t, []int{201, 409}, a.Status, "%s", a.Raw)
		if a.Status == 409 {
			require.Equal(t, "partner_email_taken", a.Code())
		}
	}
	require.EqualValues(t, 1, s.Get("/v1/partners?program_id="+program+"&email=one@example.com").Int("total_count"))
}

func TestPartnerTaken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada := s.PartnerObject(program, M{"email": "ada@example.com", "handle": "ada"})
	ben := s.Partner(program, M{"handle": "ben"})
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": ada.String("id"), "destination_url": "https://shop.example", "value": "Promo",
	}))
	gone := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": ada.String("id"), "destination_url": "https://shop.example", "value": "gone",
	}))
	s.Must(200, s.Delete("/v1/links/"+gone.String("id")))
	before := apitest.Rows(s, s.Org)
	create := func(email, handle string) apitest.Answer {
		return s.Post("/v1/partners", M{"program_id": program, "email": email, "handle": handle})
	}
	taken := s.Refused(409, "partner_email_taken", "email", create("ADA@Example.com", "new"))
	require.Equal(t, ada.Body, taken.Body["existing"])
	require.Equal(t, ada.Body,
		s.Refused(409, "partner_handle_taken", "handle", create("new@example.com", "ada")).Body["existing"])
	require.Equal(t, link.Body,
		s.Refused(409, "partner_handle_taken", "handle", create("new@example.com", "promo")).Body["existing"])
	s.Refused(409, "partner_handle_taken", "handle", create("new@example.com", "gone")) // reserved, though deleted
	require.Equal(t, ada.Body,
		s.Refused(409, "partner_handle_taken", "handle", s.Post("/v1/partners/"+ben, M{"handle": "ada"})).Body["existing"])
	require.Equal(t, link.Body,
		s.Refused(409, "partner_handle_taken", "handle", s.Post("/v1/partners/"+ben, M{"handle": "promo"})).Body["existing"])
	require.Equal(t, before, apitest.Rows(s, s.Org), "a refusal changes nothing")
	other := s.Program()
	s.Partner(other, M{"email": "ada@example.com", "handle": "ada"})
	require.Equal(t, "promo-2",
		s.Must(201, s.Post("/v1/partners", M{"program_id": program, "email": "promo@example.com"})).String("handle"))
}

// TestPartnerExternalID: the merchant's own id finds a partner. It is unique in the program,
// compared exactly, and free again after it is cleared.
func TestPartnerExternalID(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	ada := s.PartnerObject(program, M{"email": "ada@example.com", "handle": "ada", "external_id": "Crm-1"})
	ben := s.PartnerObject(program, M{"email": "ben@example.com", "handle": "ben"})
	require.Equal(t, []any{"Crm-1", nil}, []any{ada.Body["external_id"], ben.Body["external_id"]})
	find := func(program, id string) apitest.Answer {
		return s.Must(200, s.Get("/v1/partners?program_id="+program+"&external_id="+url.QueryEscape(id)))
	}
	require.Equal(t, []M{ada.Body}, find(program, "Crm-1").Data())
	for _, none := range []string{"crm-1", "Crm-1 ", "Crm", "part_none"} {
		require.Empty(t, find(program, none).Data(), none)
	}
	require.EqualValues(t, 1, find(program, "Crm-1").Int("total_count"))
	require.Empty(t, find(other, "Crm-1").Data())
	s.Partner(other, M{"external_id": "Crm-1"}) // another program's partners have other ids
	create := M{"program_id": program, "email": "eve@example.com", "external_id": "Crm-1"}
	require.Equal(t, ada.Body, s.Refused(409, "partner_external_id_taken", "external_id", s.Post("/v1/partners", create)).Body["existing"])
	path := "/v1/partners/" + ben.String("id")
	taken := s.Refused(409, "partner_external_id_taken", "external_id", s.Post(path, M{"external_id": "Crm-1"}))
	require.Equal(t, ada.Body, taken.Body["existing"])
	require.Equal(t, "crm-1", s.Must(200, s.Post(path, M{"external_id": "crm-1"})).String("external_id"))
	require.Equal(t, "crm-1", s.Must(200, s.Post(path, M{"external_id": "crm-1"})).String("external_id"), "its own")
	require.Equal(t, "crm-1", s.Must(200, s.Post(path, M{"first_name": "Ben"})).String("external_id"), "what is absent stays")
	require.Nil(t, s.Must(200, s.Post("/v1/partners/"+ada.String("id"), M{"external_id": nil})).Body["external_id"])
	require.Equal(t, "Crm-1", s.Must(201, s.Post("/v1/partners", create)).String("external_id"))
	for _, faulty := range []string{"", strings.Repeat("x", 256)} {
		s.Refused(400, "parameter_invalid", "external_id", s.Post(path, M{"external_id": faulty}))
		s.Refused(400, "parameter_invalid", "external_id", s.Post("/v1/partners", M{
			"program_id": program, "email": "x@example.com", "external_id": faulty,
		}))
	}
}

// TestPartnerExternalIDAtOnce: when many partners take one id at once, one gets it.
func TestPartnerExternalIDAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	existing := s.Partner(program)
	won := 0
	for _, a := range apitest.AtOnce(8, func(i int) apitest.Answer {
		if i == 0 {
			return s.Post("/v1/partners/"+existing, M{"external_id": "one"})
		}
		return s.Post("/v1/partners", M{"program_id": program, "email": fmt.Sprintf("one-%d@example.com", i), "external_id": "one"})
	}) {
		if a.Status < 300 {
			won++
			continue
		}
		s.Refused(409, "partner_external_id_taken", "external_id", a)
	}
	require.Equal(t, 1, won)
}

func TestHandleChange(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada := s.Partner(program, M{"handle": "ada"})
	ben := s.Partner(program, M{"handle": "ben"})
	path := "/v1/partners/" + ada
	require.Equal(t, "countess", s.Must(200, s.Post(path, M{"handle": "countess"})).String("handle"))
	for _, value := range []string{"ada", "ADA", "countess", "Countess"} {
		require.Equal(t, ada, s.Click(program, value).String("partner_id"), value)
	}
	s.Refused(409, "partner_handle_taken", "handle", s.Post("/v1/partners/"+ben, M{"handle": "ada"}))
	require.Equal(t, "ada", s.Must(200, s.Post(path, M{"handle": "ada"})).String("handle"), "its own former handle")
	require.Equal(t, ada, s.Click(program, "countess").String("partner_id"))
	require.EqualValues(t, 1, s.Get("/v1/partners?program_id="+program+"&handle=ADA").Int("total_count"))
	require.EqualValues(t, 0, s.Get("/v1/partners?program_id="+program+"&handle=countess").Int("total_count"))
}

func TestUpdatePartner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "g"})).String("id")
	partner := s.Partner(program)
	path := "/v1/partners/" + partner
	for _, c := range []struct {
		name         string
		value, shown any
	}{
		{"first_name", "F", "F"}, {"last_name", "L", "L"}, {"display_name", "D", "D"}, {"company_name", "C", "C"},
		{"website_url", "https://p.example", "https://p.example"}, {"country_code", "fr", "FR"},
		{"handle", "new-handle", "new-handle"},
		{"group_id", group, group}, {"min_payout_minor", 5000, json.Number("5000")}, {"metadata", M{"a": "b"}, M{"a": "b"}},
		{"metadata", M{"c": "d"}, M{"c": "d"}}, {"payout_method", "wise", "wise"}, {"min_payout_minor", 0, json.Number("0")},
		{"first_name", nil, nil}, {"last_name", nil, nil}, {"display_name", nil, nil}, {"company_name", nil, nil},
		{"website_url", nil, nil},
		{"country_code", nil, nil}, {"group_id", nil, nil}, {"min_payout_minor", nil, nil}, {"metadata", nil, nil},
		{"payout_method", nil, nil}, {"address", "1 High Street", "1 High Street"}, {"tax_id", "DE123456789", "DE123456789"},
		{"address", nil, nil}, {"tax_id", nil, nil},
	} {
		before, seen := s.Must(200, s.Get(path)), len(s.Events(program))
		s.Clock.Advance(time.Second)
		after := s.Must(200, s.Post(path, M{c.name: c.value}))
		require.Equal(t, c.shown, after.Body[c.name], c.name)
		require.Equal(t, after.Body, s.Must(200, s.Get(path)).Body)
		require.Greater(t, after.String("updated_at"), before.String("updated_at"))
		recorded := s.Events(program)[seen:]
		require.Len(t, recorded, 1, c.name)
		require.Equal(t, "affiliate.updated", recorded[0].String("type"))
		require.Equal(t, M{"partner_id": partner, "status": "active", "reason": nil}, recorded[0].Body["data"])
		s.Clock.Advance(time.Second)
		require.Equal(t, after.Body, s.Must(200, s.Post(path, M{c.name: c.value})).Body, "%s again", c.name)
		require.Len(t, s.Events(program), seen+1, "%s again records nothing", c.name)
		after.Body[c.name], after.Body["updated_at"] = before.Body[c.name], before.Body["updated_at"]
		require.Equal(t, before.Body, after.Body, "%s alone changed", c.name)
	}
}

func TestSuspendPartner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ada"})
	path := "/v1/partners/" + partner
	click := M{"program_id": program, "value": "ada", "landing_url": "https://shop.example", "visitor_token": "visitor-1"}
	s.Must(200, s.Post(path, M{"status": "active"}))
	require.Equal(t, []string{"affiliate.created"}, s.EventTypes(program), "the same value is a no-op")
	suspended := s.Must(200, s.Post(path, M{"status": "suspended", "suspension_reason": "Spam."}))
	require.Equal(t, "suspended", suspended.String("status"))
	require.Equal(t, "Spam.", suspended.String("suspension_reason"))
	s.Refused(404, "tracking_value_not_found", "value", s.Post("/v1/clicks", click))
	s.Must(200, s.Post(path, M{"status": "suspended"}))
	require.Equal(t, "Spam.", s.Get(path).String("suspension_reason"))
	back := s.Must(200, s.Post(path, M{"status": "active"}))
	require.Equal(t, "active", back.String("status"))
	require.Nil(t, back.Body["suspension_reason"], "cleared on reinstatement")
	s.Must(201, s.Post("/v1/clicks", click))
	var recorded []any
	for _, e := range s.Events(program) {
		if e.String("type") == "affiliate.updated" {
			recorded = append(recorded, e.Body["data"])
		}
	}
	require.Equal(t, []any{
		M{"partner_id": partner, "status": "suspended", "reason": "Spam."},
		M{"partner_id": partner, "status": "active", "reason": nil},
	}, recorded)
	require.Nil(t, s.Must(200, s.Post(path, M{"status": "suspended"})).Body["suspension_reason"], "a reason is optional")
}

func TestPartnerTags(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	tag := func(program, name string) M {
		return s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": name})).Body
	}
	a, b := tag(program, "a"), tag(program, "b")
	elsewhere := tag(s.Program(), "c")["id"]
	partner := s.Partner(program)
	path := "/v1/partners/" + partner
	tags := func() []any {
		list, _ := s.Must(200, s.Get(path+"?include[]=tags")).Body["tags"].([]any)
		return list
	}
	require.Equal(t, []any{}, tags())
	require.NotContains(t, s.Get(path).Body, "tags")
	s.Must(200, s.Post(path, M{"tag_ids": []any{b["id"], a["id"], b["id"]}}))
	require.ElementsMatch(t, []any{a, b}, tags())
	seen := len(s.Events(program))
	s.Must(200, s.Post(path, M{"tag_ids": []any{a["id"], b["id"]}}))
	require.Len(t, s.Events(program), seen, "order and duplicates mean nothing")
	s.Must(200, s.Post(path, M{"first_name": "x"}))
	require.Len(t, tags(), 2)
	s.Must(200, s.Post(path, M{"tag_ids": []any{b["id"]}}))
	require.Equal(t, []any{b}, tags(), "the list is replaced")
	before := apitest.Rows(s, s.Org)
	s.Refused(404, "resource_not_found", "tag_ids[1]", s.Post(path, M{
		"tag_ids": []any{a["id"], "tag_none"}, "first_name": "y",
	}))
	s.Refused(400, "invalid_reference", "tag_ids[0]", s.Post(path, M{"tag_ids": []any{elsewhere}}))
	s.Refused(400, "parameter_invalid", "tag_ids[0]", s.Post(path, M{"tag_ids": []any{"x"}}))
	s.Refused(400, "parameter_invalid", "tag_ids", s.Post(path, M{"tag_ids": nil}))
	s.Refused(400, "parameter_invalid", "tag_ids", s.Post(path, M{"tag_ids": slices.Repeat([]any{a["id"]}, 51)}))
	require.Equal(t, before, apitest.Rows(s, s.Org))
	s.Must(200, s.Post(path, M{"tag_ids": []any{}}))
	require.Equal(t, []any{}, tags())
}

func TestPartnerPayoutDetails(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"payout_methods": []string{"wise", "paypal"}})
	partner := s.Partner(program)
	path := "/v1/partners/" + partner
	stored := func() (sealed []byte) {
		require.NoError(t,
			s.Pool.QueryRow(t.Context(), "SELECT payout_details::text::bytea FROM partners WHERE id = $1",
				partner).Scan(&sealed))
		return sealed
	}
	s.Refused(400, "parameter_invalid", "payout_method", s.Post(path, M{"payout_method": "crypto"}))
	s.Refused(400, "parameter_invalid", "payout_method", s.Post(path, M{"payout_method": "cash"}))
	s.Refused(400, "parameter_invalid", "payout_details", s.Post(path, M{
		"payout_details": M{"iban": "DE02120300000000202051"},
	}))
	require.Nil(t, stored())
	a := s.Must(200, s.Post(path, M{"payout_method": "wise", "payout_details": M{"iban": "DE02120300000000202051"}}))
	require.Equal(t, "wise", a.String("payout_method"))
	require.NotContains(t, string(a.Raw), "payout_details")
	require.NotContains(t, string(s.Get(path).Raw), "DE0212", "never returned")
	require.NotEmpty(t, stored())
	require.NotContains(t, string(stored()), "DE0212", "stored encrypted")
	s.Must(200, s.Post(path, M{"payout_method": "paypal"}))
	require.Nil(t, stored(), "details belong to one method")
	any1 := s.Program()
	// a program without a list takes any
	s.Must(200, s.Post("/v1/partners/"+s.Partner(any1), M{"payout_method": "crypto"}))
}

func TestPartnerRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"blocked_countries": []string{"KP"}})
	partner := s.Partner(program)
	elsewhere := s.DefaultGroups(s.Program())[0]
	before := apitest.Rows(s, s.Org)
	create := func(more M) apitest.Answer {
		body := M{"program_id": program, "email": "new@example.com"}
		maps.Copy(body, more)
		return s.Post("/v1/partners", body)
	}
	update := func(body M) apitest.Answer { return s.Post("/v1/partners/"+partner, body) }
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"handle": "A"}, 400, "parameter_invalid", "handle"}, {M{"handle": "a"}, 400, "parameter_invalid", "handle"},
		{M{"handle": "-a"}, 400, "parameter_invalid", "handle"}, {M{"handle": "a-"}, 400, "parameter_invalid", "handle"},
		{M{"handle": "Ada"}, 400, "parameter_invalid", "handle"}, {M{"handle": "a.b"}, 400, "parameter_invalid", "handle"},
		{M{"handle": strings.Repeat("a", 33)}, 400, "parameter_invalid", "handle"},
		{M{"country_code": "DEU"}, 400, "parameter_invalid", "country_code"},
		{M{"country_code": ""}, 400, "parameter_invalid", "country_code"},
		{M{"website_url": "x"}, 400, "parameter_invalid", "website_url"},
		{M{"first_name": strings.Repeat("x", 256)}, 400, "parameter_invalid", "first_name"},
		{M{"status": "declined"}, 400, "parameter_invalid", "status"}, {M{"status": nil}, 400, "parameter_invalid", "status"},
		{M{"metadata": []any{}}, 400, "parameter_invalid", "metadata"},
		{M{"metadata": "x"}, 400, "parameter_invalid", "metadata"},
		{M{"metadata": M{"k": strings.Repeat("x", 16<<10)}}, 400, "parameter_invalid", "metadata"},
		{M{"group_id": "part_1"}, 400, "parameter_invalid", "group_id"},
		{M{"group_id": "grp_none"}, 404, "resource_not_found", "group_id"},
		{M{"group_id": elsewhere}, 400, "invalid_reference", "group_id"},
	} {
		s.Refused(c.status, c.code, c.param, create(c.body))
		s.Refused(c.status, c.code, c.param, update(c.body))
	}
	for _, email := range []any{
		"", "x", "a@", "@b", "a b@example.com", nil, 1, strings.Repeat("x", 250) + "@example.com",
	} {
		s.Refused(400, "parameter_invalid", "email", create(M{"email": email}))
	}
	s.Refused(400, "country_blocked", "country_code", create(M{"country_code": "kp"}))
	s.Refused(400, "parameter_invalid", "status", create(M{"status": "suspended"}))
	s.Refused(400, "parameter_invalid", "status", update(M{"status": "pending"}))
	s.Refused(400, "parameter_unknown", "tag_ids", create(M{"tag_ids": []string{}}))
	s.Refused(400, "parameter_unknown", "email", update(M{"email": "other@example.com"}))
	s.Refused(400, "parameter_unknown", "email_payout_paid", update(M{"email_payout_paid": false}))
	s.Refused(400, "parameter_invalid", "handle", update(M{"handle": nil}))
	s.Refused(400, "parameter_invalid", "min_payout_minor", update(M{"min_payout_minor": -1}))
	s.Refused(400, "parameter_invalid", "suspension_reason", update(M{
		"status": "suspended", "suspension_reason": strings.Repeat("x", 1001),
	}))
	s.Refused(400, "parameter_missing", "email", s.Post("/v1/partners", M{"program_id": program}))
	s.Refused(400, "parameter_missing", "program_id", s.Post("/v1/partners", M{"email": "new@example.com"}))
	s.Refused(404, "resource_not_found", "program_id", create(M{"program_id": "prg_none"}))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/partners/part_none", M{"first_name": "x"}))
	s.Refused(404, "resource_not_found", "", s.Delete("/v1/partners/part_none"))
	s.Refused(400, "invalid_expand", "expand[]", s.Do("POST", "/v1/partners/"+partner+"?expand=group", s.Key, M{
		"first_name": "x",
	}))
	require.Equal(t, before, apitest.Rows(s, s.Org), "a refusal changes nothing")
}

func TestPartnerListFilters(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "g"}))
	ada := s.Partner(program, M{
		"email": "ada@example.com", "handle": "countess", "first_name": "Augusta", "last_name": "King",
		"company_name": "Engines 100%",
	})
	ben := s.Partner(program, M{
		"email": "ben@example.org", "handle": "ben_x"[:3], "group_id": group.String("id"), "status": "pending",
	})
	cyd := s.Partner(program, M{"email": "cyd@example.net", "handle": "cyd", "group_id": group.String("id")})
	s.Must(200, s.Post("/v1/partners/"+cyd, M{"status": "suspended", "display_name": "Cyd C"}))
	get := func(query string) (ids []string) {
		t.Helper()
		a := s.Must(200, s.Get("/v1/partners?program_id="+program+query))
		for _, p := range a.Data() {
			ids = append(ids, p["id"].(string))
		}
		require.EqualValues(t, len(ids), a.Int("total_count"), query)
		return ids
	}
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "Press"})).String("id")
	s.Must(200, s.Post("/v1/partners/"+ada, M{"tag_ids": []string{tag}}))
	s.Must(200, s.Post("/v1/partners/"+cyd, M{"tag_ids": []string{tag}}))
	for query, want := range map[string][]string{
		"&tag_id=" + tag: {ada, cyd}, "&tag_id=" + tag + "&status=active": {ada},
		"": {ada, ben, cyd}, "&status=active": {ada}, "&status=pending": {ben}, "&status=suspended": {cyd},
		"&status=declined":       nil,
		"&status=active,pending": {ada, ben}, "&status=active,active": {ada}, "&group_id=" + group.String("id"): {ben, cyd},
		"&group_id=" + group.String("id") + "&status=pending": {ben},
		"&email=ADA@Example.com":                              {ada}, "&email=ada": nil, "&handle=COUNTESS": {ada},
		"&handle=count":   nil,
		"&search=augusta": {ada}, "&search=KING": {ada}, "&search=engines": {ada}, "&search=example.org": {ben},
		"&search=cyd": {cyd}, "&search=COUNT": {ada},
		"&search=100%25": {ada}, "&search=%25": {ada}, "&search=_": nil, "&search=%5C": nil, "&search=%27": nil,
		"&search=--": nil,
	} {
		require.ElementsMatch(t, want, get(query), query)
	}
	s.Must(200, s.Post("/v1/partners/"+ada, M{"payout_method": "paypal", "payout_details": M{"email": "ada@example.com"}}))
	began := s.Clock.Now()
	s.Click(program, "countess")
	s.Clock.Advance(40 * 24 * time.Hour)
	s.Click(program, "countess")
	later := s.Clock.Now()
	for query, want := range map[string][]string{
		"&has_payout_method=true": {ada}, "&has_payout_method=false": {ben, cyd},
		"&no_click_since=" + began.String(): {ben, cyd}, "&no_click_since=" + later.String(): {ben, cyd},
		"&no_click_since=" + later.Plus(time.Second).String():                               {ada, ben, cyd},
		"&no_click_since=" + later.String() + "&has_payout_method=true":                     nil,
		"&no_click_since=2020-01-01&has_payout_method=false&group_id=" + group.String("id"): {ben, cyd},
	} {
		require.ElementsMatch(t, want, get(query), query)
	}
	s.Refused(400, "parameter_invalid", "no_click_since", s.Get("/v1/partners?program_id="+program+"&no_click_since=yesterday"))
	s.Refused(400, "parameter_invalid", "has_payout_method", s.Get("/v1/partners?program_id="+program+"&has_payout_method=yes"))
	require.Equal(t, []string{cyd, ben, ada}, get(""), "newest first")
	s.Refused(400, "parameter_invalid", "status", s.Get("/v1/partners?program_id="+program+"&status=active,gone"))
	require.Contains(t, string(s.Get("/v1/partners?program_id="+program+"&status=gone").Raw), "declined",
		"names the allowed values")
	s.Refused(400, "invalid_reference", "group_id",
		s.Get("/v1/partners?program_id="+s.Program()+"&group_id="+group.String("id")))
	s.Refused(400, "invalid_reference", "tag_id", s.Get("/v1/partners?program_id="+s.Program()+"&tag_id="+tag))
	list := s.Must(200,
		s.Get("/v1/partners?program_id="+program+"&expand=group&include=stats,tags&status=pending")).Data()[0]
	require.Equal(t, group.Body, list["group"])
	require.Equal(t, []any{}, list["tags"])
	require.Len(t, list["stats"], 5)
	one := s.Must(200, s.Get("/v1/partners/"+ben+"?expand[]=group"))
	require.Equal(t, group.Body, one.Body["group"])
	require.NotContains(t, s.Get("/v1/partners/"+ben).Body, "group")
	s.Must(200, s.Post("/v1/partners/"+ben, M{"group_id": nil}))
	none := s.Must(200, s.Get("/v1/partners/"+ben+"?expand=group"))
	require.Contains(t, none.Body, "group")
	require.Nil(t, none.Body["group"])
}

func TestPartnerStats(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada, ben := s.Partner(program, M{"handle": "ada"}), s.Partner(program, M{"handle": "ben"})
	s.Flow(program)
	for _, visitor := range []string{"visitor-1", "visitor-1", "visitor-2"} {
		s.Click(program, "ada", M{"visitor_token": visitor})
	}
	customer := s.Customer(program, ada)
	s.Sale(program, customer, M{"amount_minor": 1000})
	s.Sale(program, customer, M{"amount_minor": 99, "currency": "EUR"})
	stats := func(clicks, referrals, customers, commissions string) M {
		return M{
			"clicks": json.Number(clicks), "referrals": json.Number(referrals), "customers": json.Number(customers),
			"commissions_minor": json.Number(commissions),
			"paid_minor":        json.Number("0"),
		}
	}
	require.Equal(t, stats("3", "2", "1", "200"), s.Must(200, s.Get("/v1/partners/"+ada+"?include=stats")).Body["stats"])
	for _, p := range s.Must(200, s.Get("/v1/partners?program_id="+program+"&include=stats")).Data() {
		require.Equal(t, map[any]M{ada: stats("3", "2", "1", "200"), ben: stats("0", "0", "0", "0")}[p["id"]], p["stats"])
	}
	s.Refused(400, "invalid_include", "include[]", s.Get("/v1/partners/"+ada+"?include=money"))
}

// TestPartnerEarnings: a partner's figures are the sums of its commissions in the program's
// currency, in every status, before and after they are folded.
func TestPartnerEarnings(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t)
	partner, sales := e.Referrer(1000, 2000, 3000, 4000)
	earned := func(commissions, paid int64) {
		t.Helper()
		for range 2 {
			stats := e.Must(200, e.Get("/v1/partners/"+partner+"?include=stats")).Body["stats"].(M)
			require.Equal(t, []any{json.Number(fmt.Sprint(commissions)), json.Number(fmt.Sprint(paid))}, []any{
				stats["commissions_minor"], stats["paid_minor"],
			})
			var sum int64
			require.NoError(t,
				e.Pool.QueryRow(t.Context(),
					"SELECT coalesce(sum(amount_minor), 0) FROM commissions WHERE partner_id = $1 AND status NOT IN ('rejected', 'voided')", partner).Scan(&sum))
			require.Equal(t, sum, commissions)
			apitest.RunJob(t, e.Server, "fold-balances")
		}
	}
	refund := func(sale string) { e.Must(200, e.Post("/v1/sales/"+sale+"/refund", nil)) }
	earned(2000, 0)
	refund(sales[0])
	earned(1800, 0)
	e.Batch(201)
	earned(1800, 0)
	e.Must(200, e.Post("/v1/payouts/"+e.Payouts("")[0].String("id")+"/mark_paid", nil))
	earned(1800, 1800)
	refund(sales[1])
	earned(1400, 1800)
}

// deletion is the deletion of a partner with one object of each type, next to another partner.
type deletion struct {
	*apitest.Server
	t                           *testing.T
	program, partner, bystander string
	flow, programFlow           string // of the partner, and of the program
	link, coupon, customer      string
	click                       apitest.Answer
	due, waiting                string                    // sales of the partner
	commissions                 map[string]apitest.Answer // of these sales
}

func newDeletion(t *testing.T) deletion {
	t.Helper()
	s := apitest.New(t)
	w := deletion{Server: s, t: t, program: s.Program(), commissions: map[string]apitest.Answer{}}
	w.partner = s.Partner(w.program, M{"handle": "ada", "email": "ada@example.com"})
	w.bystander = s.Partner(w.program)
	w.programFlow = s.Flow(w.program)
	w.flow = s.Flow(w.program, M{"partner_id": w.partner, "name": "Ada's"})
	w.link = s.Must(201,
		s.Post("/v1/links",
			M{"program_id": w.program, "partner_id": w.partner, "destination_url": "https://shop.example"})).String("id")
	w.coupon = s.Must(201,
		s.Post("/v1/coupons", M{"program_id": w.program, "partner_id": w.partner, "code": "ADA"})).String("id")
	w.click = s.Click(w.program, "ada")
	w.customer = s.Must(201,
		s.Post("/v1/customers", M{"program_id": w.program, "click_id": w.click.String("id")})).String("id")
	w.due = s.Sale(w.program, w.customer, M{"external_charge_id": "ch_due"}).String("id")
	s.Must(200, s.Post("/v1/programs/"+w.program, M{"holding_period_days": 30}))
	w.waiting = s.Sale(w.program, w.customer).String("id")
	s.Sale(w.program, s.Customer(w.program, w.bystander))
	for _, k := range s.Get("/v1/commissions?program_id=" + w.program + "&partner_id=" + w.partner).Data() {
		w.commissions[k["sale_id"].(string)] = apitest.Answer{Body: k}
	}
	require.Len(t, w.commissions, 2)
	return w
}

// records: each commission is voided, the flow and the partner are deleted.
func (w deletion) records(recorded []apitest.Answer) {
	w.t.Helper()
	var kinds []string
	voided := map[any]any{}
	for _, e := range recorded {
		kinds = append(kinds, e.String("type"))
		if e.String("type") == "commission.voided" {
			voided[e.Body["data"].(M)["sale_id"]] = e.Body["data"]
		}
	}
	require.Equal(w.t, []string{"commission.voided", "commission.voided", "rule.deleted", "affiliate.deleted"}, kinds)
	for _, sale := range []string{w.due, w.waiting} {
		k := w.commissions[sale]
		require.Equal(w.t, M{
			"commission_id": k.String("id"), "sale_id": sale, "partner_id": w.partner, "amount_minor": k.Body["amount_minor"],
			"currency": "USD",
			"reason":   "partner_deleted",
		}, voided[sale])
	}
	require.Equal(w.t, M{"rule_id": w.flow, "name": "Ada's"}, recorded[2].Body["data"])
	require.Equal(w.t, M{"partner_id": w.partner}, recorded[3].Body["data"])
}

// removes: the partner's objects are not found.
func (w deletion) removes() {
	w.t.Helper()
	for _, path := range []string{
		"partners/" + w.partner, "flows/" + w.flow, "links/" + w.link, "clicks/" + w.click.String("id"),
		"referrals/" + w.click.String("referral_id"),
		"customers/" + w.customer, "commissions/" + w.commissions[w.due].String("id"),
	} {
		w.Refused(404, "resource_not_found", "", w.Get("/v1/"+path))
	}
	w.Refused(404, "resource_not_found", "", w.Delete("/v1/partners/"+w.partner))
	w.Refused(404, "resource_not_found", "partner_id",
		w.Get("/v1/balances?program_id="+w.program+"&partner_id="+w.partner))
}

// detaches: the coupon and the sales remain, without a partner.
func (w deletion) detaches() {
	w.t.Helper()
	require.Nil(w.t, w.Must(200, w.Get("/v1/coupons/"+w.coupon)).Body["partner_id"])
	stays := w.Must(200, w.Get("/v1/sales/"+w.due+"?expand=partner,customer"))
	require.Nil(w.t, stays.Body["partner_id"])
	require.Nil(w.t, stays.Body["partner"])
	require.Nil(w.t, stays.Body["customer"])
	require.Equal(w.t, w.customer, stays.String("customer_id"), "the old customer stays as a text")
	replacement := w.Customer(w.program, w.bystander)
	again := w.Must(200, w.Post("/v1/sales", apitest.SaleBody(w.program, replacement, M{"external_charge_id": "ch_due"})))
	require.Equal(w.t, w.due, again.String("id"), "one charge, one sale, forever")
}

// spares: the other partner's objects remain, and the deleted partner's money is gone.
func (w deletion) spares() {
	w.t.Helper()
	w.Must(200, w.Get("/v1/flows/"+w.programFlow))
	pending, due, paid := w.Balance(w.program, w.bystander, "USD")
	require.Positive(w.t, pending+due)
	require.Zero(w.t, paid)
	require.EqualValues(w.t, 1, w.Get("/v1/commissions?program_id="+w.program).Int("total_count"),
		"another partner's stay")
	var sum int64
	require.NoError(w.t,
		w.Pool.QueryRow(w.t.Context(),
			"SELECT coalesce(sum(pending_minor + due_minor + paid_minor), 0)::bigint FROM balances WHERE partner_id = $1",
			w.partner).Scan(&sum))
	require.Zero(w.t, sum)
}

// frees: the handle leads nowhere, and a new partner can have the handle and the email.
func (w deletion) frees() {
	w.t.Helper()
	w.Refused(404, "tracking_value_not_found", "value", w.Post("/v1/clicks", M{
		"program_id": w.program, "value": "ada", "landing_url": "https://shop.example", "visitor_token": "visitor-1",
	}))
	w.Partner(w.program, M{"email": "ada@example.com", "handle": "ada"})
}

func TestDeletePartner(t *testing.T) {
	t.Parallel()
	w := newDeletion(t)
	seen := len(w.Events(w.program))
	w.Clock.Advance(time.Second)
	require.Equal(t, M{"id": w.partner, "object": "partner", "deleted": true},
		w.Must(200, w.Delete("/v1/partners/"+w.partner)).Body)
	w.records(w.Events(w.program)[seen:])
	w.removes()
	w.detaches()
	w.spares()
	w.frees()
}

// TestDeletePartnerInFlight: a partner with a payout in processing cannot be deleted.
func TestDeletePartnerInFlight(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t)
	s := e.Server
	partner, _ := e.Referrer(10000)
	e.Batch(201)
	s.Flow(e.ProgramID, M{"partner_id": partner})
	set := func(status string) {
		_, err := s.Pool.Exec(t.Context(), "UPDATE payouts SET status = $2, rail = 'x' WHERE partner_id = $1", partner, status)
		require.NoError(t, err)
	}
	set("processing")
	before := apitest.Rows(s, s.Org)
	s.Refused(409, "payout_in_flight", "", s.Delete("/v1/partners/"+partner))
	require.Equal(t, before, apitest.Rows(s, s.Org), "a refusal changes nothing")
	set("failed")
	s.Must(200, s.Delete("/v1/partners/"+partner))
}
