package tracking_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestCouponLife(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Creators"})).String("id")
	before := len(s.Events(program))
	coupon := s.Must(201, s.Post("/v1/coupons", M{
		"program_id": program, "code": "Save 10%", "partner_id": partner, "group_id": group, "external_id": "promo_1",
	}))
	id := coupon.String("id")
	require.Equal(t, M{
		"id": id, "object": "coupon", "program_id": program, "partner_id": partner, "group_id": group, "code": "Save 10%",
		"external_id": "promo_1",
		"active":      true, "created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, coupon.Body)
	path := "/v1/coupons/" + id
	require.Equal(t, coupon.Body, s.Must(200, s.Get(path)).Body)
	customer := s.Customer(program, partner)
	_, err := s.Pool.Exec(t.Context(), "UPDATE customers SET coupon_id = $1 WHERE id = $2", id, customer)
	require.NoError(t, err)
	full := s.Must(200, s.Get(path+"?expand[]=partner&expand[]=group&include[]=stats"))
	require.Equal(t, partner, full.Body["partner"].(M)["id"])
	require.Equal(t, group, full.Body["group"].(M)["id"])
	require.EqualValues(t, 1, apitest.Answer{Body: full.Body["stats"].(M)}.Int("customers"))

	s.Clock.Advance(time.Hour)
	same := s.Must(200, s.Post(path, M{"external_id": "promo_1", "partner_id": partner}))
	require.Equal(t, coupon.Body, same.Body, "nothing changed")
	changed := s.Must(200, s.Post(path, M{"partner_id": nil, "external_id": nil}))
	require.Nil(t, changed.Body["partner_id"])
	require.Nil(t, changed.Body["external_id"])
	require.Equal(t, "2026-09-01T13:00:00.000Z", changed.String("updated_at"))
	require.Equal(t, M{"id": id, "object": "coupon", "deleted": true}, s.Must(200, s.Delete(path)).Body)
	s.Refused(404, "resource_not_found", "", s.Get(path))
	require.Nil(t, s.Must(200, s.Get("/v1/customers/"+customer)).Body["coupon_id"], "79")
	require.Equal(t, partner, s.Get("/v1/customers/"+customer).String("partner_id"))

	recorded := s.Events(program)[before:]
	require.Len(t, recorded, 3)
	require.Equal(t, "affiliate_coupon.created", recorded[0].String("type"))
	require.Equal(t, M{"coupon_id": id, "partner_id": partner, "code": "Save 10%", "active": true}, recorded[0].Body["data"])
	require.Equal(t, "affiliate_coupon.updated", recorded[1].String("type"))
	require.Equal(t, M{"coupon_id": id, "partner_id": nil, "code": "Save 10%", "active": true}, recorded[1].Body["data"])
	require.Equal(t, "affiliate_coupon.deleted", recorded[2].String("type"))
	require.Equal(t, M{"coupon_id": id, "partner_id": nil}, recorded[2].Body["data"])
	s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "save 10%"})) // a deleted code is free again
}

func TestCouponRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	elsewhere := s.Partner(other)
	otherGroup := s.Must(201, s.Post("/v1/groups", M{"program_id": other, "name": "X"})).String("id")
	stranger := apitest.On(t, s.DSN, s.Clock)
	foreign := stranger.Partner(stranger.Program())
	existing := s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "Taken"}))
	for _, code := range []string{"Ta\u200bken", "Taken\u3164", "Ta\u2800ken"} { // looks like the existing code
		unseen := s.Must(400, s.Post("/v1/coupons", M{"program_id": program, "code": code}))
		require.Equal(t, "code", unseen.Body["error"].(M)["param"])
	}
	require.Nil(t, existing.Body["partner_id"])
	require.Nil(t, existing.Body["group_id"])
	before := len(s.Events(program))
	long := string(slices.Repeat([]byte("x"), 65))
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"code": ""}, 400, "parameter_invalid", "code"},
		{M{"code": long}, 400, "parameter_invalid", "code"},
		{M{}, 400, "parameter_missing", "code"},
		{M{"code": "A", "active": false}, 400, "parameter_unknown", "active"},
		{M{"code": "A", "partner_id": elsewhere}, 400, "invalid_reference", "partner_id"},
		{M{"code": "A", "partner_id": foreign}, 404, "resource_not_found", "partner_id"},
		{M{"code": "A", "group_id": otherGroup}, 400, "invalid_reference", "group_id"},
		{M{"code": "A", "group_id": "grp_none"}, 404, "resource_not_found", "group_id"},
		{M{"code": "A", "program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"code": "tAKEN"}, 409, "coupon_code_taken", "code"},
	} {
		body := M{"program_id": program}
		maps.Copy(body, c.body)
		a := s.Refused(c.status, c.code, c.param, s.Post("/v1/coupons", body))
		if c.status == 409 {
			require.Equal(t, existing.Body, a.Body["existing"])
		}
	}
	path := "/v1/coupons/" + existing.String("id")
	s.Refused(400, "parameter_unknown", "code", s.Post(path, M{"code": "New"}))
	s.Refused(400, "parameter_unknown", "group_id", s.Post(path, M{"group_id": nil}))
	s.Refused(400, "invalid_reference", "partner_id", s.Post(path, M{"partner_id": elsewhere, "external_id": "x"}))
	s.Refused(404, "resource_not_found", "partner_id", s.Post(path, M{"partner_id": foreign, "external_id": "x"}))
	stranger.Refused(404, "resource_not_found", "", stranger.Post(path, M{"external_id": "x"}))
	stranger.Refused(404, "resource_not_found", "", stranger.Delete(path))
	require.Equal(t, existing.Body, s.Get(path).Body)
	require.EqualValues(t, 1, s.Get("/v1/coupons?program_id="+program).Int("total_count"))
	require.Len(t, s.Events(program), before)
	s.Must(201, s.Post("/v1/coupons", M{"program_id": other, "code": "Taken"})) // unique within a program
}

func TestCouponList(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann := s.Partner(program)
	var all, anns []string
	for i := range 5 {
		s.Clock.Advance(time.Minute)
		body := M{"program_id": program, "code": apitest.Unique("C")}
		if i != 2 {
			body["partner_id"] = ann
		}
		id := s.Must(201, s.Post("/v1/coupons", body)).String("id")
		all = slices.Insert(all, 0, id)
		if i != 2 {
			anns = slices.Insert(anns, 0, id)
		}
	}
	apitest.PagedBothWays(t, s, "/v1/coupons?program_id="+program, all)
	apitest.PagedBothWays(t, s, "/v1/coupons?program_id="+program+"&partner_id="+ann, anns)
	list := s.Must(200, s.Get("/v1/coupons?program_id="+program+"&expand=partner,group&include=stats")).Data()
	require.Nil(t, list[2]["partner"])
	require.Equal(t, ann, list[0]["partner"].(M)["id"])
	s.Refused(404, "resource_not_found", "partner_id", s.Get("/v1/coupons?program_id="+program+"&partner_id=part_none"))
}
