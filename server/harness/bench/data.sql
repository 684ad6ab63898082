-- Statements between lines of two semicolons; the names with a dollar sign stand
-- for numbers (size.numbers).
INSERT INTO organizations (id, name, created_at) VALUES ('org_bench', 'Bench', now())
;;
INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params, commission_on_net_revenue,
    holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals, blocked_countries, require_tax_forms,
    auto_payouts_enabled, created_at, updated_at)
SELECT 'prg_' || lpad(n::text, 26, '0'), 'org_bench', 'Program ' || n, 'Shop', 'https://shop.example', 'USD', 'active', 'p' || n, 60, '{ref}', true,
    30, 5000, 'net_30', '{paypal}', true, '{}', false, false, now(), now()
FROM generate_series($program, $program + $programs - 1) n
;;
INSERT INTO groups (id, org_id, program_id, name, slug, is_private, is_default, created_at, updated_at)
SELECT 'grp_' || lpad(n::text, 26, '0'), 'org_bench', 'prg_' || lpad(n::text, 26, '0'), 'Default', 'default', false, true, now(), now()
FROM generate_series($program, $program + $programs - 1) n
;;
INSERT INTO flows (id, org_id, program_id, name, trigger, action, rate_type, rate_value, approval_mode, priority, status, branches, created_at, updated_at)
SELECT 'flw_' || lpad(n::text, 26, '0'), 'org_bench', 'prg_' || lpad(n::text, 26, '0'), 'All sales', 'new_payment', 'generate_commission',
    'percent', 2000, 'immediate', 100, 'active', '[]', now(), now()
FROM generate_series($program, $program + $programs - 1) n
;;
INSERT INTO partners (id, org_id, program_id, group_id, email, handle, status, created_at, updated_at)
SELECT 'part_' || lpad(n::text, 26, '0'), 'org_bench', 'prg_' || lpad(g::text, 26, '0'), 'grp_' || lpad(g::text, 26, '0'), 'p' || n || '@example.com',
    'p' || n, 'active', now(), now()
FROM (SELECT n, $program + (n - $partner) % $programs AS g FROM generate_series($partner, $partner + $partners - 1) n) x
;;
INSERT INTO tracking_values (org_id, program_id, value, kind, partner_id) SELECT org_id, program_id, handle, 'handle', id FROM partners
;;
INSERT INTO customers (id, org_id, program_id, partner_id, external_customer_id, email, status, tracked_by, lead_at, converted_at, created_at, updated_at)
SELECT 'cus_' || lpad(n::text, 26, '0'), 'org_bench', 'prg_' || lpad(($program + p % $programs)::text, 26, '0'),
    'part_' || lpad(($partner + p)::text, 26, '0'), 'x' || n, 'c' || n || '@example.com', 'active', 'api', at, at, at, at
FROM (SELECT n, (n - $customer) % $partners AS p, now() - interval '366 days' AS at FROM generate_series($customer, $customer + $customers - 1) n
    UNION ALL SELECT n, 0, now() - interval '366 days' FROM generate_series($hot, $hot + $hots - 1) n) x
;;
INSERT INTO customer_external_ids (program_id, org_id, external_customer_id, customer_id, created_at)
SELECT program_id, org_id, external_customer_id, id, created_at FROM customers
;;
INSERT INTO sales (id, org_id, program_id, customer_id, partner_id, external_charge_id, processor, amount_minor, currency, billing_type, product_name,
    is_first_sale, activity_outcome, warnings, occurred_at, created_at, updated_at)
SELECT 'sale_' || lpad(($sale + i)::text, 26, '0'), 'org_bench', 'prg_' || lpad(($program + k % $partners % $programs)::text, 26, '0'),
    'cus_' || lpad(($customer + k)::text, 26, '0'), 'part_' || lpad(($partner + k % $partners)::text, 26, '0'), 'ch_' || i, 'api', 1000 + i % 9000,
    'USD', 'one_time', 'Pro plan', i < $customers, 'commission_created', '[]', at, at, at
FROM (SELECT i, i % $customers AS k, now() - interval '365 days' + i * (interval '364 days' / $rows) AS at FROM generate_series(0, $rows - 1) i) x
;;
INSERT INTO sales (id, org_id, program_id, customer_id, partner_id, external_charge_id, processor, amount_minor, currency, billing_type, product_name,
    is_first_sale, activity_outcome, warnings, occurred_at, created_at, updated_at)
SELECT 'sale_' || lpad(n::text, 26, '0'), 'org_bench', 'prg_' || lpad('$program', 26, '0'), 'cus_' || lpad(n::text, 26, '0'),
    'part_' || lpad('$partner', 26, '0'), 'ch_hot' || n, 'api', 4999, 'USD', 'one_time', 'Pro plan', true, 'sale_recorded', '[]', at, at, at
FROM (SELECT n, now() - interval '365 days' AS at FROM generate_series($hot, $hot + $hots - 1) n) x
;;
INSERT INTO commissions (id, org_id, program_id, partner_id, sale_id, customer_id, flow_id, kind, amount_minor, revenue_minor, rate_type, rate_value,
    currency, status, mature_at, approved_at, created_at, updated_at)
SELECT 'com_' || substr(s.id, 6), 'org_bench', program_id, partner_id, id, customer_id, 'flw_' || substr(program_id, 5), 'referral', amount_minor / 5,
    amount_minor, 'percent', 2000, 'USD', 'approved', created_at + interval '30 days', created_at, created_at, created_at
FROM sales s WHERE activity_outcome = 'commission_created'
;;
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
SELECT org_id, program_id, partner_id, id, currency, 'source', 'pending', amount_minor, created_at FROM commissions
;;
INSERT INTO balances (id, org_id, program_id, partner_id, currency, pending_minor, folded_xid, updated_at)
SELECT 'bal_' || substr(partner_id, 6) || '_usd', 'org_bench', program_id, partner_id, 'USD', sum(amount_minor), pg_current_xact_id(), now()
FROM ledger_entries GROUP BY program_id, partner_id
