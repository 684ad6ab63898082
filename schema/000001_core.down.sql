DROP TABLE audit_log_entries, idempotency_keys, events, risk_flags, balances, ledger_entries, commissions, payouts,
    payout_batches, sales, flows, customers, clicks, referrals, coupons, tracking_values, links, applications,
    magic_links, partner_tags, partners, tags, groups, programs, api_keys, organizations;
DROP FUNCTION refuse_change();
