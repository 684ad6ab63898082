package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestRetrievesTogether: many requests of two organizations retrieve objects by id at the same
// moment, and each gets the right object.
func TestRetrievesTogether(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	key := s.NewKey(s.NewOrg("Other"), true, "read")
	program := s.Program()
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "VIP"}))
	partner := s.PartnerObject(program)
	answers := apitest.AtOnce(80, func(i int) apitest.Answer {
		path := []string{"/v1/tags/" + tag.String("id"), "/v1/partners/" + partner.String("id")}[i%2]
		if i%4 > 1 {
			return s.Do("GET", path, key, nil)
		}
		return s.Get(path)
	})
	for i, a := range answers {
		if i%4 > 1 {
			s.Refused(404, "resource_not_found", "", a)
			continue
		}
		s.Must(200, a)
		require.Equal(t, []apitest.Answer{tag, partner}[i%2].String("id"), a.String("id"))
	}
}
