package customer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestExternalIDLimit: a customer has at most 100 ids. A payment with one more id is still recorded
// for the customer that the identifier finds. The id is not attached.
func TestExternalIDLimit(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.CreateCustomer(M{"identifier": "u1"})
	path := "/v1/customers/" + k + "/external_ids"
	for range 100 {
		h.Must(201, h.Post(path, M{"external_customer_id": apitest.Unique("many_")}))
	}
	h.Refused(409, "customer_external_id_limit", "", h.Post(path, M{"external_customer_id": "cus_over"}))
	require.Equal(t, k, h.PaidBy("ch_1", M{"external_customer_id": "cus_over", "identifier": "u1"}).String("id"))
	require.EqualValues(t, 1000, h.Earned())
	require.Len(t, h.ExternalIDs(k), 100)
	require.NotContains(t, h.ExternalIDs(k), "cus_over")
	other := h.CreateCustomer(M{"external_customer_id": "cus_over"})
	for _, dry := range []bool{true, false} {
		h.Refused(409, "customer_external_id_limit", "", h.Merge(other, k, M{"dry_run": dry}))
	}
	apitest.Balanced(t, h.Server)
}

// TestStrangeExternalIDs: an id is any text of 1 to 255 characters without NUL. It is stored and
// compared exactly.
func TestStrangeExternalIDs(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.CreateCustomer(nil)
	path := "/v1/customers/" + k + "/external_ids"
	for _, bad := range []any{"", strings.Repeat("x", 256), nil, 5} {
		h.Refused(400, "parameter_invalid", "external_customer_id", h.Post(path, M{"external_customer_id": bad}))
	}
	h.Refused(400, "invalid_json", "", h.Post(path, M{"external_customer_id": "a\u0000b"}))
	for id, escaped := range map[string]string{
		strings.Repeat("😀", 255): "", " ": "%20", "é": "%C3%A9", "e\u0301": "", "CUS": "CUS", "cus": "", "\u200b": "",
		"..": "%2E%2E", "%2F": "%252F", "?": "%3F", "#": "%23",
	} {
		h.Must(201, h.Post(path, M{"external_customer_id": id}))
		require.Contains(t, h.ExternalIDs(k), id)
		if escaped != "" {
			h.Must(200, h.Do(http.MethodDelete, path+"/"+escaped, h.Key, nil))
			require.NotContains(t, h.ExternalIDs(k), id)
		}
	}
	require.ElementsMatch(t, []string{strings.Repeat("😀", 255), "e\u0301", "cus", "\u200b"}, h.ExternalIDs(k))
	for _, absent := range []string{"%00", "%ff", "a%00b", strings.Repeat("x", 300), "CUS", "%C3%A9"} {
		require.Equal(t, 404, h.Do(http.MethodDelete, path+"/"+absent, h.Key, nil).Status, absent)
	}
}

// TestDetachedIDComesBack: a detached id identifies no customer. If a payment with it identifies
// the person in another way, the id is attached again, and earlier payments with it are recorded
// too.
func TestDetachedIDComesBack(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.CreateCustomer(M{"identifier": "u1"})
	h.PaidBy("ch_1", M{"external_customer_id": "cus_1", "identifier": "u1", "email": "x@y.example"})
	h.Must(200, h.Delete("/v1/customers/"+k+"/external_ids/cus_1"))
	require.Empty(t, h.ExternalIDs(k))
	h.Receive(apitest.Paid("ch_2", M{"external_customer_id": "cus_1"}))
	h.Last("ignored", "no_partner")
	require.Equal(t, k, h.PaidBy("ch_3", M{"external_customer_id": "cus_1", "email": "x@y.example"}).String("id"))
	require.Equal(t, []string{"cus_1"}, h.ExternalIDs(k))
	for _, e := range h.Work() {
		require.Equal(t, []string{"recorded", k}, []string{e.String("status"), e.String("customer_id")})
	}
	require.EqualValues(t, 3*1000, h.Earned())
	h.Refused(409, "customer_external_id_taken", "external_customer_id",
		h.Post("/v1/customers/"+h.CreateCustomer(nil)+"/external_ids", M{"external_customer_id": "cus_1"}))
	apitest.Balanced(t, h.Server)
}
