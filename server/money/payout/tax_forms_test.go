package payout_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func taxForm(partner string, more ...M) M {
	body := M{"partner_id": partner, "type": "w8ben", "status": "submitted"}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return body
}

func taxForms(s *apitest.Server, program, query string) (out []apitest.Answer) {
	for _, f := range s.Must(200, s.Get("/v1/tax_form_statuses?program_id="+program+query)).Data() {
		out = append(out, apitest.Answer{Body: f})
	}
	return out
}

func TestTaxFormTravels(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	require.Empty(t, taxForms(s, program, ""))
	w8 := s.Must(201, s.Post("/v1/tax_form_statuses", taxForm(partner, M{
		"signed_at": "2026-03-04T05:06:07Z", "country_code": "gb", "entity_type": "individual",
	})))
	require.Equal(t, []string{"submitted", "GB", "2029-12-31T23:59:59.999Z"}, []string{
		w8.String("status"), w8.String("country_code"), w8.String("expires_at"),
	})
	s.Clock.Advance(time.Hour)
	w9 := s.Must(201, s.Post("/v1/tax_form_statuses", taxForm(partner, M{"type": "w9"})))
	require.Nil(t, w9.Body["expires_at"], "a W-9 never runs out")
	old := s.Must(200, s.Get("/v1/tax_form_statuses/"+w8.String("id")+"?expand=partner"))
	require.Equal(t, "superseded", old.String("status"))
	require.Equal(t, s.Clock.Now().String(), old.String("updated_at"))
	require.Equal(t, partner, old.Body["partner"].(M)["id"])
	require.Len(t, taxForms(s, program, "&status=submitted,superseded"), 2)
	require.Equal(t, w9.String("id"), taxForms(s, program, "&status=submitted&expand[]=partner")[0].String("id"))
	require.Empty(t, taxForms(s, program, "&partner_id="+s.Partner(program)))
}

func TestTaxFormRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	partner := s.Partner(s.Program())
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"partner_id": "part_none"}, 404, "resource_not_found", "partner_id"},
		{M{"partner_id": "cus_1"}, 400, "parameter_invalid", "partner_id"},
		{M{"type": "w2"}, 400, "parameter_invalid", "type"},
		{M{"status": "lost"}, 400, "parameter_invalid", "status"},
		{M{"country_code": "GBR"}, 400, "parameter_invalid", "country_code"},
		{M{"signed_at": "yesterday"}, 400, "parameter_invalid", "signed_at"},
		{M{"signed_at": "2026-09-01T12:00:01Z"}, 400, "parameter_invalid", "signed_at"},
		{
			M{"signed_at": "2026-08-01T00:00:00Z", "expires_at": "2026-08-01T00:00:00Z"}, 400, "parameter_invalid", "expires_at",
		},
		{M{"expires_at": "2026-09-01T12:00:00Z"}, 400, "parameter_invalid", "expires_at"},
		{M{"signed_at": "2022-01-01T00:00:00Z"}, 400, "parameter_invalid", "expires_at"},
		{M{"status": "required", "signed_at": "2026-08-01T00:00:00Z"}, 400, "parameter_invalid", "signed_at"},
		{M{"status": "not_required", "expires_at": "2027-08-01T00:00:00Z"}, 400, "parameter_invalid", "expires_at"},
		{M{"number": "123-45-6789"}, 400, "parameter_unknown", "number"},
	} {
		s.Refused(c.status, c.code, c.param, s.Post("/v1/tax_form_statuses", taxForm(partner, c.body)))
	}
}

// TestTaxFormsDecideOnPayouts: while a program requires forms, it does not pay a partner without a
// valid one.
func TestTaxFormsDecideOnPayouts(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"require_tax_forms": true})
	s := e.Server
	partner, _ := e.Referrer(10000)
	american := s.Partner(e.ProgramID, M{"country_code": "us"})
	firm := s.Partner(e.ProgramID, M{"company_name": "Ltd"})
	for id, form := range map[string]string{partner: "w8ben", american: "w9", firm: "w8bene"} {
		list := taxForms(s, e.ProgramID, "&partner_id="+id)
		require.Len(t, list, 1)
		require.Equal(t, []string{form, "required"}, []string{list[0].String("type"), list[0].String("status")})
	}
	e.Batch(201)
	p := e.Payouts("")[0]
	require.Equal(t, []string{"not_eligible", "tax_form_missing"}, []string{p.String("status"), p.String("reason")})
	s.Must(201, s.Post("/v1/tax_form_statuses", taxForm(partner, M{
		"type": "w8bene", "expires_at": "2026-09-02T00:00:00Z",
	})))
	require.Equal(t, "superseded", taxForms(s, e.ProgramID, "&partner_id="+partner)[1].String("status"),
		"any other current row, of whatever type")
	e.Batch(200)
	require.Equal(t, "pending", e.Payouts("")[0].String("status"))

	s.Must(200, s.Delete("/v1/payouts/"+p.String("id")))
	s.Clock.Set(time.Date(2026, 9, 2, 0, 0, 0, 0, time.UTC))
	e.Batch(200)
	require.Equal(t, "tax_form_missing", e.Payouts("")[0].String("reason"),
		"it ran out, whether or not the job has seen it")
	apitest.AtOnce(4, func(int) apitest.Answer { apitest.RunJob(t, s, "expire-tax-forms"); return apitest.Answer{} })
	now := taxForms(s, e.ProgramID, "&partner_id="+partner)
	require.Len(t, now, 3)
	require.Equal(t, []string{"required", "expired", "superseded"}, []string{
		now[0].String("status"), now[1].String("status"), now[2].String("status"),
	})

	s.Must(200, s.Post("/v1/programs/"+e.ProgramID, M{"require_tax_forms": false}))
	require.Len(t, taxForms(s, e.ProgramID, "&status=not_required"), 3)
	late := s.Partner(e.ProgramID)
	require.Empty(t, taxForms(s, e.ProgramID, "&partner_id="+late))
	e.Batch(200)
	require.Equal(t, "pending", e.Payouts("")[0].String("status"))
	s.Must(200, s.Post("/v1/programs/"+e.ProgramID, M{"require_tax_forms": true}))
	require.Len(t, taxForms(s, e.ProgramID, "&status=required"), 4)
	require.Empty(t, taxForms(s, e.ProgramID, "&status=not_required"))
	e.Tallied(t)
}

// TestTaxFormRunsOut: recording an expired form ends the valid form of its type, whatever its
// dates, and the partner is asked for another.
func TestTaxFormRunsOut(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"require_tax_forms": true})
	s := e.Server
	partner, _ := e.Referrer(10000)
	valid := s.Must(201,
		s.Post("/v1/tax_form_statuses", taxForm(partner, M{"signed_at": "2026-03-01T00:00:00Z"}))).String("id")
	status := func() string { return s.Must(200, s.Get("/v1/tax_form_statuses/"+valid)).String("status") }
	for _, past := range []M{
		{"signed_at": "2020-03-01T00:00:00Z"}, {"type": "w9"}, {"type": "w8bene", "signed_at": "2026-08-01T00:00:00Z"},
		{"status": "superseded"},
	} {
		s.Must(201, s.Post("/v1/tax_form_statuses", taxForm(partner, M{"status": "expired"}, past)))
		require.Equal(t, "submitted", status(), "%v is of the past, or another form", past)
	}
	e.Batch(201)
	require.Equal(t, "pending", e.Payouts("")[0].String("status"))
	s.Must(200, s.Delete("/v1/payouts/"+e.Payouts("")[0].String("id")))
	s.Must(201, s.Post("/v1/tax_form_statuses", taxForm(partner, M{"status": "expired"})))
	require.Equal(t, "superseded", status())
	e.Batch(200)
	require.Equal(t, "tax_form_missing", e.Payouts("")[0].String("reason"))
	apitest.RunJob(t, s, "expire-tax-forms")
	require.Len(t, taxForms(s, e.ProgramID, "&status=required&partner_id="+partner), 1, "another is asked for")
	e.Tallied(t)
}

// TestTaxFormsAtOnce: if several forms are submitted at once, one is current.
func TestTaxFormsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	for _, a := range apitest.AtOnce(12, func(int) apitest.Answer {
		return s.Post("/v1/tax_form_statuses", taxForm(partner))
	}) {
		require.Equal(t, 201, a.Status, "%s", a.Raw)
	}
	require.Len(t, taxForms(s, program, "&status=submitted"), 1)
	require.Len(t, taxForms(s, program, "&status=superseded"), 11)
}
