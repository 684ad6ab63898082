package importer_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/importtest"
	"rail/server/harness/pgtest"
	"rail/server/inbound/importer/source"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

type M = apitest.M

// product is a product with its fake.
type product struct {
	name, key, account string
	serve              func(*importtest.World) http.Handler
	address            func(*config.Config, string)
	shape              importtest.Shape
}

// products has every product with an API.
var products = []product{
	{
		name: "rewardful", key: importtest.RewardfulKey, shape: importtest.Shape{Param: "via"},
		serve:   func(w *importtest.World) http.Handler { return importtest.Rewardful(w, importtest.Oddities{}) },
		address: func(c *config.Config, url string) { c.ImportURLRewardful = url },
	},
}

// story is a program at another product and the program that it moves to.
type story struct {
	*apitest.Server
	t       *testing.T
	of      product
	world   *importtest.World
	fake    *importtest.Fake
	program string
}

func newStory(t *testing.T, of product, partners int) *story {
	t.Helper()
	x := &story{t: t, of: of}
	x.world = importtest.NewWorld(7, partners, apitest.Start, of.shape)
	x.fake = importtest.Serve(t, of.serve(x.world), importtest.Faults{CutEvery: 17, FailEvery: 23, ThrottleEvery: 31})
	x.Server = apitest.New(t, func(c *config.Config) { of.address(c, x.fake.URL) })
	x.program = x.Program(M{"currency": "USD"})
	return x
}

// begin starts an import and works on it until nothing is left to do.
func (x *story) begin(more M) apitest.Answer {
	x.t.Helper()
	body := M{"program_id": x.program, "source": x.of.name, "api_key": x.of.key}
	if x.of.account != "" {
		body["source_account"] = x.of.account
	}
	for k, v := range more {
		body[k] = v
	}
	made := x.Must(201, x.Post("/v1/imports", body))
	return x.work(made.String("id"))
}

// work runs the job, and returns the import.
func (x *story) work(id string) apitest.Answer {
	x.t.Helper()
	apitest.RunJob(x.t, x.Server, "run-imports")
	return x.Must(200, x.Get("/v1/imports/"+id))
}

// run writes a ready import.
func (x *story) run(id string) apitest.Answer {
	x.t.Helper()
	x.Must(200, x.Post("/v1/imports/"+id+"/run", M{}))
	return x.work(id)
}

// problems returns the problems of an import, by code.
func (x *story) problems(id string) map[string]int {
	x.t.Helper()
	codes := map[string]int{}
	for after := ""; ; {
		page := x.Must(200, x.Get("/v1/imports/"+id+"/problems?limit=100"+after))
		for _, p := range page.Data() {
			codes[p["code"].(string)]++
			after = "&starting_after=" + p["id"].(string)
		}
		if page.Body["has_more"] != true {
			return codes
		}
	}
}

// partners returns the ids of the program's partners by email.
func (x *story) partners() map[string]string {
	x.t.Helper()
	ids := map[string]string{}
	for after := ""; ; {
		page := x.Must(200, x.Get("/v1/partners?limit=100&program_id="+x.program+after))
		for _, p := range page.Data() {
			ids[p["email"].(string)] = p["id"].(string)
			after = "&starting_after=" + p["id"].(string)
		}
		if page.Body["has_more"] != true {
			return ids
		}
	}
}

// balanced checks that each partner has the money of the source to the cent, and the books.
func (x *story) balanced() {
	x.t.Helper()
	ids := x.partners()
	open, paid := x.world.Open(), x.world.Paid()
	for _, row := range x.world.Partners {
		for _, currency := range []string{"USD", "EUR"} {
			id := ids[row.Partner.Email]
			require.NotEmpty(x.t, id, row.Partner.Email)
			pending, due, done := x.Balance(x.program, id, currency)
			require.Equal(x.t, open[row.ID][currency], pending+due, "%s %s open", row.Partner.Email, currency)
			require.Equal(x.t, paid[row.ID][currency], done, "%s %s paid", row.Partner.Email, currency)
		}
	}
	apitest.Balanced(x.t, x.Server)
}

// visits follows every link of an active partner, with its value exactly as published.
func (x *story) visits() {
	x.t.Helper()
	ids := x.partners()
	of := map[string]*source.Partner{}
	for _, row := range x.world.Partners {
		of[row.ID] = row.Partner
	}
	for i, row := range x.world.Links {
		p := of[row.Link.PartnerID]
		if p.Status != source.Active {
			continue
		}
		click := x.Click(x.program, row.Link.Value, M{"visitor_token": apitest.Unique("visitor"), "param": row.Link.Param})
		require.Equal(x.t, ids[p.Email], click.Body["partner_id"], "%d %s", i, row.Link.Value)
	}
}

// undo undoes an import, and checks the books.
func (x *story) undo(id string) {
	x.t.Helper()
	require.Equal(x.t, "undoing", x.Must(200, x.Post("/v1/imports/"+id+"/undo", M{})).Body["status"])
	undone := x.work(id)
	require.Equal(x.t, "undone", undone.Body["status"], "%v", undone.Body)
	apitest.Balanced(x.t, x.Server)
}

func TestStories(t *testing.T) {
	t.Parallel()
	for _, of := range products {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			x := newStory(t, of, 60)
			ready := x.begin(nil)
			require.Equal(t, "ready", ready.Body["status"], "%v", ready.Body)
			t.Log(string(ready.Raw))
			t.Log(x.problems(ready.String("id")))
			require.Empty(t, x.partners(), "a dry run writes nothing")
			before := ready.Body["counts"]
			done := x.run(ready.String("id"))
			require.Equal(t, "done", done.Body["status"], "%v", done.Body)
			require.Equal(t, before, done.Body["counts"], "the run does what the dry run said")
			for _, b := range done.Body["balances"].([]any) {
				require.Equal(t, b.(map[string]any)["source_minor"], b.(map[string]any)["rail_minor"])
			}
			x.balanced()
			require.Empty(t, x.Events(x.program), "no event")
			again := x.begin(M{"dry_run": false})
			require.Equal(t, "done", again.Body["status"], "%v", again.Body)
			for kind, c := range again.Body["counts"].(map[string]any) {
				require.Equal(t, json.Number("0"), c.(map[string]any)["new"], "%s: %v", kind, c)
				require.Equal(t, json.Number("0"), c.(map[string]any)["changed"], "%s: %v", kind, c)
			}
			x.undo(done.String("id"))
			require.Empty(t, x.partners(), "all is undone")
			require.Empty(t, x.problems(done.String("id"))["kept"])
			x.run(x.begin(nil).String("id"))
			x.visits()
			x.balanced()
			second := x.Must(200, x.Get("/v1/imports?status=done&program_id="+x.program)).Data()[0]["id"].(string)
			x.undo(second)
			require.NotEmpty(t, x.problems(second)["kept"], "followed links and their partners stay")
			require.NotContains(t, strings.ToLower(x.Log()), "panic")
		})
	}
}
