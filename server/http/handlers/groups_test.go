package handlers_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestGroups(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Top Creators!"}))
	require.True(t, strings.HasPrefix(group.String("id"), "grp_"))
	require.Equal(t, M{
		"id": group.String("id"), "object": "group", "program_id": program, "name": "Top Creators!", "slug": "top-creators",
		"description": nil,
		"landing_url": nil, "is_private": false, "is_default": false,
		"created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, group.Body)
	path := "/v1/groups/" + group.String("id")
	require.Equal(t, group.Body, s.Must(200, s.Get(path)).Body)
	s.Refused(404, "resource_not_found", "program_id", s.Get(path+"?program_id="+s.Program()))
	full := s.Must(201, s.Post("/v1/groups", M{
		"program_id": program, "name": "top creators", "description": "d", "landing_url": "https://shop.example/g",
		"is_private": true,
	}))
	require.Equal(t, "top-creators-2", full.String("slug"))
	require.Equal(t, "d", full.String("description"))
	require.Equal(t, "https://shop.example/g", full.String("landing_url"))
	require.Equal(t, true, full.Body["is_private"])
	require.Equal(t, "top-creators-3",
		s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Top... Creators"})).String("slug"))
	require.NotEmpty(t, s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "!!!"})).String("slug"))

	s.Clock.Advance(time.Second)
	same := s.Must(200, s.Post(path, M{"name": "Top Creators!"}))
	require.Equal(t, group.Body, same.Body, "nothing changed, the time neither")
	renamed := s.Must(200, s.Post(path, M{
		"name": "Stars", "is_private": true, "description": "x", "landing_url": "https://shop.example",
	}))
	require.Equal(t, "Stars", renamed.String("name"))
	require.Equal(t, "top-creators", renamed.String("slug"), "the slug is in addresses")
	require.Equal(t, "2026-09-01T12:00:01.000Z", renamed.String("updated_at"))
	cleared := s.Must(200, s.Post(path, M{"description": nil, "landing_url": nil}))
	require.Nil(t, cleared.Body["description"])
	require.Nil(t, cleared.Body["landing_url"])
	require.Equal(t, true, cleared.Body["is_private"])
	for _, name := range []string{"Stars", "STARS"} {
		taken := s.Refused(409, "group_name_taken", "name", s.Post("/v1/groups", M{"program_id": program, "name": name}))
		require.Equal(t, s.Get(path).Body, taken.Body["existing"])
		taken = s.Refused(409, "group_name_taken", "name", s.Post("/v1/groups/"+full.String("id"), M{"name": name}))
		require.Equal(t, s.Get(path).Body, taken.Body["existing"])
	}
	s.Must(200, s.Post(path, M{"name": "stars"})) // its own name in another case
	s.Must(201, s.Post("/v1/groups", M{"program_id": s.Program(), "name": "Stars"}))
}

func TestGroupStats(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "g"})).String("id")
	s.Partner(program, M{"group_id": group})
	s.Partner(program, M{"group_id": group})
	s.Partner(program)
	one := s.Must(200, s.Get("/v1/groups/"+group+"?include=stats"))
	require.EqualValues(t, 2, apitest.Answer{Body: one.Body["stats"].(M)}.Int("partners"))
	require.Len(t, one.Body["stats"], 1)
	counts := []int64{}
	for _, g := range s.Must(200, s.Get("/v1/groups?program_id="+program+"&include[]=stats")).Data() {
		counts = append(counts, apitest.Answer{Body: g["stats"].(M)}.Int("partners"))
	}
	require.ElementsMatch(t, []int64{1, 2}, counts)
	require.NotContains(t, s.Get("/v1/groups/"+group).Body, "stats")
	s.Refused(400, "invalid_include", "include[]", s.Get("/v1/groups/"+group+"?include=tags"))
	s.Refused(400, "invalid_expand", "expand[]", s.Get("/v1/groups/"+group+"?expand=partner"))
}

func TestDefaultGroup(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	first, untouched := s.DefaultGroups(program), s.DefaultGroups(other)
	require.Len(t, first, 1)
	require.Equal(t, "Default", s.Get("/v1/groups/"+first[0]).String("name"))
	require.Equal(t, "default", s.Get("/v1/groups/"+first[0]).String("slug"))
	require.Equal(t, first[0], s.PartnerObject(program).String("group_id"))
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "g"})).String("id")
	for _, bad := range []any{false, nil, "true", 1} {
		s.Refused(400, "parameter_invalid", "is_default", s.Post("/v1/groups/"+group, M{"is_default": bad}))
	}
	s.Refused(400, "parameter_unknown", "is_default", s.Post("/v1/groups", M{
		"program_id": program, "name": "h", "is_default": true,
	}))
	s.Refused(409, "default_group_undeletable", "", s.Delete("/v1/groups/"+first[0]))
	require.Equal(t, first, s.DefaultGroups(program))
	require.Equal(t, true, s.Must(200, s.Post("/v1/groups/"+group, M{"is_default": true})).Body["is_default"])
	require.Equal(t, []string{group}, s.DefaultGroups(program), "exactly one default")
	require.Equal(t, untouched, s.DefaultGroups(other))
	s.Must(200, s.Post("/v1/groups/"+group, M{"is_default": true}))
	require.Equal(t, []string{group}, s.DefaultGroups(program))
	require.Equal(t, group, s.PartnerObject(program).String("group_id"))
	s.Must(200, s.Delete("/v1/groups/"+first[0]))
	s.Refused(409, "default_group_undeletable", "", s.Delete("/v1/groups/"+group))
}

// TestDefaultGroupRace: many callers make different groups the default at once, and one default
// remains.
func TestDefaultGroupRace(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	var ids []string
	for range 4 {
		ids = append(ids,
			s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": apitest.Unique("g")})).String("id"))
	}
	for _, a := range apitest.AtOnce(16,
		func(i int) apitest.Answer { return s.Post("/v1/groups/"+ids[i%4], M{"is_default": true}) }) {
		require.Equal(t, 200, a.Status, "%s", a.Raw)
	}
	require.Len(t, s.DefaultGroups(program), 1)
}

func TestDeleteGroup(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "g"})).String("id")
	partner := s.Partner(program, M{"group_id": group})
	pending := s.Partner(program, M{"group_id": group, "status": "pending"})
	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "C", "group_id": group})).String("id")
	flow := s.Flow(program)
	flows := []string{
		s.Flow(program, M{"group_id": group, "name": "one"}), s.Flow(program, M{"group_id": group, "name": "two"}),
	}
	seen := len(s.Events(program))
	require.Equal(t, M{"id": group, "object": "group", "deleted": true}, s.Must(200, s.Delete("/v1/groups/"+group)).Body)
	s.Refused(404, "resource_not_found", "", s.Get("/v1/groups/"+group))
	for _, id := range []string{partner, pending} {
		require.Nil(t, s.Must(200, s.Get("/v1/partners/"+id)).Body["group_id"])
	}
	require.Nil(t, s.Must(200, s.Get("/v1/partners/"+partner+"?expand=group")).Body["group"])
	require.Nil(t, s.Must(200, s.Get("/v1/coupons/"+coupon)).Body["group_id"])
	var left int
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM applications WHERE program_id = $1 AND group_id IS NULL",
			program).Scan(&left))
	require.Equal(t, 1, left, "the application stays, without a group")
	for _, id := range flows {
		s.Refused(404, "resource_not_found", "", s.Get("/v1/flows/"+id))
	}
	s.Must(200, s.Get("/v1/flows/"+flow))
	recorded := s.Events(program)[seen:]
	require.Len(t, recorded, 2)
	for i, name := range []string{"one", "two"} {
		require.Equal(t, "rule.deleted", recorded[i].String("type"))
		require.Equal(t, M{"rule_id": flows[i], "name": name}, recorded[i].Body["data"])
	}
}

func TestGroupRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "g"})).String("id")
	before := apitest.Rows(s, s.Org)
	for _, c := range []struct {
		body  M
		param string
	}{
		{M{"name": ""}, "name"}, {M{"name": nil}, "name"}, {M{"name": strings.Repeat("x", 256)}, "name"},
		{M{"is_private": nil}, "is_private"},
		{M{"is_private": "yes"}, "is_private"}, {M{"landing_url": "shop"}, "landing_url"},
		{M{"landing_url": "javascript:alert(1)"}, "landing_url"},
		{M{"description": strings.Repeat("x", 1001)}, "description"}, {M{"description": 1}, "description"},
	} {
		s.Refused(400, "parameter_invalid", c.param, s.Post("/v1/groups/"+group, c.body))
		create := M{"program_id": program, "name": "h"}
		maps.Copy(create, c.body)
		s.Refused(400, "parameter_invalid", c.param, s.Post("/v1/groups", create))
	}
	s.Refused(400, "parameter_unknown", "slug", s.Post("/v1/groups/"+group, M{"slug": "x"}))
	s.Refused(400, "parameter_missing", "name", s.Post("/v1/groups", M{"program_id": program}))
	s.Refused(404, "resource_not_found", "program_id", s.Post("/v1/groups", M{"program_id": "prg_none", "name": "x"}))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/groups/grp_none", M{"name": "x"}))
	s.Refused(404, "resource_not_found", "", s.Delete("/v1/groups/grp_none"))
	require.Equal(t, before, apitest.Rows(s, s.Org), "a refusal changes nothing")
}
