package source_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

// longAddress returns an address of so many bytes with a parameter at its end.
func longAddress(length int, parameter string) string {
	begin := "https://shop.example/landing?page="
	return begin + strings.Repeat("a", length-len(begin)-len(parameter)) + parameter
}

// TestLongAddresses: an address of any length shows the parameter of a link. A longer address than Rail stores is left out.
func TestLongAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		account      source.Account
		path, format string
	}{
		"rewardful": {source.Account{Key: "k"}, "/v1/affiliates", `{"data": [{"id": "a", "email": "a@example.com",
			"state": "active", "links": [{"id": "l", "token": "ada", "url": %q}]}], "pagination": {"total_count": 1}}`},
		"dub": {dubAccount, "/partners", `[{"id": "a", "email": "a@example.com", "status": "approved",
			"links": [{"id": "l", "key": "ada", "url": %q}]}]`},
		"firstpromoter": {source.Account{Key: "k", ID: "acc"}, "/api/v2/company/promoters", `{"data": [{"id": "a",
			"email": "a@example.com", "promoter_campaigns": [{"id": "l", "state": "accepted", "ref_token": "ada", "ref_link": %q}]}]}`},
		"tapfiliate": {tapAccount, "/1.6/affiliates/", `[{"id": "ada", "email": "a@example.com", "referral_link": {"link": %q}}]`},
	} {
		for length, code := range map[int]source.Code{300: "", 2048 + len("&xref=ada"): "", 3000: source.OutOfBounds} {
			full := longAddress(length, "&xref=ada")
			rows := rowsAt(t, name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := `{"data": [], "pagination": {"total_count": 0}}`
				if r.URL.Path == c.path && r.URL.Query().Get("filters[archived]") == "" {
					body = fmt.Sprintf(c.format, full)
				}
				_, _ = io.WriteString(w, body)
			}), c.account)
			i := slices.IndexFunc(rows, func(r source.Row) bool { return r.Kind == source.KindLink })
			require.GreaterOrEqual(t, i, 0, name)
			require.Equal(t, "xref", rows[i].Link.Param, name)
			want, problem := strings.TrimSuffix(full, "&xref=ada"), problems(rows)["links "+rows[i].ID]
			if code != "" {
				want = ""
			}
			require.Equal(t, want, rows[i].Link.URL, name)
			require.Equal(t, code, problem, name)
		}
	}
}

// TestLongWebsite: so is a website of a partner.
func TestLongWebsite(t *testing.T) {
	t.Parallel()
	for length, code := range map[int]source.Code{2048: "", 2049: source.OutOfBounds} {
		w := dubWorld(1)
		full := longAddress(length, "")
		api := importtest.Dub(w, importtest.Oddities{Changes: []importtest.Change{
			importtest.Alter("partners", 0, func(o importtest.Object) { o["website"] = full }),
		}})
		rows := rowsAt(t, "dub", api, dubAccount)
		csv := readCSV(t, source.KindPartner, "id,email,website\n7,a@example.com,"+full+"\n")
		require.Equal(t, code, problems(rows)["partners "+w.Partners[0].ID])
		require.Equal(t, code, problems(csv)["partners 7"])
		if code != "" {
			full = ""
		}
		require.Equal(t, []string{full, full}, []string{rows[0].Partner.WebsiteURL, csv[0].Partner.WebsiteURL})
	}
}
