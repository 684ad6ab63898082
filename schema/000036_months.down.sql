SET LOCAL lock_timeout = '2s';

LOCK TABLE partners, webhook_endpoints IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE clicks, webhook_deliveries IN ACCESS EXCLUSIVE MODE;

-- What the tables have beside their rows, to be made again.
CREATE TEMP TABLE made ON COMMIT DROP AS
SELECT 2 AS turn, i.indrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS def FROM pg_index i
WHERE i.indrelid IN ('clicks'::regclass, 'webhook_deliveries'::regclass) AND NOT i.indisprimary
UNION ALL
SELECT 1, k.conrelid::regclass::text, format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) FROM pg_constraint k
WHERE k.conrelid IN ('clicks'::regclass, 'webhook_deliveries'::regclass) AND k.contype IN ('p', 'f')
UNION ALL
SELECT 3, c.relname, format('GRANT %s ON %I TO %s', a.privilege_type, c.relname, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid IN ('clicks'::regclass, 'webhook_deliveries'::regclass) AND a.grantee <> c.relowner;

CREATE TABLE clicks_plain (LIKE clicks INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
CREATE TABLE webhook_deliveries_plain (LIKE webhook_deliveries INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
INSERT INTO clicks_plain SELECT * FROM clicks;
INSERT INTO webhook_deliveries_plain SELECT * FROM webhook_deliveries;

CREATE OR REPLACE VIEW report_facts AS
SELECT k.program_id, k.created_at AS at, k.partner_id, k.link_id, NULL::text AS product, NULL::text AS product_name, NULL::text AS currency,
    1 AS clicks, 0 AS leads, 0 AS customers, 0 AS sales, 0 AS refunded, 0::bigint AS revenue_minor, 0::bigint AS commissions_minor
FROM clicks_plain k
UNION ALL
SELECT c.program_id, c.lead_at, c.partner_id, c.link_id, NULL, NULL, NULL, 0, 1, 0, 0, 0, 0, 0 FROM customers c
UNION ALL
SELECT c.program_id, c.converted_at, c.partner_id, c.link_id, coalesce(f.product_id, f.product_name), f.product_name, NULL, 0, 0, 1, 0, 0, 0, 0
FROM customers c LEFT JOIN sales f ON f.customer_id = c.id AND f.is_first_sale WHERE c.converted_at IS NOT NULL
UNION ALL
SELECT s.program_id, s.occurred_at, s.partner_id, CASE WHEN s.partner_id IS NOT NULL THEN c.link_id END, coalesce(s.product_id, s.product_name), s.product_name,
    s.currency, 0, 0, 0, 1, (s.refunded_at IS NOT NULL)::int, CASE WHEN s.refunded_at IS NULL THEN s.amount_minor ELSE 0 END, 0
FROM sales s LEFT JOIN customers c ON c.id = s.customer_id
UNION ALL
SELECT s.program_id, s.occurred_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name, k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor
FROM sales s JOIN commissions k ON k.sale_id = s.id AND k.kind <> 'clawback' LEFT JOIN customers c ON c.id = k.customer_id
WHERE k.status NOT IN ('rejected', 'voided')
UNION ALL
SELECT k.program_id, k.created_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name, k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor
FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id LEFT JOIN customers c ON c.id = k.customer_id
WHERE (k.sale_id IS NULL OR k.kind = 'clawback') AND k.status NOT IN ('rejected', 'voided');

-- What is forgotten stays so: the release before has no place for it.
DROP VIEW clicks_counted;
DROP VIEW tally_rows;
DROP TABLE forgotten;
DROP FUNCTION tally_forgotten_insert, tally_forgotten_delete, tally_forgotten_update;
DELETE FROM tally_entries WHERE list LIKE 'forgotten\_%';
DELETE FROM tallies WHERE list LIKE 'forgotten\_%';
ALTER TABLE tallies DROP CONSTRAINT tallies_list_check, ADD CONSTRAINT tallies_list_check
    CHECK (list IN ('audit_log_entries', 'commissions', 'customers', 'partners', 'payouts', 'referrals'));

CREATE VIEW tally_rows AS
SELECT org_id, program_id, 'audit_log_entries' AS list, ARRAY[]::text[] AS owner_ids, action AS status, '' AS kind FROM audit_log_entries
UNION ALL
SELECT org_id, program_id, 'commissions', array_remove(ARRAY[partner_id, payout_id], NULL), status, kind FROM commissions
UNION ALL
SELECT org_id, program_id, 'customers', array_remove(ARRAY[partner_id, link_id, coupon_id], NULL), status, '' FROM customers
UNION ALL
SELECT org_id, program_id, 'partners', array_remove(ARRAY[group_id], NULL), status, '' FROM partners
UNION ALL
SELECT org_id, program_id, 'payouts', array_remove(ARRAY[partner_id, batch_id], NULL), status, '' FROM payouts
UNION ALL
SELECT org_id, program_id, 'referrals', array_remove(ARRAY[partner_id, link_id], NULL), status, '' FROM referrals;

CREATE OR REPLACE FUNCTION recount_tallies() RETURNS void LANGUAGE sql AS $$
    LOCK TABLE referrals, customers, partners, commissions, payouts, audit_log_entries IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM tally_entries;
    DELETE FROM tallies;
    INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total)
    SELECT a.org_id, a.program_id, a.list, o.owner_id, a.status, a.kind, sum(a.n)
    FROM (SELECT r.org_id, r.program_id, r.list, r.owner_ids, r.status, r.kind, count(*) AS n FROM tally_rows r GROUP BY 1, 2, 3, 4, 5, 6) a
    CROSS JOIN LATERAL unnest(array_append(a.owner_ids, '')) o(owner_id) GROUP BY 1, 2, 3, 4, 5, 6
$$;

DROP TABLE clicks, webhook_deliveries;
ALTER TABLE clicks_plain RENAME TO clicks;
ALTER TABLE webhook_deliveries_plain RENAME TO webhook_deliveries;

DROP FUNCTION forget_clicks;
ALTER FUNCTION make_partitions(text, text) RESET lock_timeout;

CREATE OR REPLACE FUNCTION drop_partitions(list text, prefix text, before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    p record;
    dropped bigint := 0;
BEGIN
    IF NOT (has_table_privilege(session_user, list, 'DELETE') OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not delete from %s', session_user, list);
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    FOR p IN SELECT o.name, o.upper_id FROM partitions_of(list) o WHERE o.upper_id COLLATE "C" <= id_at(prefix, least(before, now())) LOOP
        -- An event stays as long as a delivery of it does. Asked again under the lock,
        -- since a replay may have come.
        EXIT WHEN list = 'events' AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id < p.upper_id);
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', list);
        EXIT WHEN list = 'events' AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id < p.upper_id);
        EXECUTE format('DROP TABLE %I', p.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

DO $do$
DECLARE
    m record;
BEGIN
    EXECUTE format('ALTER FUNCTION drop_partitions(text, text, timestamptz) SET search_path = %I, pg_temp', current_schema());
    FOR m IN SELECT * FROM made ORDER BY turn, def LOOP
        EXECUTE replace(m.def, ' ON ONLY ', ' ON ');
    END LOOP;
END $do$;
