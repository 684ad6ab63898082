package check

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/auth/keyring"
	"rail/server/locale/currency"
	"rail/server/secret"
)

var queries = db.New()

// Equation is a condition that must always hold.
type Equation struct {
	Name      string   // M01 to M34, or a word
	Statement string   // the condition in words
	Tables    []string // the tables it reads

	// partial is set if the equation can be checked for single partners; nil partners means all.
	partial bool
	find    func(ctx context.Context, tx pgx.Tx, partners []string) ([]Finding, error)
}

// The names M01 to M34 are stable: operators and tests refer to them.
var equations = []Equation{
	check("M01", queries.AuditM01, "a balance is the sum of the partner's commissions, each in the bucket of its status",
		"balances", "commissions"),
	check("M02", queries.AuditM02, "a balance is the sum of the ledger", "balances", "ledger_entries"),
	check("M03", queries.AuditM03,
		"a commission's money enters the ledger once, and once for each correction that raised it, under its owner and currency",
		"ledger_entries", "commissions", "audit_log_entries", "audit_log_facts"),
	check("M04", queries.AuditM04,
		"no bucket of the ledger exceeds the earned amount, and the amount of a deleted commission is removed", "ledger_entries",
		"commissions"),
	check("M05", queries.AuditM05, "a commission's amount is in the ledger's bucket of its status, and in no other",
		"commissions", "ledger_entries"),
	checkWhole("M06", queries.AuditM06, "a charge of the processor is one sale", "sales"),
	check("M07", queries.AuditM07, "a sale, or a sign-up, earns one commission by rule", "commissions"),
	check("M08", queries.AuditM08, "a commission's amount follows from its own rate and revenue, unless it was corrected",
		"commissions", "ledger_entries", "audit_log_entries", "audit_log_facts"),
	check("M09", queries.AuditM09, "a commission is of its sale's program, and by rule of its currency", "commissions",
		"sales"),
	check("M10", queries.AuditM10, "a payout is the sum of the commissions in it", "payouts", "commissions"),
	check("M11", queries.AuditM11, "a payout's amount is positive", "payouts"),
	check("M12", queries.AuditM12, "a payout's commissions have its partner, currency and program", "commissions",
		"payouts"),
	check("M13", queries.AuditM13, "a commission is paid exactly when its payout is", "commissions", "payouts"),
	check("M15", queries.AuditM15, "a partner has one payout a currency and month", "payouts"),
	check("rails", queries.AuditRails,
		"a payout's rail is of its program, one paid by its rail was submitted, and its attention fits its status", "payouts",
		"payout_rails"),
	checkWhole("rail ids", queries.AuditRailIDs, "a batch at PayPal pays one payout", "payouts"),
	checkWhole("sends", queries.AuditSends, "a hand-over of payouts to a rail has payouts and an amount", "payout_sends"),
	check("M16", queries.AuditM16, "a refunded sale has no open commission, and all of a paid one is clawed back", "sales",
		"commissions"),
	check("M18", queries.AuditM18, "a commission's clawed amount is the sum of its clawbacks", "commissions"),
	check("M19", queries.AuditM19,
		"the commissions of a refunded sale sum to zero, for each partner and currency", "sales",
		"commissions"),
	checkWhole("refunds", queries.AuditRefunds, "a sale's refunded amount is the sum of its refunds", "sales", "refunds"),
	checkWhole("M20", queries.AuditM20, "a customer with sales has exactly one first sale", "sales"),
	checkWhole("external ids", queries.AuditExternalIDs,
		"an external id belongs to a customer of its program, and a customer's first one is among its ids",
		"customer_external_ids", "customers"),
	checkWhole("merges", queries.AuditMerges, "a merged customer is deleted, and its id refers to a customer of its program",
		"customer_merges", "customers", "sales", "commissions"),
	check("credits", queries.AuditCredits, "a commission by rule has its sale's partner and customer", "commissions",
		"sales", "customer_merges"),
	check("M21", queries.AuditM21, "a voided or rejected commission has a time and a reason, and is in no payout", "commissions"),
	check("M22", queries.AuditM22, "no commission is due before the end of its holding period", "commissions"),
	checkWhole("M25", queries.AuditM25, "a commission has one event of its payment", "events"),
	check("M33", queries.AuditM33, "a commission created or rejected manually has one audit entry, with its actor",
		"commissions", "audit_log_entries", "audit_log_facts"),
	check("M34", queries.AuditM34, "amounts are within their bounds, and no commission is zero", "commissions",
		"sales"),
	{
		Name: "currencies", Statement: "every currency is in ISO 4217",
		Tables: []string{"sales", "commissions", "payouts", "balances"}, find: currencies,
	},
	check("outcome", queries.AuditOutcome, "a sale is marked as paying a commission exactly when it has one", "sales",
		"commissions"),
	check("left out", queries.AuditLeftOut, "a commission due when a month's automatic payouts were made is in one of them",
		"commissions", "payouts", "payout_batches"),
	checkWhole("statement numbers", queries.AuditStatementNumbers,
		"the numbers of an organization's statements have no gaps within a year", "statements"),
	check("statement chains", queries.AuditStatementChain,
		"a statement has the hash of the partner's statement before it", "statements"),
	check("missing statements", queries.AuditStatementMissing,
		"a payout that was paid since its organization issues statements has one", "payouts", "statements"),
	{
		Name:      "statements",
		Statement: "a statement is signed by a key that was valid then, unchanged, and has the lines of its payout's rows",
		Tables:    []string{"statements", "payouts", "commissions", "sales"},
		partial:   true,
		find:      statements,
	},
	checkWhole("reports", queries.AuditReportDays, "the report sums of a day equal its rows", "report_sums",
		"clicks", "customers", "sales", "commissions"),
	checkWhole("report levels", queries.AuditReportLevels,
		"report sums are equal at every level, and a span is the sum of its quarters", "report_sums"),
	checkWhole("totals", queries.AuditTallies, "the totals of lists equal the numbers of their rows", "tallies", "commissions",
		"customers", "partners", "payouts", "referrals", "audit_log_entries"),
}

// currencies finds codes that are not in ISO 4217. SQL cannot check this alone, since the list of codes is in
// Go.
func currencies(ctx context.Context, tx pgx.Tx, _ []string) ([]Finding, error) {
	used, err := queries.AuditCurrencies(ctx, tx)
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, code := range used {
		if !currency.Valid(code) {
			out = append(out, Finding{What: code, Message: "is not a currency of ISO 4217"})
		}
	}
	return out, nil
}

// breach is the shape of every row of queries/audit.sql.
type breach = struct {
	What    string
	Message string
}

type row interface{ ~breach }

// check makes an equation from a query of queries/audit.sql that accepts partners. The query returns the rows
// that violate it, at most a hundred.
func check[R row](name string, query func(context.Context, db.DBTX, []string) ([]R, error), says string, over ...string,
) Equation {
	return Equation{Name: name, Statement: says, Tables: over, partial: true,
		find: func(ctx context.Context, tx pgx.Tx, partners []string) ([]Finding, error) {
			rows, err := query(ctx, tx, partners)
			return findings(rows), err
		}}
}

// checkWhole makes an equation from a query that always reads all partners.
func checkWhole[R row](name string, query func(context.Context, db.DBTX) ([]R, error), says string, over ...string,
) Equation {
	return Equation{Name: name, Statement: says, Tables: over,
		find: func(ctx context.Context, tx pgx.Tx, _ []string) ([]Finding, error) {
			rows, err := query(ctx, tx)
			return findings(rows), err
		}}
}

func findings[R row](rows []R) []Finding {
	out := make([]Finding, len(rows))
	for i, row := range rows {
		b := breach(row)
		out[i] = Finding{What: b.What, Message: b.Message}
	}
	return out
}

// checkSealed opens one stored value for each kind and secret key, so that a lost key is found before a value is
// needed.
func checkSealed(ctx context.Context, tx pgx.Tx, keeper *secret.Keeper) (Check, []Finding, error) {
	c := Check{
		Equation: Equation{
			Name:      "sealed",
			Statement: "sealed values open with the secret key: one value of each kind and key was opened",
		},
	}
	values, err := keyring.Open(ctx, tx, keeper)
	var out []Finding
	for _, v := range values {
		c.Rows = append(c.Rows, Rows{Table: v.Kind, N: v.N})
		if !v.Opens {
			out = append(out, Finding{
				What:    v.Place,
				Message: fmt.Sprintf("one of %d sealed with %s does not open with %s", v.N, v.By, keeper.Fingerprint()),
			})
		}
	}
	return c, out, err
}
