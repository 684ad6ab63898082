package partner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

func TestApplicationTravels(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Creators"})).String("id")
	a := s.Must(201, apitest.Apply(s, program, "ada@example.com", M{
		"handle": "ada", "group_id": group, "answers": M{"why": "I write."},
	}))
	partner := a.String("partner_id")
	require.Equal(t, []any{"pending", "api", group, nil, M{"why": "I write."}}, []any{
		a.String("status"), a.String("source"), a.String("group_id"), a.Body["reviewed_at"], a.Body["answers"],
	})
	require.Equal(t, "pending", s.Get("/v1/partners/"+partner).String("status"))
	require.Equal(t, []string{"affiliate.created", "application.submitted"}, s.EventTypes(program))
	s.Refused(409, "partner_email_taken", "email", apitest.Apply(s, program, "ADA@example.com"))

	approved := s.Must(200, s.Post("/v1/applications/"+a.String("id")+"/approve", nil))
	require.Equal(t, []any{"approved", s.Clock.Now().String()}, []any{
		approved.String("status"), approved.String("reviewed_at"),
	})
	require.Regexp(t, `^usr_`, approved.String("reviewed_by_user_id"))
	require.Equal(t, "active", s.Get("/v1/partners/"+partner).String("status"))
	events := s.Events(program)
	require.Equal(t, []string{"application.approved", "affiliate.confirmed"}, []string{
		events[2].String("type"), events[3].String("type"),
	})
	require.Equal(t,
		M{
			"partner_id": partner, "application_id": a.String("id"), "email": "ada@example.com", "handle": "ada",
			"reviewed_by": approved.String("reviewed_by_user_id"), "reason": nil,
		}, events[2].Body["data"])
	for _, action := range []string{"approve", "reject", "withdraw"} {
		s.Refused(409, "application_already_decided", "", s.Post("/v1/applications/"+a.String("id")+"/"+action, nil))
	}

	b := s.Must(201, apitest.Apply(s, program, "bob@example.com"))
	rejected := s.Must(200, s.Post("/v1/applications/"+b.String("id")+"/reject", M{"reason": "  "}))
	require.Equal(t, "Your application was not accepted.", rejected.String("rejection_reason"), "blank falls back")
	bob := s.Must(200, s.Get("/v1/partners/"+b.String("partner_id")))
	require.Equal(t, []string{"declined", "Your application was not accepted."}, []string{
		bob.String("status"), bob.String("decline_reason"),
	})
	again := s.Must(201, apitest.Apply(s, program, "bob@example.com", M{"group_id": group}))
	require.Equal(t, b.String("partner_id"), again.String("partner_id"), "declined may apply again")
	require.Equal(t, []any{"pending", nil}, []any{
		s.Get("/v1/partners/" + b.String("partner_id")).Body["status"],
		s.Get("/v1/partners/" + b.String("partner_id")).Body["decline_reason"],
	})
	withdrawn := s.Must(200, s.Post("/v1/applications/"+again.String("id")+"/withdraw", nil))
	require.Equal(t, []any{"withdrawn", nil}, []any{withdrawn.String("status"), withdrawn.Body["reviewed_at"]})
	require.Equal(t, "Withdrawn by the applicant.", s.Get("/v1/partners/"+b.String("partner_id")).String("decline_reason"))
	types := s.EventTypes(program)
	require.Equal(t,
		[]string{
			"affiliate.created", "application.submitted", "application.rejected", "application.submitted", "affiliate.updated",
		}, types[4:])

	list := s.Must(200, s.Get("/v1/applications?program_id="+program+"&status=withdrawn,rejected&expand=partner,group"))
	require.EqualValues(t, 2, list.Int("total_count"))
	require.Equal(t, "declined", list.Data()[0]["partner"].(M)["status"])
	require.Len(t, s.Get("/v1/applications?program_id="+program+"&partner_id="+partner).Data(), 1)
	require.Equal(t, "approved", s.Must(200, s.Get("/v1/applications/"+a.String("id")+"?expand[]=group")).String("status"))
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "paused"}))
	s.Refused(409, "program_paused", "", apitest.Apply(s, program, "bob@example.com"))
	s.Refused(409, "program_paused", "", apitest.Apply(s, program, "new@example.com"))
}

// TestApplyAgainAtOnce: when a declined applicant applies many times at once, one application is
// accepted.
func TestApplyAgainAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	declined := s.Must(201, apitest.Apply(s, program, "again@example.com"))
	s.Must(200, s.Post("/v1/applications/"+declined.String("id")+"/reject", nil))
	answers := apitest.AtOnce(8, func(int) apitest.Answer { return apitest.Apply(s, program, "again@example.com") })
	require.Equal(t, []int{1, 7}, []int{apitest.Count(answers, 201), apitest.Count(answers, 409)})
}

func TestRevenueMeter(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.RevenueMeterMinor = 5000 })
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	s.Sale(program, customer, M{"amount_minor": 5000})
	first := s.Must(201, apitest.Apply(s, program, "a@example.com"))
	second := s.Must(201, apitest.Apply(s, program, "b@example.com"))
	s.Must(200, s.Post("/v1/applications/"+first.String("id")+"/approve", nil))
	s.Sale(program, customer, M{"amount_minor": 1})
	s.Refused(402, "revenue_meter_exceeded", "", s.Post("/v1/applications/"+second.String("id")+"/approve", nil))
	require.Equal(t, "pending", s.Get("/v1/applications/"+second.String("id")).String("status"))
}

func TestRiskFlags(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"block_self_referrals": false})
	partner := s.Partner(program, M{"email": "ada@example.com"})
	customer := s.Customer(program, partner, M{"email": "ada@example.com", "name": "Ada"})
	f := apitest.Answer{Body: s.Must(200, s.Get("/v1/risk_flags?program_id="+program)).Data()[0]}
	require.Equal(t, []any{"self_referral", "high", "open"}, []any{
		f.String("kind"), f.String("severity"), f.String("status"),
	})
	require.Equal(t, partner, f.Body["partner"].(M)["id"])
	_ = customer
	id := f.String("id")
	for i, severity := range []string{"low", "medium", "high"} {
		_, err := s.Pool.Exec(t.Context(),
			`INSERT INTO risk_flags (id, org_id, program_id, kind, severity, status, evidence, created_at)
			SELECT $1, org_id, program_id, $2, $3, 'open', '{"check":"x","summary":"y"}', created_at + interval '1 hour' FROM risk_flags WHERE id = $4`, "rsk_"+severity, "kind"+severity, severity, id)
		require.NoError(t, err, i)
	}
	order := func(query string) (out []string) {
		for _, r := range s.Must(200, s.Get("/v1/risk_flags?program_id="+program+query)).Data() {
			out = append(out, r["id"].(string))
		}
		return out
	}
	require.Equal(t, []string{"rsk_high", id, "rsk_medium", "rsk_low"}, order(""))
	require.Equal(t, []string{id, "rsk_medium"}, order("&limit=2&offset=1"))
	require.Equal(t, []string{id}, order("&partner_id="+partner))
	require.Equal(t, true, s.Get("/v1/risk_flags?program_id=" + program + "&limit=2&offset=1").Body["has_more"])
	s.Refused(400, "parameter_invalid", "limit", s.Get("/v1/risk_flags?program_id="+program+"&limit=101"))
	s.Refused(400, "parameter_invalid", "offset", s.Get("/v1/risk_flags?program_id="+program+"&offset=10001"))
	s.Refused(400, "parameter_invalid", "status", s.Get("/v1/risk_flags?program_id="+program+"&status=closed"))
	for range 2 {
		require.Equal(t, "reviewing", s.Must(200, s.Post("/v1/risk_flags/"+id+"/review", nil)).String("status"))
	}
	s.Refused(400, "parameter_missing", "note", s.Post("/v1/risk_flags/"+id+"/resolve", M{}))
	answers := apitest.AtOnce(8, func(int) apitest.Answer {
		return s.Post("/v1/risk_flags/"+id+"/resolve", M{"note": "A known one.", "status": "dismissed"})
	})
	require.Equal(t, []int{1, 7}, []int{apitest.Count(answers, 200), apitest.Count(answers, 409)}, "one of eight decides")
	done := s.Must(200, s.Get("/v1/risk_flags/"+id))
	require.Equal(t, []any{"dismissed", "A known one."}, []any{done.String("status"), done.String("resolution_note")})
	require.Regexp(t, `^usr_`, done.String("resolved_by"))
	require.Equal(t, 1, apitest.Tally(s, program, "risk_flag.resolved"))
	s.Refused(409, "risk_flag_closed", "", s.Post("/v1/risk_flags/"+id+"/review", nil))
	require.Len(t, s.Get("/v1/audit_log_entries?program_id="+program+"&target_id="+id).Data(), 2)
	require.Equal(t, []string{id}, order("&status=dismissed"))
}
