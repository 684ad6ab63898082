package bar

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/inbound/connection"
	"rail/server/inbound/inbox"
	"rail/server/money/payout/rails"
	"rail/server/work"
)

// populate creates one object of every type. All texts and unique values begin with
// stem, so that a leak is found by it.
//
// The order is that of references: a partner before its link, a link before a click on
// it, a click before the customer that came by it. Objects whose values a leak would
// show are made by hand. The types that are left come from their examples, and those
// that only the service makes, such as balances, from their lists.
func (o *org) populate(ctx context.Context, stem string) (objects, error) {
	own := objects{"handle": stem}
	o.addProgram(ctx, own, stem)
	o.addPartner(ctx, own, stem)
	o.addSale(ctx, own, stem)
	o.addReviews(ctx, own, stem)
	own["imp_"] = o.anImport(ctx, own["prg_"], "done")
	own["mail_"] = o.failedMail(ctx)
	own["evt_"] = o.anEvent(ctx, own)
	o.others(ctx, own)
	return own, o.found(ctx, own)
}

// add creates an object and notes its id under the prefix.
func (o *org) add(ctx context.Context, own objects, prefix, path string, body M) answer {
	a := o.object(ctx, path, body)
	own[prefix] = a.text("id")
	return a
}

// addProgram adds a program and what partners are sorted by. The endpoint comes before the
// partners, whose events are its deliveries.
func (o *org) addProgram(ctx context.Context, own objects, stem string) {
	o.add(ctx, own, "prg_", "/v1/programs", M{
		"name": stem, "website_url": "https://" + stem + ".example", "currency": "USD", "subdomain": stem,
		"holding_period_days": 0, "block_self_referrals": false,
	})
	program := own["prg_"]
	o.object(ctx, "/v1/programs/"+program+"/portal", M{"embed_hosts": []string{"app.acme.example"}})
	o.add(ctx, own, "whe_", "/v1/webhook_endpoints", M{
		"program_id": program, "url": o.sys.sink.web.URL + "/" + stem, "event_types": []string{"affiliate.created"},
	})
	o.connect(ctx, own)
	o.add(ctx, own, "grp_", "/v1/groups", M{"program_id": program, "name": stem})
	o.add(ctx, own, "tag_", "/v1/tags", M{"program_id": program, "name": stem})
	o.add(ctx, own, "res_", "/v1/resources", M{
		"program_id": program, "title": stem, "url": "https://" + stem + ".example",
	})
}

// unit returns a unit of work of the operator.
func (o *org) unit() *work.Unit {
	return work.NewRun(o.sys.pool, work.Actor{Kind: work.Operator, ID: "bar"}, clock.System{}.Now()).For(o.id)
}

// connect connects the program to a payment processor, which only the operator can,
// and adds an event.
func (o *org) connect(ctx context.Context, own objects) {
	err := o.unit().Within(ctx, func(u *work.Unit) error {
		c, _, err := connection.Service{Keeper: o.sys.keeper}.Connect(ctx, u, connection.Input{
			ProgramID: own["prg_"], Processor: connection.Generic, Live: true,
		})
		if own["pco_"] = c.ID; err != nil {
			return err
		}
		if err := o.rail(ctx, u, own); err != nil {
			return err
		}
		own["inb_"], err = o.event(ctx, u, c, `{"type":"nothing"}`, db.InboxInsertParams{
			Type: "nothing", Status: db.InboxStatusIgnored, ReasonCode: new("not_used"),
		})
		return err
	})
	if err != nil {
		o.sys.fault("connect: %v", err)
	}
}

// rail connects the program to the PayPal of the system.
func (o *org) rail(ctx context.Context, u *work.Unit, own objects) error {
	id := ident.New(ident.Rail)
	own["prl_"] = id
	sealed, err := o.sys.keeper.Seal([]byte(`{"client_id":"client","secret":"secret"}`), rails.Place(id))
	if err != nil {
		return err
	}
	return db.New().PayoutRailInsert(ctx, u.DB(), db.PayoutRailInsertParams{
		ID: id, OrgID: u.OrgID, ProgramID: own["prg_"], Kind: db.PayoutRailKindPaypal, Livemode: true,
		Status: db.PayoutRailStatusActive, Methods: []string{"paypal"}, Credentials: sealed, CreatedAt: u.Now, UpdatedAt: u.Now,
	})
}

// event adds an event of a connection. It is worked already, so that no worker changes it
// while a stage compares.
func (o *org) event(
	ctx context.Context, u *work.Unit, c db.ProcessorConnection, body string, e db.InboxInsertParams,
) (id string, err error) {
	id = ident.New(ident.InboxEvent)
	e.ID, e.OrgID, e.ProgramID, e.ConnectionID, e.Processor = id, o.id, c.ProgramID, c.ID, c.Processor
	e.ExternalEventID, e.Livemode, e.Attempts, e.Headers = id, true, 1, []byte("{}")
	e.ProcessedAt, e.CreatedAt = &u.Now, u.Now
	if e.Payload, err = o.sys.keeper.Seal([]byte(body), inbox.PayloadPlace(id)); err != nil {
		return id, err
	}
	return id, db.New().InboxInsert(ctx, u.DB(), e)
}

// failedRefund adds an event by which a refund of a new sale failed.
func (o *org) failedRefund(ctx context.Context, own objects) (id string) {
	sale, refund := o.sale(ctx, own), o.sys.unique("re")
	charge := o.get(ctx, "/v1/sales/"+sale).text("external_charge_id")
	o.object(ctx, "/v1/refunds", M{"program_id": own["prg_"], "external_charge_id": charge, "external_refund_id": refund})
	err := o.unit().Within(ctx, func(u *work.Unit) error {
		c, _, err := connection.Service{Keeper: o.sys.keeper}.Connect(ctx, u, connection.Input{
			ProgramID: own["prg_"], Processor: connection.Chargebee, Live: true, Replace: true,
		})
		if err != nil {
			return err
		}
		body := `{"id":"ev_1","event_type":"transaction_updated","content":{"transaction":{"type":"refund","amount":5000,` +
			`"currency_code":"USD","status":"late_failure","id":"` + refund + `","refunded_txn_id":"` + charge + `"}}}`
		id, err = o.event(ctx, u, c, body, db.InboxInsertParams{
			Type: "transaction_updated", Status: db.InboxStatusFailed, ReasonCode: new("refund_failed"), SaleID: &sale,
		})
		return err
	})
	if err != nil {
		o.sys.fault("a failed refund: %v", err)
	}
	return id
}

// addPartner adds a partner with everything that names one.
func (o *org) addPartner(ctx context.Context, own objects, stem string) {
	program := own["prg_"]
	o.add(ctx, own, "part_", "/v1/partners", M{
		"program_id": program, "email": stem + "@example.com", "handle": stem, "group_id": own["grp_"],
		"metadata": M{"k": stem},
	})
	o.object(ctx, "/v1/partners/"+own["part_"], M{"tag_ids": []string{own["tag_"]}})
	o.add(ctx, own, "lnk_", "/v1/links", M{
		"program_id": program, "partner_id": own["part_"], "destination_url": "https://shop.example/" + stem,
		"value": stem + ".link",
	})
	o.add(ctx, own, "cpn_", "/v1/coupons", M{
		"program_id": program, "code": stem, "partner_id": own["part_"], "external_id": "promo_" + stem,
	})
	o.add(ctx, own, "tax_", "/v1/tax_form_statuses", M{
		"partner_id": own["part_"], "type": "w9", "status": "submitted",
	})
}

// addSale adds a sale and the way to it. The flow is there before, or the sale would have
// no commission.
func (o *org) addSale(ctx context.Context, own objects, stem string) {
	program := own["prg_"]
	o.add(ctx, own, "flw_", "/v1/flows", M{
		"program_id": program, "name": stem, "rate_type": "percent", "rate_value": 2000,
		"branches": []M{{"conditions": []M{}, "rate_type": "percent", "rate_value": 2000}},
	})
	click := o.add(ctx, own, "clk_", "/v1/clicks", M{
		"program_id": program, "value": stem + ".link", "landing_url": "https://shop.example/" + stem,
		"visitor_token": "visitor-" + stem,
	})
	own["ref_"] = click.text("referral_id")
	o.add(ctx, own, "cus_", "/v1/customers", M{
		"program_id": program, "click_id": own["clk_"], "email": "buyer@" + stem + ".example",
		"external_customer_id": "ext_" + stem,
	})
	own["merged"] = o.createID(ctx, "/v1/customers", M{"program_id": program, "partner_id": own["part_"]})
	o.add(ctx, own, "sale_", "/v1/sales", M{
		"program_id": program, "customer_id": own["cus_"], "external_charge_id": "ch_" + stem, "amount_minor": 4999,
		"currency": "USD",
	})
	o.add(ctx, own, "com_", "/v1/commissions", M{
		"program_id": program, "partner_id": own["part_"], "amount_minor": 500, "reason": stem,
	})
}

// addReviews adds objects to decide on: an application, a risk flag and a payout. The payout belongs to another
// partner, so that the first one can still be paid and deleted.
func (o *org) addReviews(ctx context.Context, own objects, stem string) {
	program := own["prg_"]
	o.add(ctx, own, "app_", "/v1/applications", M{
		"program_id": program, "email": "new@" + stem + ".example", "handle": stem + "-new",
	})
	// The email is the partner's own, which opens a risk flag.
	o.object(ctx, "/v1/customers", M{"program_id": program, "partner_id": own["part_"], "email": stem + "@example.com"})
	payee := o.createID(ctx, "/v1/partners", M{"program_id": program, "email": "payee@" + stem + ".example"})
	o.object(ctx, "/v1/commissions", M{"program_id": program, "partner_id": payee, "amount_minor": 700, "reason": stem})
	paid := maps.Clone(own) // before the other payout, which is then the first of the list
	o.toPay(ctx, operations()["undoPayoutPaid"], paid)
	own[paidPayout] = paid["pyt_"]
	o.object(ctx, "/v1/payout_batches", M{
		"program_id": program, "period_end": time.Now().UTC().Format(time.RFC3339Nano), "partner_id": payee,
	})
}

// paidPayout is the name of a paid payout among objects.
const paidPayout = "paid"

// anImport adds an import of a product, which has a problem.
func (o *org) anImport(ctx context.Context, program, status string) string {
	id := ident.New(ident.Import)
	_, err := o.sys.pool.Exec(ctx,
		`WITH i AS (INSERT INTO imports (id, org_id, program_id, source, dry_run, emit_events, status, place, counts, balances,
			groups, problems_count, created_at, updated_at)
			VALUES ($1, $2, $3, 'rewardful', true, false, $4, '{}', '{}', '[]', '[]', 1, now(), now()) RETURNING id)
		INSERT INTO import_problems (id, org_id, program_id, import_id, kind, source_id, code, detail, created_at)
		SELECT $5, $2, $3, i.id, 'links', '1', 'value_taken', 'The value is taken.', now() FROM i`,
		id, o.id, program, status, ident.New(ident.Problem))
	if err != nil {
		o.sys.fault("an import: %v", err)
	}
	_, err = o.sys.pool.Exec(ctx,
		`INSERT INTO import_balances (id, org_id, program_id, import_id, source_id, currency, source_minor, rail_minor, created_at)
		VALUES ($1, $2, $3, $4, '1', 'USD', 100, 100, now())`, ident.New(ident.OpenBalance), o.id, program, id)
	if err != nil {
		o.sys.fault("a balance of an import: %v", err)
	}
	return id
}

// failedMail adds a mail that could not be delivered.
func (o *org) failedMail(ctx context.Context) string {
	id := ident.New(ident.Mail)
	_, err := o.sys.pool.Exec(ctx,
		`INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, attempts, error, created_at)
		VALUES ($1, $2, 'payout_paid', $1, 'gone@example.com', 'Gone', 'Gone', 'failed', 6, 'no such mailbox', now())`, id, o.id)
	if err != nil {
		o.sys.fault("a mail: %v", err)
	}
	return id
}

// anEvent is an event of the program; its list begins with now.
func (o *org) anEvent(ctx context.Context, own objects) (id string) {
	err := o.sys.pool.QueryRow(ctx, `SELECT min(id) FROM events WHERE program_id = $1`, own["prg_"]).Scan(&id)
	if err != nil {
		o.sys.fault("an event: %v", err)
	}
	return id
}

// fillFlows gives a program as many conditions as its active flows may have. Every
// sale evaluates all of them: each would move the partner, and none is true.
func (o *org) fillFlows(ctx context.Context, own objects) {
	leaves := make([]M, 10)
	for i := range leaves {
		leaves[i] = M{"field": "sale.product_name", "operator": "contains", "value": strings.Repeat("none ", 35)}
	}
	branches := make([]M, 6)
	for i := range branches {
		branches[i] = M{"conditions": []M{{"any": leaves}}, "rate_type": "percent", "rate_value": 0}
	}
	for i := range 16 {
		o.object(ctx, "/v1/flows", M{
			"program_id": own["prg_"], "name": fmt.Sprint("Full ", i), "action": "switch_group", "target_group_id": own["grp_"],
			"branches": branches,
		})
	}
}

// others creates an object of each type that populate does not know, by the example
// in the description: a new type needs no line here. A batch would pay the partners.
func (o *org) others(ctx context.Context, own objects) {
	for _, op := range sorted() {
		if op.method == "POST" && !op.takesID() && !op.later && op.makes != "" && own[op.makes] == "" && op.body != nil &&
			op.id != "createPayoutBatch" {
			own[op.makes] = o.createID(ctx, op.path, o.sys.wellFormed(op, own))
		}
	}
}

// found adds objects that the service itself created, such as balances, from
// their lists. It fails where a path takes an id of which there is none, since the stages
// would then test that path with nothing.
func (o *org) found(ctx context.Context, own objects) error {
	for _, op := range sorted() {
		if !op.pages() || op.later || op.makes == "" || own[op.makes] != "" ||
			op.takesID() && own[op.prefix] == "" {
			continue
		}
		for range 200 { // the sender makes deliveries a moment later
			if list := o.get(ctx, with(op.in(own[op.prefix]), queryOf(op, own))).data(); len(list) > 0 {
				own[op.makes] = list[0].text("id")
				break
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	}
	flow := o.get(ctx, "/v1/flows/"+own["flw_"])
	if list, _ := flow.body["branches"].([]any); len(list) > 0 {
		branch, _ := list[0].(M)
		own["flb_"], _ = branch["id"].(string)
	}
	for _, op := range sorted() {
		if op.takesID() && !op.later && own[op.prefix] == "" {
			return fmt.Errorf("the organization has no %q for %s", op.prefix, op.id)
		}
	}
	return nil
}
