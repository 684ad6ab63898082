package importer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/importtest"
	"rail/server/harness/pgtest"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/secret"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

type M = apitest.M

// product is a product with its fake.
type product struct {
	name, key, account string
	serve              func(*importtest.World) http.Handler
	address            func(*config.Config, string)
	shape              importtest.Shape
	// value returns the value in the published address of a link, and id the id of a customer's payments, for products
	// that do not show those of the world.
	value func(source.Row) string
	id    func(string) string
}

// products has every product with an API that can be replaced.
var products = []product{
	{
		name: "rewardful", key: importtest.RewardfulKey, shape: importtest.Shape{Param: "via"},
		serve:   func(w *importtest.World) http.Handler { return importtest.Rewardful(w, importtest.Oddities{}) },
		address: func(c *config.Config, url string) { c.ImportURLRewardful = url },
	},
	{
		name: "firstpromoter", key: importtest.FirstPromoterKey, account: importtest.FirstPromoterAccount,
		shape:   importtest.Shape{Param: "fpr", OneCurrency: true},
		serve:   func(w *importtest.World) http.Handler { return importtest.FirstPromoter(w, importtest.Oddities{}) },
		address: func(c *config.Config, url string) { c.ImportURLFirstPromoter = url },
	},
	{
		name: "tolt", key: importtest.ToltKey, account: "prg_1",
		shape: importtest.Shape{Param: "aff", OneCurrency: true, Values: func(partner, link int) string {
			return fmt.Sprintf("Ann %d.%d Smith", partner, link)
		}},
		serve:   func(w *importtest.World) http.Handler { return importtest.Tolt(w, importtest.Oddities{}) },
		address: func(c *config.Config, url string) { c.ImportURLTolt = url },
		id:      importtest.ToltCustomer,
	},
	{
		name: "dub", key: importtest.DubKey, shape: importtest.Shape{Param: "via", OneCurrency: true},
		serve:   func(w *importtest.World) http.Handler { return importtest.Dub(w, importtest.Oddities{}) },
		address: func(c *config.Config, url string) { c.ImportURLDub = url },
	},
	{
		name: "tapfiliate", key: importtest.TapfiliateKey, shape: importtest.Shape{Param: "ref"},
		serve:   func(w *importtest.World) http.Handler { return importtest.Tapfiliate(w, importtest.Oddities{}) },
		address: func(c *config.Config, url string) { c.ImportURLTapfiliate = url },
		value:   func(l source.Row) string { return l.Link.PartnerID },
	},
	{
		name: "partnerstack", key: importtest.PartnerStackKey,
		shape:   importtest.Shape{Param: "ps_partner_key", OneCurrency: true},
		serve:   func(w *importtest.World) http.Handler { return importtest.PartnerStack(w, importtest.Oddities{}) },
		address: func(c *config.Config, url string) { c.ImportURLPartnerStack = url },
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
	kills   int // of servers, at each stage of an import
}

func newStory(t *testing.T, of product, partners int) *story {
	t.Helper()
	x := &story{t: t, of: of}
	x.world = importtest.NewWorld(7, partners, apitest.Start, of.shape)
	x.fake = importtest.Serve(t, of.serve(x.world), importtest.Faults{CutEvery: 17, FailEvery: 23, ThrottleEvery: 31})
	x.Server = apitest.New(t, func(c *config.Config) { of.address(c, x.fake.URL) })
	x.program = x.Program(M{"currency": "USD"})
	x.Clock.Advance(123456 * time.Microsecond) // times have more digits than the API's
	return x
}

// begin starts an import and works on it until nothing is left to do.
func (x *story) begin(more M) apitest.Answer {
	x.t.Helper()
	body := M{"program_id": x.program, "source": x.of.name, "api_key": x.of.key}
	if x.of.account != "" {
		body["source_account"] = x.of.account
	}
	maps.Copy(body, more)
	run := x.Must(201, x.Post("/v1/imports", body))
	return x.work(run.String("id"))
}

// work runs the job, and returns the import. In a story with kills, servers are killed first.
func (x *story) work(id string) apitest.Answer {
	x.t.Helper()
	for n := range x.kills {
		x.killed(time.Duration(5+7*n) * time.Millisecond)
	}
	for {
		apitest.RunJob(x.t, x.Server, "run-imports")
		m := x.Must(200, x.Get("/v1/imports/"+id))
		if s := m.Body["status"]; s != "reading" && s != "writing" && s != "undoing" {
			return m
		}
	}
}

// killed works with two servers at once until they are killed.
func (x *story) killed(after time.Duration) {
	x.t.Helper()
	keeper, err := secret.New(x.Config.SecretKey)
	require.NoError(x.t, err)
	service := &importer.Service{Pool: x.Pool, Keeper: keeper, Clock: x.Clock, Addresses: x.Config.ImportURLs()}
	ctx, kill := context.WithTimeout(x.t.Context(), after)
	defer kill()
	var servers sync.WaitGroup
	for range 2 {
		servers.Go(func() { _ = service.Work(ctx, x.Clock.Now()) })
	}
	servers.Wait()
	x.Clock.Advance(6 * time.Minute) // leases of killed servers end
}

// run writes a ready import.
func (x *story) run(id string) apitest.Answer {
	x.t.Helper()
	x.Must(200, x.Post("/v1/imports/"+id+"/run", M{}))
	return x.work(id)
}

// all returns the objects of a list with filters, from all its pages.
func (x *story) all(list string) (objects []map[string]any) {
	x.t.Helper()
	for after := ""; ; after = "&starting_after=" + objects[len(objects)-1]["id"].(string) {
		page := x.Must(200, x.Get(list+"&limit=100"+after))
		if objects = append(objects, page.Data()...); page.Body["has_more"] != true {
			return objects
		}
	}
}

// problems returns the problems of an import, by code.
func (x *story) problems(id string) map[string]int {
	x.t.Helper()
	codes := map[string]int{}
	for _, p := range x.all("/v1/imports/" + id + "/problems?") {
		codes[p["code"].(string)]++
	}
	return codes
}

// partners returns the ids of the program's partners by email.
func (x *story) partners() map[string]string {
	x.t.Helper()
	ids := map[string]string{}
	for _, p := range x.all("/v1/partners?program_id=" + x.program) {
		ids[p["email"].(string)] = p["id"].(string)
	}
	return ids
}

// balanced checks that each partner has the money of the source to the cent, and the books.
func (x *story) balanced() {
	x.t.Helper()
	type money struct{ open, paid int64 }
	has := map[string]money{} // by partner and currency
	for _, b := range x.all("/v1/balances?program_id=" + x.program) {
		row := apitest.Answer{Body: b}
		has[row.String("partner_id")+row.String("currency")] = money{
			row.Int("pending_minor") + row.Int("due_minor"), row.Int("paid_minor"),
		}
	}
	ids, open, paid := x.partners(), x.world.Open(), x.world.Paid()
	for _, row := range x.world.Partners {
		for _, currency := range []string{"USD", "EUR"} {
			id := ids[row.Partner.Email]
			require.NotEmpty(x.t, id, row.Partner.Email)
			require.Equal(x.t, money{open[row.ID][currency], paid[row.ID][currency]}, has[id+currency],
				"%s %s", row.Partner.Email, currency)
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
		value := row.Link.Value
		if x.of.value != nil {
			value = x.of.value(row)
		}
		click := x.Click(x.program, value, M{
			"visitor_token": apitest.Unique("visitor"), "param": row.Link.Param, "landing_url": "https://shop.example/",
		})
		require.Equal(x.t, ids[p.Email], click.Body["partner_id"], "%d %s", i, value)
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

// renew lets a customer of each partner pay again, and refunds a sale that the source has paid for.
func (x *story) renew() {
	x.t.Helper()
	x.Must(201, x.Post("/v1/flows", M{"program_id": x.program, "name": "All", "rate_type": "percent", "rate_value": 1000}))
	ids, emails := x.partners(), map[string]string{}
	for _, row := range x.world.Partners {
		emails[row.ID] = row.Partner.Email
	}
	paying := 0
	for _, row := range x.world.Customers {
		c := row.Customer
		id := c.ExternalIDs[0]
		if x.of.id != nil {
			id = x.of.id(id)
		}
		sold := x.Must(201, x.Post("/v1/sales", M{
			"program_id": x.program, "external_customer_id": id, "external_charge_id": apitest.Unique("renewal"),
			"amount_minor": 5000, "currency": "USD",
		}))
		require.Equal(x.t, ids[emails[c.PartnerID]], sold.Body["partner_id"], "the renewal of %s", id)
		if paying++; paying == 20 {
			break
		}
	}
	for _, row := range x.world.Commissions {
		if row.Commission.Status != source.Paid {
			continue
		}
		partner := ids[emails[row.Commission.PartnerID]]
		_, before, paid := x.Balance(x.program, partner, row.Commission.Currency)
		charge := x.charge(row.Commission.SaleID)
		x.Must(200, x.Post("/v1/sales/"+charge+"/refund", M{}))
		_, after, still := x.Balance(x.program, partner, row.Commission.Currency)
		require.Equal(x.t, before-row.Commission.AmountMinor, after, "the refund claws the commission back")
		require.Equal(x.t, paid, still)
		break
	}
	apitest.Balanced(x.t, x.Server)
}

// charge returns the id in Rail of a sale of the world.
func (x *story) charge(saleID string) (id string) {
	x.t.Helper()
	for _, row := range x.world.Sales {
		if row.ID == saleID {
			err := x.Pool.QueryRow(x.t.Context(), `SELECT s.id FROM sales s JOIN import_objects o ON o.target = s.id
				WHERE s.program_id = $1 AND s.amount_minor = $2 AND s.occurred_at = $3
					AND EXISTS (SELECT FROM commissions k WHERE k.sale_id = s.id AND k.status = 'paid') LIMIT 1`,
				x.program, row.Sale.AmountMinor, row.Sale.OccurredAt.Time).Scan(&id)
			require.NoError(x.t, err, saleID)
		}
	}
	return id
}

// TestStories moves a program from each product: a dry run, the run, the same again, a delta a month later, and undoing
// it. At each stage servers are killed and connections are cut. Balances are those of the source to the cent, every link
// works, and renewals and refunds find their partners. With RAIL_TEST_FULL=1 the first program has 500 partners.
func TestStories(t *testing.T) {
	t.Parallel()
	for i, of := range products {
		partners := 60
		if i == 0 && os.Getenv("RAIL_TEST_FULL") == "1" {
			partners = 500
		}
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			x := newStory(t, of, partners)
			x.kills = 8
			ready := x.begin(nil)
			require.Equal(t, "ready", ready.Body["status"], "%v", ready.Body)
			require.Empty(t, x.partners(), "a dry run writes nothing")
			done := x.run(ready.String("id"))
			require.Equal(t, "done", done.Body["status"], "%v", done.Body)
			require.Equal(t, ready.Body["counts"], done.Body["counts"], "the run does what the dry run said")
			x.balanced()
			x.compared(done.String("id"))
			x.unchanged()
			x.undo(done.String("id"))
			require.Empty(t, x.partners(), "all is undone")
			require.Empty(t, x.problems(done.String("id"))["kept"])
			done = x.run(x.begin(nil).String("id"))
			x.world.Advance(31, of.shape)
			x.Clock.Set(x.world.Now.Time)
			delta := x.begin(M{"dry_run": false})
			require.Equal(t, "done", delta.Body["status"], "%v", delta.Body)
			x.balanced()
			require.Empty(t, x.Events(x.program), "no event")
			x.visits()
			x.renew()
			x.undo(done.String("id"))
			require.NotEmpty(t, x.problems(done.String("id"))["kept"], "used objects stay")
		})
	}
}

// compared checks that the import lists the unpaid money of each partner, equal at the source and in Rail.
func (x *story) compared(id string) {
	x.t.Helper()
	listed := map[string]map[string]int64{}
	for _, b := range x.all("/v1/imports/" + id + "/balances?") {
		require.Equal(x.t, b["source_minor"], b["rail_minor"], "%v", b)
		email, code := b["email"].(string), b["currency"].(string)
		if listed[email] == nil {
			listed[email] = map[string]int64{}
		}
		listed[email][code], _ = b["rail_minor"].(json.Number).Int64()
	}
	open := x.world.Open()
	for _, row := range x.world.Partners {
		for code, minor := range open[row.ID] {
			require.Equal(x.t, minor, listed[row.Partner.Email][code], "%s %s", row.Partner.Email, code)
		}
	}
}

// unchanged imports again, which changes nothing.
func (x *story) unchanged() {
	x.t.Helper()
	again := x.begin(M{"dry_run": false})
	require.Equal(x.t, "done", again.Body["status"], "%v", again.Body)
	for kind, c := range again.Body["counts"].(map[string]any) {
		require.Equal(x.t, json.Number("0"), c.(map[string]any)["new"], "%s: %v", kind, c)
		require.Equal(x.t, json.Number("0"), c.(map[string]any)["changed"], "%s: %v", kind, c)
	}
}
