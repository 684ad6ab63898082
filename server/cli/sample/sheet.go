package sample

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sheet has the rows of one table. Every row begins with the organization and the program, which method add
// fills in.
type sheet struct {
	table   string
	columns []string
	rows    [][]any
}

// newSheet returns an empty sheet for these columns of a table, in the order of the values.
func newSheet(table, columns string) *sheet {
	return &sheet{table: table, columns: strings.Fields(columns)}
}

// sheets has a sheet for each table of the sample. Methods named after a subject create the sheets of that
// subject; all gives the order of insertion.
type sheets struct {
	programs, groups, tags, partners, partnerTags, applications, links, values, coupons             *sheet
	referrals, clicks, customers, externalIDs, flows, sales, refunds, commissions, ledger, balances *sheet
	resources, campaigns, recipients, sequences, steps, enrolments                                  *sheet
	batches, payouts, flags, forms, endpoints, deliveries, connections, inbox, notes                *sheet
}

// newSheets returns the sheets with the columns that the sample sets; the others keep their defaults.
func newSheets() sheets {
	var s sheets
	s.ofPrograms()
	s.ofPartners()
	s.ofCustomers()
	s.ofMoney()
	s.ofContent()
	s.ofWatch()
	return s
}

// ofPrograms creates the sheets of the program, its groups and tags.
func (s *sheets) ofPrograms() {
	s.programs = newSheet("programs",
		`org_id id name product_name website_url currency status subdomain terms_url terms_version cookie_days url_params
		commission_on_net_revenue holding_period_days min_payout_minor payout_term payout_methods block_self_referrals
		blocked_countries require_tax_forms auto_payouts_enabled processor created_at updated_at`)
	s.groups = newSheet("groups",
		`org_id program_id id name slug description landing_url is_private is_default created_at updated_at`)
	s.tags = newSheet("tags", `org_id program_id id name color created_at updated_at`)
}

// ofPartners creates the sheets of partners, their links and coupons.
func (s *sheets) ofPartners() {
	s.partners = newSheet("partners",
		`org_id program_id id group_id email first_name last_name display_name company_name website_url country_code
		language_code handle status decline_reason suspension_reason terms_accepted_at terms_version completed_onboarding
		payout_method created_at updated_at`)
	s.partnerTags = newSheet("partner_tags", `org_id program_id partner_id tag_id`)
	s.notes = newSheet("partner_notes", `org_id program_id id partner_id author_id author_name text created_at`)
	s.applications = newSheet("applications",
		`org_id program_id id group_id partner_id email answers source status reviewed_at
		rejection_reason created_at updated_at`)
	s.links = newSheet("links",
		`org_id program_id id partner_id param value value_key destination_url destination_key short_slug label
		rate_override created_at updated_at`)
	s.values = newSheet("tracking_values", `org_id program_id value kind partner_id link_id`)
	s.coupons = newSheet("coupons",
		`org_id program_id id partner_id group_id code external_id active created_at updated_at`)
}

// ofCustomers creates the sheets of visits and customers.
func (s *sheets) ofCustomers() {
	s.referrals = newSheet("referrals",
		`org_id program_id id partner_id link_id visitor landing_url utm tracked_by status expires_at created_at updated_at`)
	s.clicks = newSheet("clicks",
		`org_id program_id id partner_id link_id referral_id param ip_hash user_agent referer country device
		landing_url created_at`)
	s.customers = newSheet("customers",
		`org_id program_id id partner_id referral_id link_id coupon_id click_id processor external_customer_id
		external_subscription_id email name status tracked_by lead_at converted_at created_at updated_at`)
	s.externalIDs = newSheet("customer_external_ids", `org_id program_id external_customer_id customer_id processor created_at`)
}

// ofMoney creates the sheets of flows, sales, commissions, payouts and the ledger.
func (s *sheets) ofMoney() {
	s.flows = newSheet("flows",
		`org_id program_id id name description group_id trigger action rate_type rate_value approval_mode
		approval_delay_days priority status branches created_at updated_at`)
	s.sales = newSheet("sales",
		`org_id program_id id customer_id partner_id external_charge_id processor amount_minor tax_minor fee_minor currency
		billing_type interval product_id product_name is_first_sale activity_outcome warnings occurred_at refunded_at
		created_at updated_at`)
	s.refunds = newSheet("refunds",
		`org_id program_id id sale_id external_charge_id external_refund_id status amount_minor currency voided_commissions
		clawback_minor effects refunded_at created_at updated_at`)
	s.commissions = newSheet("commissions",
		`org_id program_id id partner_id sale_id customer_id flow_id flow_branch_id kind amount_minor
		revenue_minor rate_type rate_value currency status mature_at approve_at approved_at voided_at void_reason payout_id
		metadata clawed_minor created_at updated_at`)
	s.ledger = newSheet("ledger_entries",
		`org_id program_id partner_id commission_id currency from_bucket to_bucket amount_minor created_at`)
	s.balances = newSheet("balances", `org_id program_id id partner_id currency updated_at`)
	s.batches = newSheet("payout_batches", `org_id program_id id period_month period_end created_at updated_at`)
	s.payouts = newSheet("payouts",
		`org_id program_id id partner_id batch_id amount_minor currency status method external_id reason reason_text
		error_code error_message period_month period_end due_at paid_at due_told rail created_at updated_at`)
}

// ofContent creates the sheets of resources, campaigns and sequences.
func (s *sheets) ofContent() {
	s.resources = newSheet("resources",
		`org_id program_id id kind title url folder group_ids tag_ids position published published_at created_at updated_at`)
	s.campaigns = newSheet("campaigns",
		`org_id program_id id name subject body group_ids tag_ids statuses status scheduled_at started_at sent_at total
		sent opened
		created_at updated_at`)
	s.recipients = newSheet("campaign_recipients", `org_id program_id campaign_id partner_id status opened_at`)
	s.sequences = newSheet("sequences", `org_id program_id id name status trigger created_at updated_at`)
	s.steps = newSheet("sequence_steps", `org_id program_id sequence_id position delay_days subject body`)
	s.enrolments = newSheet("sequence_enrolments",
		`org_id program_id sequence_id partner_id position enrolled_at completed_at`)
}

// ofWatch creates the sheets of risk flags, tax forms and webhooks.
func (s *sheets) ofWatch() {
	s.flags = newSheet("risk_flags",
		`org_id program_id id partner_id kind severity status evidence resolved_at resolution_note created_at`)
	s.forms = newSheet("tax_form_statuses",
		`org_id program_id id partner_id type status entity_type country_code signed_at expires_at created_at updated_at`)
	s.endpoints = newSheet("webhook_endpoints",
		`org_id program_id id partner_id url event_types enabled secret counted_since created_at updated_at`)
	s.deliveries = newSheet("webhook_deliveries",
		`org_id program_id id endpoint_id event_id event_type event_seq status attempts response_code error
		duration_ms last_attempt_at next_attempt_at finished_at created_at`)
	s.connections = newSheet("processor_connections",
		`org_id program_id id processor livemode status record_direct outside_checkout secret last_event_at created_at
		updated_at`)
	s.inbox = newSheet("inbox_events",
		`org_id program_id id connection_id processor external_event_id type livemode status reason_code reason customer_id
		sale_id attempts failures payload headers due_at processed_at created_at`)
}

// all returns the sheets in a valid order of insertion.
func (s *sheets) all() []*sheet {
	return []*sheet{
		s.programs, s.groups, s.tags, s.partners, s.partnerTags, s.notes, s.applications, s.links, s.values, s.coupons, s.referrals,
		s.clicks,
		s.customers, s.externalIDs, s.flows, s.sales, s.refunds, s.batches, s.payouts, s.commissions, s.ledger, s.balances,
		s.resources, s.campaigns, s.recipients, s.sequences, s.steps, s.enrolments, s.flags, s.forms, s.endpoints,
		s.deliveries, s.connections, s.inbox,
	}
}

// add adds a row with its values after organization and program.
func (b *builder) add(s *sheet, values ...any) {
	s.rows = append(s.rows, append([]any{b.orgID, b.programID}, values...))
}

// copy inserts each table by one COPY.
func (b *builder) copy(ctx context.Context, tx pgx.Tx) error {
	for _, s := range b.all() {
		// One COPY a table takes a fraction of the time of as many INSERTs.
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{s.table}, s.columns, pgx.CopyFromRows(s.rows)); err != nil {
			return fmt.Errorf("%s: %w", s.table, err)
		}
	}
	return nil
}

// analyze updates the statistics of the filled tables: without them, query plans for so many new rows are bad.
// It skips other tables, above all the catalogs that all databases share.
func (b *builder) analyze(ctx context.Context, tx pgx.Tx) error {
	var tables []string
	for _, s := range b.all() {
		tables = append(tables, pgx.Identifier{s.table}.Sanitize())
	}
	_, err := tx.Exec(ctx, "ANALYZE "+strings.Join(tables, ", "))
	return err
}
