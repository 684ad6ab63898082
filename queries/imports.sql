-- Imports from other affiliate products: the import, its rows while it is read, planned and written, and the objects
-- that it wrote. Rows are read in batches, in the order of kind, time and source_id. kind is 0 for partners, 1 for links,
-- 2 for coupons, 3 for customers, 4 for sales, 5 for commissions and 6 for payouts (TestKindsAreStored).

-- name: ImportGet :one
SELECT t.* FROM imports t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ImportLock :one
SELECT t.* FROM imports t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: ImportInsert :exec
INSERT INTO imports (id, org_id, program_id, source, source_account, api_key, since, dry_run, emit_events, status, place,
    counts, balances, groups, problems_count, params, error, user_id, attempts, busy_until, created_at, updated_at,
    finished_at)
VALUES (@id, @org_id, @program_id, @source, @source_account, @api_key, @since, @dry_run, @emit_events, @status, @place,
    @counts, @balances, @groups, @problems_count, @params, @error, @user_id, @attempts, @busy_until, @created_at,
    @updated_at, @finished_at);

-- name: ImportSave :exec
-- ImportSave writes the progress of an import. The key is deleted when nothing is left to read.
UPDATE imports SET status = @status, place = @place, counts = @counts, balances = @balances, groups = @groups,
    problems_count = @problems_count, params = @params, error = @error, attempts = @attempts, busy_until = @busy_until,
    dry_run = @dry_run, updated_at = @updated_at, finished_at = @finished_at,
    api_key = CASE WHEN @keeps_key::boolean THEN api_key END
WHERE id = @id AND org_id = @org_id;

-- name: ImportTake :many
-- ImportTake reserves the next import with work for one server. Uploaded files without columns are work when they
-- have waited too long.
UPDATE imports t SET busy_until = @busy_until
FROM (SELECT i.id FROM imports i WHERE i.status IN ('reading', 'writing', 'undoing')
        AND (i.busy_until IS NULL OR i.busy_until <= @now) AND ((i.place ->> 'phase') <> 'fill' OR i.updated_at < @waiting_before)
    ORDER BY i.updated_at, i.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: ImportActive :one
SELECT t.id FROM imports t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.status IN ('reading', 'writing', 'undoing');

-- name: ImportsOfSource :many
-- ImportsOfSource lists the later imports of the same source that wrote something.
SELECT t.id FROM imports t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.source = @source
    AND t.source_account IS NOT DISTINCT FROM sqlc.narg('source_account') AND t.status IN ('done', 'failed')
    AND t.created_at >= @since
    AND EXISTS (SELECT 1 FROM import_objects o WHERE o.import_id = t.id AND o.org_id = t.org_id) ORDER BY t.created_at, t.id;

-- name: ImportHasWritten :one
SELECT EXISTS (SELECT 1 FROM import_objects o WHERE o.import_id = @import_id AND o.org_id = @org_id);

-- name: ImportsUndone :exec
UPDATE imports SET status = 'undone', error = NULL, updated_at = @now, finished_at = @now
WHERE id = ANY (@ids::text[]) AND org_id = @org_id;

-- name: ImportKeysSealed :many
SELECT t.id, t.api_key FROM imports t WHERE t.api_key IS NOT NULL AND t.id > @after ORDER BY t.id LIMIT @lim;

-- name: ImportKeyReseal :exec
UPDATE imports SET api_key = @api_key WHERE id = @id AND api_key = @was;

-- name: ImportProblemInsert :exec
INSERT INTO import_problems (id, org_id, program_id, import_id, kind, source_id, code, detail, created_at)
SELECT unnest(@ids::text[]), @org_id, @program_id, @import_id, unnest(@kinds::text[]), unnest(@source_ids::text[]),
    unnest(@codes::text[]), unnest(@details::text[]), @created_at;

-- name: ImportBalancesPut :exec
-- ImportBalancesPut stores balances with the emails of the partners. Of a balance that is there, only the money in Rail
-- changes.
INSERT INTO import_balances (id, org_id, program_id, import_id, source_id, email, currency, source_minor, rail_minor,
    created_at)
SELECT v.id, @org_id, @program_id, @import_id, v.source_id, (SELECT left(t.data ->> 'email', 254) FROM import_rows t
        WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 0 AND t.source_id = v.source_id),
    v.currency, v.source_minor, v.rail_minor, @created_at
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@source_ids::text[]) AS source_id, unnest(@currencies::text[]) AS currency,
    unnest(@source_minors::bigint[]) AS source_minor, unnest(@rail_minors::bigint[]) AS rail_minor) v
ON CONFLICT (import_id, source_id, currency) DO UPDATE SET rail_minor = excluded.rail_minor;

-- name: ImportBalancesEmpty :exec
-- ImportBalancesEmpty sets the money in Rail to zero, before it is summed again.
UPDATE import_balances SET rail_minor = 0 WHERE import_id = @import_id AND org_id = @org_id AND rail_minor <> 0;

-- name: ImportBalancesAfter :many
SELECT t.* FROM import_balances t WHERE t.import_id = @import_id AND t.org_id = @org_id
    AND (t.source_id, t.currency) > (@after_id::text, @after_currency::text)
ORDER BY t.source_id, t.currency LIMIT @lim;

-- name: ImportRowsPut :one
-- ImportRowsPut stores rows, and returns the numbers of new ones by kind.
WITH put AS (
    INSERT INTO import_rows (import_id, org_id, program_id, kind, source_id, at, data)
    SELECT @import_id, @org_id, @program_id, unnest(@kinds::smallint[]), unnest(@source_ids::text[]),
        unnest(@ats::timestamptz[]), unnest(@data::text[])::json
    ON CONFLICT (import_id, kind, source_id) DO UPDATE SET data = excluded.data, at = excluded.at
    RETURNING kind, (xmax = 0) AS is_new
)
SELECT coalesce(json_object_agg(n.kind, n.n), '{}')::json AS counts
FROM (SELECT p.kind, count(*) AS n FROM put p WHERE p.is_new GROUP BY p.kind) n;

-- name: ImportRowsRead :many
-- ImportRowsRead returns the data of rows that were stored before.
SELECT t.kind, t.source_id, t.data::text AS data FROM import_rows t
JOIN (SELECT unnest(@kinds::smallint[]) AS kind, unnest(@source_ids::text[]) AS source_id) v
    ON v.kind = t.kind AND v.source_id = t.source_id
WHERE t.import_id = @import_id AND t.org_id = @org_id;

-- name: ImportRowsNext :many
-- ImportRowsNext returns the rows of a kind after a position.
SELECT t.* FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = @kind
    AND (t.at, t.source_id) > (@after_at::timestamptz, @after_id::text)
ORDER BY t.at, t.source_id LIMIT @lim;

-- name: ImportRowsPlanned :exec
UPDATE import_rows t SET outcome = v.outcome, target = nullif(v.target, ''), refs = v.refs::json
FROM (SELECT unnest(@source_ids::text[]) AS source_id, unnest(@outcomes::text[]) AS outcome,
    unnest(@targets::text[]) AS target, unnest(@refs::text[]) AS refs) v
WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = @kind AND t.source_id = v.source_id;

-- name: ImportRowRefuse :exec
UPDATE import_rows t SET outcome = 'refused' WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = @kind
    AND t.source_id = @source_id;

-- name: ImportRowsDelete :execrows
DELETE FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND (t.kind, t.source_id) IN (
    SELECT r.kind, r.source_id FROM import_rows r WHERE r.import_id = @import_id AND r.org_id = @org_id LIMIT @lim);

-- name: ImportTargets :many
-- ImportTargets finds the objects of Rail for ids of a kind: as planned in this import, else as written by an earlier
-- one.
SELECT DISTINCT ON (x.source_id) x.source_id::text AS source_id, coalesce(x.target, '')::text AS target,
    x.refs::text AS refs, x.data::text AS data
FROM (
    SELECT t.source_id, CASE WHEN t.outcome <> 'refused' THEN t.target END AS target, coalesce(t.refs::text, '{}') AS refs,
        t.data::text AS data, 0 AS place
    FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = @kind
        AND t.source_id = ANY (@source_ids::text[]) AND t.outcome IS NOT NULL
    UNION ALL
    SELECT o.source_id, coalesce((SELECT m.customer_id FROM customer_merges m WHERE m.id = o.target
        AND m.org_id = @org_id), o.target), '{}', o.data::text, 1
    FROM import_objects o WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.source = @source
        AND o.kind = @kind AND o.source_id = ANY (@source_ids::text[])
) x ORDER BY x.source_id, x.place;

-- name: ImportObjects :many
-- ImportObjects returns what an earlier import wrote for ids of a kind.
SELECT o.* FROM import_objects o WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.source = @source
    AND o.kind = @kind AND o.source_id = ANY (@source_ids::text[]);

-- name: ImportObjectsPut :exec
INSERT INTO import_objects (program_id, source, kind, source_id, org_id, import_id, target, created, data, written_at)
SELECT @program_id, @source, @kind, unnest(@source_ids::text[]), @org_id, @import_id, unnest(@targets::text[]),
    unnest(@created::boolean[]), unnest(@data::text[])::json, unnest(@written_ats::timestamptz[])
ON CONFLICT (program_id, source, kind, source_id) DO UPDATE SET data = excluded.data, written_at = excluded.written_at
    WHERE import_objects.data::text <> excluded.data::text;

-- name: ImportEdited :many
-- ImportEdited returns the objects that were changed in Rail since an import wrote them.
SELECT o.target FROM import_objects o WHERE o.target = ANY (@targets::text[]) AND o.program_id = @program_id
    AND o.org_id = @org_id AND o.source = @source AND o.kind = @kind
    AND (EXISTS (SELECT 1 FROM partners p WHERE p.id = o.target AND p.org_id = o.org_id AND p.updated_at > o.written_at)
        OR EXISTS (SELECT 1 FROM links l WHERE l.id = o.target AND l.org_id = o.org_id AND l.updated_at > o.written_at)
        OR EXISTS (SELECT 1 FROM coupons u WHERE u.id = o.target AND u.org_id = o.org_id AND u.updated_at > o.written_at)
        OR EXISTS (SELECT 1 FROM customers c WHERE c.id = o.target AND c.org_id = o.org_id AND c.updated_at > o.written_at)
        OR EXISTS (SELECT 1 FROM audit_facts a WHERE a.target_id = o.target AND a.program_id = o.program_id
            AND a.created_at > o.written_at));

-- name: ImportKeysClaim :many
-- ImportKeysClaim gives each key to the row that asks for it first, and returns the owners.
WITH asked AS (
    SELECT unnest(@keys::text[]) AS key, unnest(@source_ids::text[]) AS source_id
), put AS (
    INSERT INTO import_keys (import_id, org_id, program_id, kind, key, source_id)
    SELECT @import_id, @org_id, @program_id, @kind, a.key, a.source_id FROM asked a
    ON CONFLICT (import_id, kind, key) DO NOTHING RETURNING key, source_id
)
SELECT a.key::text AS key, coalesce(p.source_id, k.source_id)::text AS source_id FROM asked a
LEFT JOIN put p ON p.key = a.key
LEFT JOIN import_keys k ON k.import_id = @import_id AND k.org_id = @org_id AND k.kind = @kind AND k.key = a.key;

-- name: ImportLinksOf :many
-- ImportLinksOf returns the values of partners' links that can be handles, each once, the oldest first.
SELECT (t.data ->> 'partner_id')::text AS partner_id, (t.data ->> 'value')::text AS value
FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 1
    AND (t.data ->> 'partner_id') = ANY (@partner_ids::text[]) AND (t.data ->> 'value') ~ '^[a-z0-9-]{2,32}$'
GROUP BY 1, 2 ORDER BY min(t.at), min(t.source_id);

-- name: ImportValues :many
-- ImportValues counts the partners of the import that have each value in any case.
SELECT lower(t.data ->> 'value')::text AS value, count(DISTINCT t.data ->> 'partner_id')::bigint AS partners
FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 1
    AND lower(t.data ->> 'value') = ANY (@values::text[]) GROUP BY 1;

-- name: ImportPartnersByEmail :many
SELECT t.id, lower(t.email)::text AS email FROM partners t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND lower(t.email) = ANY (@emails::text[]);

-- name: ImportValuesTaken :many
-- ImportValuesTaken returns the holders of values in Rail, in lower case.
SELECT t.value, t.partner_id, t.kind FROM tracking_values t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.value = ANY (@values::text[]);

-- name: ImportCouponsTaken :many
SELECT t.id, lower(t.code)::text AS code, t.partner_id FROM coupons t WHERE t.program_id = @program_id
    AND t.org_id = @org_id AND lower(t.code) = ANY (@codes::text[]);

-- name: ImportCustomersByID :many
SELECT e.external_customer_id, c.id, c.partner_id FROM customer_external_ids e JOIN customers c ON c.id = e.customer_id
WHERE e.program_id = @program_id AND e.org_id = @org_id AND c.org_id = @org_id
    AND e.external_customer_id = ANY (@external_ids::text[]);

-- name: ImportSalesByCharge :many
SELECT t.external_charge_id, t.id FROM sales t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_charge_id = ANY (@charges::text[])
UNION
SELECT a.alias, s.id FROM charge_aliases a JOIN sales s ON s.program_id = a.program_id
    AND s.external_charge_id = a.external_charge_id
WHERE a.program_id = @program_id AND a.org_id = @org_id AND s.org_id = @org_id AND a.alias = ANY (@charges::text[]);

-- name: ImportDuplicateSales :many
-- ImportDuplicateSales finds sales of the same customer and amount within an hour, which are the same payment under
-- another id.
SELECT v.source_id::text AS source_id, s.id
FROM (SELECT unnest(@source_ids::text[]) AS source_id, unnest(@customer_ids::text[]) AS customer_id,
    unnest(@amounts::bigint[]) AS amount, unnest(@currencies::text[]) AS currency, unnest(@ats::timestamptz[]) AS at) v
JOIN sales s ON s.customer_id = v.customer_id AND s.org_id = @org_id 
    AND v.amount IN (s.amount_minor + s.refunded_minor, s.amount_minor + s.refunded_minor - coalesce(s.tax_minor, 0))
    AND s.currency = v.currency AND s.occurred_at BETWEEN v.at - interval '1 hour' AND v.at + interval '1 hour'
WHERE NOT EXISTS (SELECT 1 FROM import_objects o WHERE o.target = s.id AND o.org_id = s.org_id)
ORDER BY abs(extract(epoch FROM s.occurred_at - v.at)), v.source_id, s.id;

-- name: ImportCustomersWithSales :many
SELECT DISTINCT s.customer_id FROM sales s WHERE s.customer_id = ANY (@customer_ids::text[]) AND s.org_id = @org_id
    AND s.is_first_sale;

-- name: ImportSalesCredited :many
-- ImportSalesCredited finds the commissions by rule of sales, and whether each is one of the source's.
SELECT k.sale_id::text AS sale_id, k.id, k.partner_id, k.status,
    EXISTS (SELECT 1 FROM import_objects o WHERE o.target = k.id AND o.org_id = k.org_id AND o.source = @source) AS imported
FROM commissions k WHERE k.sale_id = ANY (@sale_ids::text[])
    AND k.org_id = @org_id AND k.kind = 'referral';

-- name: ImportSalesOf :many
SELECT t.id, t.partner_id, t.customer_id, (t.refunded_minor + CASE WHEN t.refunded_at IS NOT NULL THEN t.amount_minor
    ELSE 0 END)::bigint AS refunded_minor
FROM sales t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: ImportExistingIDs :many
-- ImportExistingIDs returns the ids among given ones that exist, of any kind.
SELECT t.id FROM partners t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id FROM links t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id AND t.deleted_at IS NULL
UNION ALL SELECT t.id FROM coupons t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id FROM customers t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id FROM sales t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id FROM commissions t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id FROM payouts t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: ImportHolders :many
-- ImportHolders returns the partners of objects in Rail, and the customers of sales.
SELECT t.id, coalesce(t.partner_id, '')::text AS partner_id, ''::text AS customer_id FROM links t
WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id, coalesce(t.partner_id, ''), '' FROM coupons t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id, coalesce(t.partner_id, ''), '' FROM customers t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id, coalesce(t.partner_id, ''), t.customer_id FROM sales t
WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
UNION ALL SELECT t.id, t.partner_id, '' FROM commissions t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: ImportMerged :many
-- ImportMerged returns the customers that deleted customers were merged into.
SELECT m.id, m.customer_id FROM customer_merges m WHERE m.id = ANY (@ids::text[]) AND m.org_id = @org_id;

-- name: ImportRowsOfPayouts :many
-- ImportRowsOfPayouts returns the commissions that payouts of this import pay.
SELECT t.* FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 5
    AND t.outcome IN ('new', 'changed') AND (t.refs ->> 'payout') = ANY (@payout_ids::text[]) ORDER BY t.at, t.source_id;

-- name: ImportPayoutSizes :many
-- ImportPayoutSizes counts the commissions that payouts of this import pay.
SELECT (t.refs ->> 'payout')::text AS payout_id, count(*)::bigint AS commissions FROM import_rows t
WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 5 AND t.outcome IN ('new', 'changed')
    AND (t.refs ->> 'payout') = ANY (@payout_ids::text[]) GROUP BY 1;

-- name: ImportPayoutsSettled :many
-- ImportPayoutsSettled finds the paid commissions whose payout would not be positive, because deductions exceed them. They
-- are settled with one another instead of paid.
WITH bad AS MATERIALIZED (
    SELECT (r.refs ->> 'payout') AS payout_id FROM import_rows r WHERE r.import_id = @import_id AND r.org_id = @org_id
        AND r.kind = 5 AND r.outcome IN ('new', 'changed') AND (r.refs ->> 'payout') <> ''
    GROUP BY 1 HAVING sum((r.data ->> 'amount_minor')::bigint) <= 0
)
UPDATE import_rows t SET refs = (t.refs::jsonb - 'payout' || '{"settled": true}')::json
WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 5 AND t.outcome IN ('new', 'changed')
    AND (t.refs ->> 'payout') = ANY (ARRAY(SELECT b.payout_id FROM bad b))
RETURNING t.source_id;

-- name: ImportPaymentsEmpty :many
-- ImportPaymentsEmpty refuses payouts that pay no commission.
UPDATE import_rows t SET outcome = 'refused' WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = @kind
    AND t.outcome = 'new' AND NOT EXISTS (SELECT 1 FROM import_rows r WHERE r.import_id = t.import_id AND r.org_id = t.org_id
        AND r.kind = 5 AND r.outcome IN ('new', 'changed') AND (r.refs ->> 'payout') = t.target)
RETURNING t.source_id;

-- name: ImportOpen :many
-- ImportOpen compares, for each partner and currency, the unpaid money at the source with that of the objects in Rail,
-- as planned or as written. A source that lists everything (whole) owes nothing for objects that it no longer lists.
-- An object of another partner in Rail is no money of the row's partner.
SELECT x.partner_id::text AS partner_id, x.currency::text AS currency, sum(x.source)::bigint AS source_minor,
    sum(x.rail)::bigint AS rail_minor
FROM (
    SELECT coalesce(t.data ->> 'partner_id', '') AS partner_id, coalesce(t.data ->> 'currency', '') AS currency,
        (t.data ->> 'amount_minor')::bigint AS source,
        CASE t.outcome WHEN 'refused' THEN 0
            WHEN 'new' THEN (t.data ->> 'amount_minor')::bigint
            ELSE CASE WHEN k.status NOT IN ('pending', 'approved', 'due') OR k.partner_id <> t.refs ->> 'partner' THEN 0
                WHEN t.outcome = 'same' OR NOT o.created OR (o.data ->> 'amount_minor') = (t.data ->> 'amount_minor')
                    THEN k.amount_minor
                ELSE (t.data ->> 'amount_minor')::bigint END END AS rail
    FROM import_rows t LEFT JOIN commissions k ON t.outcome IN ('same', 'changed') AND k.id = t.target
        AND k.org_id = t.org_id
    LEFT JOIN import_objects o ON t.outcome = 'changed' AND o.program_id = @program_id AND o.org_id = @org_id
        AND o.source = @source AND o.kind = 5 AND o.source_id = t.source_id
    WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 5 AND (t.data ->> 'status') IN ('pending', 'due')
        AND (t.data ->> 'amount_minor')::bigint BETWEEN -99999999999999 AND 99999999999999
    UNION ALL
    SELECT o.data ->> 'partner_id', o.data ->> 'currency', CASE WHEN @whole::boolean THEN 0 ELSE k.amount_minor END,
        k.amount_minor
    FROM import_objects o JOIN commissions k ON k.id = o.target AND k.org_id = o.org_id
    WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.source = @source AND o.kind = 5
        AND k.status IN ('pending', 'approved', 'due') AND NOT EXISTS (SELECT 1 FROM import_rows t
            WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 5 AND t.source_id = o.source_id
                AND coalesce(t.refs ->> 'partner', k.partner_id) = k.partner_id)
) x GROUP BY 1, 2 ORDER BY 1, 2;

-- name: ImportMissingCommissions :many
-- ImportMissingCommissions returns unpaid commissions of earlier imports that this one does not list.
SELECT o.source_id, k.id, k.status FROM import_objects o JOIN commissions k ON k.id = o.target AND k.org_id = o.org_id
WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.source = @source AND o.kind = 5 AND o.created
    AND k.status IN ('pending', 'approved', 'due') AND NOT EXISTS (SELECT 1 FROM import_rows t
        WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 5 AND t.source_id = o.source_id)
ORDER BY o.source_id LIMIT @lim;

-- name: ImportUnpaidSums :many
-- ImportUnpaidSums sums the unpaid imported commissions in Rail by the source's partner and currency.
SELECT (o.data ->> 'partner_id')::text AS partner_id, k.currency, sum(k.amount_minor)::bigint AS rail_minor
FROM import_objects o JOIN commissions k ON k.id = o.target AND k.org_id = o.org_id
WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.source = @source AND o.kind = 5
    AND k.status IN ('pending', 'approved', 'due')
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: ImportPaidSums :many
-- ImportPaidSums compares the payouts that the source lists with its paid commissions.
SELECT x.partner_id::text AS partner_id, x.currency::text AS currency, sum(x.listed)::bigint AS listed_minor,
    sum(x.paid)::bigint AS paid_minor
FROM (
    SELECT t.data ->> 'partner_id' AS partner_id, t.data ->> 'currency' AS currency,
        CASE WHEN t.kind = 6 AND (t.data ->> 'status') = 'paid' THEN (t.data ->> 'amount_minor')::bigint ELSE 0 END AS listed,
        CASE WHEN t.kind = 5 AND (t.data ->> 'status') = 'paid' THEN (t.data ->> 'amount_minor')::bigint ELSE 0 END AS paid
    FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind IN (5, 6)
        AND (t.data ->> 'partner_id') IS NOT NULL AND (t.data ->> 'currency') IS NOT NULL
        AND (t.data ->> 'amount_minor')::bigint BETWEEN -99999999999999 AND 99999999999999
) x GROUP BY 1, 2 HAVING sum(x.listed) <> sum(x.paid) AND sum(x.listed) <> 0 ORDER BY 1, 2;

-- name: ImportGroups :many
-- ImportGroups returns the groups of the source: their partners, the group of Rail with that name, and the rate in
-- hundredths of a percent that most of their commissions have.
WITH rates AS MATERIALIZED (
    SELECT q.data ->> 'group' AS name, mode() WITHIN GROUP (ORDER BY round(10000.0 * (k.data ->> 'amount_minor')::bigint
        / (s.data ->> 'amount_minor')::bigint)) AS rate
    FROM import_rows q JOIN import_rows k ON k.import_id = q.import_id AND k.kind = 5
        AND (k.data ->> 'partner_id') = q.source_id AND (k.data ->> 'amount_minor')::bigint > 0
    JOIN import_rows s ON s.import_id = q.import_id AND s.kind = 4 AND s.source_id = (k.data ->> 'sale_id')
        AND (s.data ->> 'amount_minor')::bigint > 0 AND coalesce((s.data ->> 'refunded_minor')::bigint, 0) = 0
    WHERE q.import_id = @import_id AND q.org_id = @org_id AND q.kind = 0 AND (q.data ->> 'group') <> '' GROUP BY 1
)
SELECT p.name::text AS name, p.partners::bigint AS partners,
    coalesce((SELECT g.id FROM groups g WHERE g.program_id = @program_id AND g.org_id = @org_id
        AND lower(g.name) = lower(p.name)), '')::text AS group_id,
    coalesce((SELECT least(r.rate, 1000000) FROM rates r WHERE r.name = p.name), 0)::bigint AS rate
FROM (SELECT t.data ->> 'group' AS name, count(*) AS partners FROM import_rows t
    WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 0 AND (t.data ->> 'group') <> '' GROUP BY 1) p
ORDER BY 2 DESC, 1 LIMIT 100;

-- name: ImportParams :many
-- ImportParams returns the query parameters of the import's links, the most frequent first.
SELECT (t.data ->> 'param')::text AS param FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id
    AND t.kind = 1 AND t.outcome = 'new' AND (t.data ->> 'param') <> '' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 20;

-- name: ImportLinkSample :many
-- ImportLinkSample returns links that done imports wrote into a program, with their partners: always the same ones.
SELECT sqlc.embed(l), p.email AS partner_email, p.status AS partner_status
FROM import_objects o JOIN imports i ON i.id = o.import_id AND i.org_id = o.org_id
JOIN links l ON l.id = o.target AND l.org_id = o.org_id JOIN partners p ON p.id = l.partner_id AND p.org_id = o.org_id
WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.kind = 1 AND o.created AND i.status = 'done'
    AND l.deleted_at IS NULL
ORDER BY md5(o.source_id), o.source_id LIMIT @lim;

-- name: ProgramsWithImports :many
-- ProgramsWithImports returns the programs of all organizations with a done import.
SELECT DISTINCT i.org_id, i.program_id FROM imports i WHERE i.status = 'done' ORDER BY i.program_id;

-- name: ProgramSetParams :exec
UPDATE programs SET url_params = @url_params, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: SaleMarkCredited :exec
UPDATE sales SET activity_outcome = 'commission_created' WHERE id = @id AND org_id = @org_id;

-- name: CommissionImportPaid :exec
UPDATE commissions SET status = 'paid', payout_id = @payout_id, updated_at = @updated_at,
    approved_at = coalesce(approved_at, @updated_at), mature_at = least(mature_at, @updated_at), approve_at = NULL
WHERE id = @id AND org_id = @org_id AND status = @previous AND payout_id IS NULL;

-- name: CommissionImportDue :exec
UPDATE commissions SET status = 'due', updated_at = @now, approved_at = coalesce(approved_at, @now),
    mature_at = least(mature_at, @now), approve_at = NULL
WHERE id = @id AND org_id = @org_id AND status = @previous;

-- name: CustomerSetImportPartner :exec
-- CustomerSetImportPartner sets the partner of a customer without one, and clears the customer's other routes.
UPDATE customers SET partner_id = @partner_id, other_routes = NULL, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND partner_id IS NULL;

-- name: BatchOfImport :one
-- BatchOfImport returns the batch of an import's payouts of a month, and creates it if it is missing.
INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at, import_id)
VALUES (@id, @org_id, @program_id, @period_month, @period_end, @now, @now, @import_id)
ON CONFLICT (program_id, import_id, period_month) WHERE import_id IS NOT NULL DO UPDATE SET updated_at = excluded.updated_at
RETURNING id;

-- name: PayoutImport :exec
INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, method, period_month,
    period_end, due_at, paid_at, created_at, updated_at, due_told, import_id)
VALUES (@id, @org_id, @program_id, @partner_id, @batch_id, @amount_minor, @currency, 'paid', @method, @period_month,
    @period_end, @paid_at, @paid_at, @paid_at, @paid_at, true, @import_id);

-- name: ImportUndoNext :many
-- ImportUndoNext returns the objects of a kind that an import wrote, after a position.
SELECT o.* FROM import_objects o WHERE o.import_id = @import_id AND o.org_id = @org_id AND o.kind = @kind
    AND o.source_id > @after_id
ORDER BY o.source_id LIMIT @lim;

-- name: ImportObjectsDelete :exec
DELETE FROM import_objects o WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.source = @source
    AND o.kind = @kind AND o.source_id = ANY (@source_ids::text[]);

-- name: ImportUndoCommissions :many
-- ImportUndoCommissions locks the commissions outside of payouts that nothing has touched: neither a clawback nor a
-- person's decision.
SELECT k.* FROM commissions k JOIN import_objects o ON o.target = k.id AND o.org_id = k.org_id
    AND o.program_id = k.program_id AND o.kind = 5 AND o.created AND o.import_id = ANY (@import_ids::text[])
WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id AND k.clawed_minor = 0 AND k.shrunk_minor = 0
    AND k.payout_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM audit_facts a WHERE a.target_id = k.id AND a.program_id = k.program_id
        AND a.created_at > o.written_at)
ORDER BY k.id FOR NO KEY UPDATE OF k;

-- name: ImportUndoPayouts :many
-- ImportUndoPayouts locks the commissions of imported payouts, and reports which of them nothing has touched.
SELECT sqlc.embed(k), EXISTS (SELECT 1 FROM import_objects o WHERE o.target = k.id AND o.org_id = k.org_id
        AND o.program_id = k.program_id AND o.kind = 5 AND o.created AND o.import_id = ANY (@import_ids::text[])
        AND k.clawed_minor = 0 AND k.shrunk_minor = 0
        AND NOT EXISTS (SELECT 1 FROM audit_facts a WHERE a.target_id = k.id AND a.program_id = k.program_id
            AND a.created_at > o.written_at)) AS untouched
FROM commissions k WHERE k.payout_id = ANY (@payout_ids::text[]) AND k.org_id = @org_id
ORDER BY k.id FOR NO KEY UPDATE OF k;

-- name: ImportPaidSizes :many
-- ImportPaidSizes counts the commissions of payouts.
SELECT k.payout_id::text AS payout_id, count(*)::bigint AS commissions FROM commissions k
WHERE k.payout_id = ANY (@payout_ids::text[]) AND k.org_id = @org_id GROUP BY 1;

-- name: ImportLockPayees :many
-- ImportLockPayees locks the partners of payouts against new rows that refer to them.
SELECT p.id FROM partners p WHERE p.org_id = @org_id
    AND p.id IN (SELECT y.partner_id FROM payouts y WHERE y.id = ANY (@payout_ids::text[]) AND y.org_id = @org_id)
ORDER BY p.id FOR UPDATE;

-- name: ImportDeleteCommissions :many
DELETE FROM commissions k WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id RETURNING k.sale_id, k.kind;

-- name: SalesMarkUncredited :exec
UPDATE sales SET activity_outcome = 'sale_recorded' WHERE id = ANY (@ids::text[]) AND org_id = @org_id;

-- name: ImportDeletePayouts :many
DELETE FROM payouts p WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id
    AND NOT EXISTS (SELECT 1 FROM commissions k WHERE k.payout_id = p.id) RETURNING p.id;

-- name: ImportDeleteBatches :exec
DELETE FROM payout_batches b WHERE b.program_id = @program_id AND b.org_id = @org_id
    AND b.import_id = ANY (@import_ids::text[]) AND NOT EXISTS (SELECT 1 FROM payouts p WHERE p.batch_id = b.id);

-- name: ImportDeleteRefunds :exec
-- ImportDeleteRefunds deletes the imported refunds of sales that are about to be deleted.
DELETE FROM refunds r WHERE r.sale_id = ANY (@sale_ids::text[]) AND r.org_id = @org_id
    AND r.external_refund_id IS NULL AND r.effects::text = '[]';

-- name: ImportUndoSales :many
SELECT s.id, s.occurred_at FROM sales s WHERE s.id = ANY (@ids::text[]) AND s.org_id = @org_id
    AND NOT EXISTS (SELECT 1 FROM commissions k WHERE k.sale_id = s.id)
    AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.sale_id = s.id
        AND (r.external_refund_id IS NOT NULL OR r.effects::text <> '[]'))
    AND NOT EXISTS (SELECT 1 FROM charge_aliases a WHERE a.program_id = s.program_id AND a.org_id = s.org_id
        AND a.external_charge_id = s.external_charge_id)
ORDER BY s.id FOR UPDATE;

-- name: ImportDeleteSales :exec
DELETE FROM sales s WHERE s.id = ANY (@ids::text[]) AND s.org_id = @org_id;

-- name: ImportDeleteCustomers :many
DELETE FROM customers c WHERE c.id = ANY (@ids::text[]) AND c.org_id = @org_id
    AND NOT EXISTS (SELECT 1 FROM sales s WHERE s.customer_id = c.id)
    AND NOT EXISTS (SELECT 1 FROM commissions k WHERE k.customer_id = c.id AND k.program_id = c.program_id)
    AND NOT EXISTS (SELECT 1 FROM customer_merges m WHERE m.customer_id = c.id)
    AND EXISTS (SELECT 1 FROM import_objects o WHERE o.target = c.id AND o.org_id = c.org_id AND o.written_at >= c.updated_at)
RETURNING c.id, c.lead_at, c.converted_at;

-- name: ImportDeleteCoupons :many
DELETE FROM coupons c WHERE c.id = ANY (@ids::text[]) AND c.org_id = @org_id
    AND NOT EXISTS (SELECT 1 FROM customers k WHERE k.coupon_id = c.id)
    AND EXISTS (SELECT 1 FROM import_objects o WHERE o.target = c.id AND o.org_id = c.org_id AND o.written_at >= c.updated_at)
RETURNING c.id;

-- name: ImportDeleteLinks :many
DELETE FROM links l WHERE l.id = ANY (@ids::text[]) AND l.org_id = @org_id
    AND NOT EXISTS (SELECT 1 FROM clicks k WHERE k.link_id = l.id)
    AND NOT EXISTS (SELECT 1 FROM customers c WHERE c.link_id = l.id AND c.program_id = l.program_id
        AND c.partner_id = l.partner_id)
    AND EXISTS (SELECT 1 FROM import_objects o WHERE o.target = l.id AND o.org_id = l.org_id AND o.written_at >= l.updated_at)
RETURNING l.id;

-- name: ImportDeleteValues :exec
DELETE FROM tracking_values t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.link_id = ANY (@link_ids::text[]);

-- name: ImportDeletePartners :many
DELETE FROM partners p WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id
    AND NOT EXISTS (SELECT 1 FROM customers c WHERE c.program_id = p.program_id AND c.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM sales s WHERE s.program_id = p.program_id AND s.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = p.program_id AND k.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM payouts y WHERE y.program_id = p.program_id AND y.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM coupons u WHERE u.program_id = p.program_id AND u.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM links l WHERE l.program_id = p.program_id AND l.partner_id = p.id AND l.deleted_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM clicks k WHERE k.program_id = p.program_id AND k.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM portal_sessions o WHERE o.program_id = p.program_id AND o.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM partner_notes n WHERE n.program_id = p.program_id AND n.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM partner_tags g WHERE g.partner_id = p.id)
    AND NOT EXISTS (SELECT 1 FROM applications a WHERE a.program_id = p.program_id AND a.partner_id = p.id
        AND (a.source <> 'import' OR a.reviewed_at IS NOT NULL))
    AND NOT EXISTS (SELECT 1 FROM tax_form_statuses x WHERE x.program_id = p.program_id AND x.partner_id = p.id
        AND x.status = 'submitted')
    AND NOT EXISTS (SELECT 1 FROM flows f WHERE f.program_id = p.program_id AND f.partner_id = p.id)
    AND EXISTS (SELECT 1 FROM import_objects o WHERE o.target = p.id AND o.org_id = p.org_id AND o.written_at >= p.updated_at)
RETURNING p.id;

-- name: ImportKeys :many
-- ImportKeys returns the owners of keys.
SELECT t.key, t.source_id FROM import_keys t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = @kind
    AND t.key = ANY (@keys::text[]);

-- name: ImportPaymentsPut :many
-- ImportPaymentsPut stores payouts to make, unless they are there, and returns all asked for.
WITH asked AS (
    SELECT unnest(@source_ids::text[]) AS source_id, unnest(@ats::timestamptz[]) AS at, unnest(@data::text[]) AS data,
        unnest(@targets::text[]) AS target, unnest(@refs::text[]) AS refs
), put AS (
    INSERT INTO import_rows (import_id, org_id, program_id, kind, source_id, at, data, outcome, target, refs)
    SELECT @import_id, @org_id, @program_id, @kind, a.source_id, a.at, a.data::json, 'new', a.target, a.refs::json
    FROM asked a ON CONFLICT (import_id, kind, source_id) DO NOTHING RETURNING source_id, target
)
SELECT a.source_id::text AS source_id, coalesce(p.target, t.target)::text AS target, (p.source_id IS NOT NULL)::boolean AS is_new
FROM asked a LEFT JOIN put p ON p.source_id = a.source_id
LEFT JOIN import_rows t ON t.import_id = @import_id AND t.org_id = @org_id AND t.kind = @kind AND t.source_id = a.source_id;

-- name: ImportBalanceDifferences :many
-- ImportBalanceDifferences returns the partners whose unpaid money, as the source states it, is not the sum of their commissions.
SELECT p.source_id AS partner_id, o.key::text AS currency, o.value::bigint AS stated_minor,
    coalesce(k.sum, 0)::bigint AS commissions_minor
FROM import_rows p CROSS JOIN LATERAL json_each_text(p.data -> 'open') o
LEFT JOIN (
    SELECT t.data ->> 'partner_id' AS partner_id, t.data ->> 'currency' AS currency, sum((t.data ->> 'amount_minor')::bigint) AS sum
    FROM import_rows t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.kind = 5
        AND (t.data ->> 'status') IN ('pending', 'due')
        AND (t.data ->> 'amount_minor')::bigint BETWEEN -99999999999999 AND 99999999999999 GROUP BY 1, 2
) k ON k.partner_id = p.source_id AND k.currency = o.key
WHERE p.import_id = @import_id AND p.org_id = @org_id AND p.kind = 0 AND json_typeof(p.data -> 'open') = 'object'
    AND o.value::bigint <> coalesce(k.sum, 0)
ORDER BY 1, 2;

-- name: ImportKeysDelete :exec
DELETE FROM import_keys t WHERE t.import_id = @import_id AND t.org_id = @org_id;

-- name: PartnerImportChange :exec
-- PartnerImportChange writes what changed at the source of an imported partner.
UPDATE partners SET first_name = @first_name, last_name = @last_name, company_name = @company_name,
    website_url = @website_url, country_code = @country_code, status = @status, updated_at = @updated_at,
    suspension_reason = CASE WHEN @status = 'suspended' THEN suspension_reason END
WHERE id = @id AND org_id = @org_id;

-- name: ApplicationImportDecide :exec
-- ApplicationImportDecide closes the application of an imported partner that the source has approved or declined.
UPDATE applications SET status = CASE @status::text WHEN 'declined' THEN 'rejected' ELSE 'approved' END, updated_at = @updated_at
WHERE program_id = @program_id AND partner_id = @partner_id AND org_id = @org_id AND status = 'pending' AND source = 'import';

-- name: CouponImportChange :exec
UPDATE coupons SET active = @active, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: CustomerImportChange :exec
-- CustomerImportChange writes the changes at the source of an imported customer. A status that Rail has set, such as
-- suspended or refunded, is not changed.
UPDATE customers SET email = coalesce(@email, email), name = coalesce(@name, name),
    status = CASE WHEN status IN ('lead', 'trial') OR status = 'active' AND @status = 'cancelled' THEN @status
        ELSE status END,
    converted_at = coalesce(converted_at, @converted_at), updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: ImportParamsUsed :many
SELECT DISTINCT t.param FROM links t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.deleted_at IS NULL;

-- name: ImportSaveFailure :exec
-- ImportSaveFailure stores a failure. The key of an import that has failed is deleted.
UPDATE imports SET status = @status, error = @error, attempts = @attempts, busy_until = @busy_until,
    finished_at = @finished_at, updated_at = @updated_at,
    api_key = CASE WHEN @status = 'failed' THEN NULL ELSE api_key END
WHERE id = @id AND org_id = @org_id;

-- name: ImportReader :one
-- ImportReader returns the address of the person who started an import, else of the organization's owner.
SELECT coalesce((SELECT u.email FROM users u WHERE u.org_id = @org_id AND u.id = sqlc.narg('user_id') AND u.disabled_at IS NULL),
    o.owner_email, '')::text AS email
FROM organizations o WHERE o.id = @org_id;

-- name: ImportLockPartners :many
-- ImportLockPartners locks the partners of commissions against new rows that refer to them.
SELECT p.id FROM partners p WHERE p.org_id = @org_id
    AND p.id IN (SELECT k.partner_id FROM commissions k WHERE k.id = ANY (@commission_ids::text[]) AND k.org_id = @org_id)
ORDER BY p.id FOR UPDATE;

-- name: ImportDeleteBalances :exec
-- ImportDeleteBalances deletes the balances of partners without a commission in their currency.
DELETE FROM balances b WHERE b.program_id = @program_id AND b.org_id = @org_id AND b.partner_id = ANY (@partner_ids::text[])
    AND NOT EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = b.program_id AND k.partner_id = b.partner_id
        AND k.currency = b.currency);

-- name: ImportAcrossOrgs :one
-- ImportAcrossOrgs finds an import of any organization.
SELECT t.* FROM imports t WHERE t.id = @id;

-- name: ImportProblemsAfter :many
SELECT t.* FROM import_problems t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.id > @after
ORDER BY t.id LIMIT @lim;

-- name: ImportLockCustomers :many
-- ImportLockCustomers locks the customers of sales, as every sale does.
SELECT c.id FROM customers c WHERE c.org_id = @org_id
    AND c.id IN (SELECT s.customer_id FROM sales s WHERE s.id = ANY (@sale_ids::text[]) AND s.org_id = @org_id)
ORDER BY c.id FOR NO KEY UPDATE;

-- name: ImportFirstSales :exec
-- ImportFirstSales makes the earliest sale of each customer the first one, if none is.
UPDATE sales t SET is_first_sale = true
FROM (SELECT DISTINCT ON (s.customer_id) s.id FROM sales s WHERE s.customer_id = ANY (@customer_ids::text[])
        AND s.org_id = @org_id AND NOT EXISTS (SELECT 1 FROM sales f WHERE f.customer_id = s.customer_id AND f.is_first_sale)
    ORDER BY s.customer_id, s.occurred_at, s.id) v
WHERE t.id = v.id AND t.org_id = @org_id;

-- name: ImportFilePut :exec
INSERT INTO import_files (import_id, org_id, program_id, file, part, name, kind, content)
VALUES (@import_id, @org_id, @program_id, @file, @part, @name, @kind, @content);

-- name: ImportFiles :many
-- ImportFiles lists the uploaded files of an import, with their sizes.
SELECT t.file, t.name, t.kind, t.mapping, (SELECT sum(length(p.content)) FROM import_files p
    WHERE p.import_id = t.import_id AND p.org_id = t.org_id AND p.file = t.file)::bigint AS size
FROM import_files t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.part = 0 ORDER BY t.file;

-- name: ImportFilePart :one
SELECT t.content FROM import_files t WHERE t.import_id = @import_id AND t.org_id = @org_id AND t.file = @file
    AND t.part = @part;

-- name: ImportFileAssign :execrows
UPDATE import_files SET kind = @kind, mapping = @mapping WHERE import_id = @import_id AND org_id = @org_id
    AND file = @file AND part = 0;

-- name: ImportTouch :exec
UPDATE imports SET updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: ImportFilesDelete :exec
DELETE FROM import_files t WHERE t.import_id = @import_id AND t.org_id = @org_id;

-- name: ImportUndoExclusions :many
-- ImportUndoExclusions counts the objects that an undo does not delete because something else uses them, up to a limit
-- for each reason: links with visits, customers who paid since, and commissions that Rail paid out or that a refund changed.
SELECT 'links'::text AS kind, count(*)::bigint AS n FROM (SELECT 1 FROM import_objects o WHERE o.program_id = @program_id
    AND o.org_id = @org_id AND o.import_id = ANY (@import_ids::text[]) AND o.kind = 1 AND o.created
    AND EXISTS (SELECT 1 FROM clicks k WHERE k.link_id = o.target) LIMIT @lim) l
UNION ALL
SELECT 'customers', count(*) FROM (SELECT 1 FROM import_objects o WHERE o.program_id = @program_id
    AND o.org_id = @org_id AND o.import_id = ANY (@import_ids::text[]) AND o.kind = 3 AND o.created
    AND EXISTS (SELECT 1 FROM sales s WHERE s.customer_id = o.target AND s.org_id = o.org_id
        AND NOT EXISTS (SELECT 1 FROM import_objects w WHERE w.target = s.id AND w.created)) LIMIT @lim) c
UNION ALL
SELECT 'commissions', count(*) FROM (SELECT 1 FROM import_objects o JOIN commissions k ON k.id = o.target AND k.org_id = o.org_id
    LEFT JOIN payouts p ON p.id = k.payout_id AND p.org_id = k.org_id
    WHERE o.program_id = @program_id AND o.org_id = @org_id AND o.import_id = ANY (@import_ids::text[]) AND o.kind = 5
    AND o.created AND (k.clawed_minor <> 0 OR k.shrunk_minor <> 0 OR p.id IS NOT NULL AND p.import_id IS NULL) LIMIT @lim) k
UNION ALL
SELECT 'partners', count(*) FROM (SELECT 1 FROM import_objects o WHERE o.program_id = @program_id
    AND o.org_id = @org_id AND o.import_id = ANY (@import_ids::text[]) AND o.kind = 0 AND o.created
    AND EXISTS (SELECT 1 FROM portal_sessions s WHERE s.partner_id = o.target AND s.program_id = o.program_id) LIMIT @lim) p;

-- name: ImportAliases :many
-- ImportAliases finds objects by keys that rows of this import claimed, else partners of Rail by their email and customers
-- by an external id.
SELECT k.key, r.target::text AS target FROM import_keys k JOIN import_rows r ON r.import_id = k.import_id
    AND r.org_id = k.org_id AND r.kind = @kind AND r.source_id = k.source_id
WHERE k.import_id = @import_id AND k.org_id = @org_id AND k.kind = ANY (@key_kinds::text[]) AND k.key = ANY (@keys::text[])
    AND r.target IS NOT NULL
UNION ALL
SELECT lower(p.email), p.id FROM partners p WHERE @kind::smallint = 0 AND p.program_id = @program_id AND p.org_id = @org_id
    AND lower(p.email) = ANY (@keys::text[])
UNION ALL
SELECT e.external_customer_id, e.customer_id FROM customer_external_ids e WHERE @kind::smallint = 3
    AND e.program_id = @program_id AND e.org_id = @org_id AND e.external_customer_id = ANY (@keys::text[]);


-- name: ImportsVersion :one
-- ImportsVersion changes with each import of the program that wrote or removed something.
SELECT coalesce(sum(CASE t.status WHEN 'undone' THEN 2 ELSE 1 END), 0)::bigint AS n FROM imports t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.status IN ('done', 'undone', 'failed');

-- name: ImportClawbacks :many
-- ImportClawbacks returns the clawbacks that Rail made for sales.
SELECT k.sale_id::text AS sale_id, k.id, k.partner_id, k.amount_minor, k.status FROM commissions k
WHERE k.sale_id = ANY (@sale_ids::text[]) AND k.org_id = @org_id AND k.kind = 'clawback'
    AND NOT EXISTS (SELECT 1 FROM import_objects o WHERE o.target = k.id AND o.org_id = k.org_id)
ORDER BY k.created_at, k.id;

-- name: ImportLockRemoved :exec
-- ImportLockRemoved locks customers and partners against new rows that refer to them, before they are removed.
SELECT (SELECT count(*) FROM (SELECT 1 FROM customers c WHERE c.id = ANY (@ids::text[]) AND c.org_id = @org_id
        ORDER BY c.id FOR UPDATE) x)
    + (SELECT count(*) FROM (SELECT 1 FROM partners p WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id
        ORDER BY p.id FOR UPDATE) y);

-- name: ImportRowsPurge :execrows
-- ImportRowsPurge deletes the rows of reports that were never written.
DELETE FROM import_rows t WHERE (t.import_id, t.kind, t.source_id) IN (SELECT r.import_id, r.kind, r.source_id
    FROM import_rows r JOIN imports i ON i.id = r.import_id WHERE i.status IN ('ready', 'failed', 'undone')
    AND i.updated_at < @before LIMIT @lim);

-- name: ImportKeysPurge :execrows
-- ImportKeysPurge deletes the keys of the same reports.
DELETE FROM import_keys t WHERE (t.import_id, t.kind, t.key) IN (SELECT k.import_id, k.kind, k.key
    FROM import_keys k JOIN imports i ON i.id = k.import_id WHERE i.status IN ('ready', 'failed', 'undone')
    AND i.updated_at < @before LIMIT @lim);

-- name: RefundSetExternalID :many
-- RefundSetExternalID gives an imported refund of a sale and an amount the processor's id.
UPDATE refunds SET external_refund_id = @external_refund_id, level_minor = @level_minor, updated_at = @now
WHERE id = (SELECT r.id FROM refunds r WHERE r.sale_id = @sale_id AND r.org_id = @org_id AND r.external_refund_id IS NULL
        AND r.reason = @reason AND r.amount_minor = @amount_minor AND r.updated_at >= @at ORDER BY r.created_at, r.id LIMIT 1)
    AND org_id = @org_id
RETURNING *;

-- name: RefundImportedDelete :execrows
-- RefundImportedDelete deletes the imported refund that a waiting refund of the same amount replaces.
DELETE FROM refunds WHERE id = (SELECT r.id FROM refunds r WHERE r.sale_id = @sale_id AND r.org_id = @org_id
        AND r.external_refund_id IS NULL AND r.reason = @reason AND r.amount_minor = @amount_minor AND r.restored_minor = 0
        AND r.updated_at >= @at ORDER BY r.created_at, r.id LIMIT 1)
    AND org_id = @org_id;

-- name: ImportSalesRefunded :many
-- ImportSalesRefunded returns sales that imports of a source created without a refund, and for which refunds wait.
SELECT t.* FROM sales t WHERE t.org_id = @org_id AND t.refunded_minor = 0 AND t.refunded_at IS NULL
    AND t.id IN (SELECT s.id FROM refunds r JOIN sales s ON s.program_id = r.program_id AND s.org_id = r.org_id
            AND s.external_charge_id = r.external_charge_id
        JOIN import_objects o ON o.target = s.id AND o.org_id = s.org_id AND o.kind = 4 AND o.created
        WHERE r.program_id = @program_id AND r.org_id = @org_id AND r.status = 'waiting'
            AND o.program_id = @program_id AND o.source = @source)
ORDER BY t.id LIMIT @lim;

-- name: ImportWake :exec
-- ImportWake makes the events due that wait for an object of imports of a source: an import may also complete a failed
-- one, or add ids to the customers of an earlier one. The keys are those of server/work/waiting.go.
WITH imported AS MATERIALIZED (
    SELECT o.kind, o.target FROM import_objects o
    WHERE o.program_id = @program_id AND o.source = @source AND o.org_id = @org_id
), keys AS (
    SELECT 'customer ' || x.external_customer_id AS key FROM imported i
    JOIN customer_external_ids x ON x.customer_id = i.target AND x.org_id = @org_id WHERE i.kind = 3
    UNION ALL SELECT k.key FROM imported i JOIN customers c ON c.id = i.target AND c.org_id = @org_id,
        LATERAL (VALUES ('identifier ' || c.identifier), ('email ' || lower(c.email))) k(key) WHERE i.kind = 3
    UNION ALL SELECT 'coupon ' || c.external_id FROM imported i
    JOIN coupons c ON c.id = i.target AND c.org_id = @org_id WHERE i.kind = 2
    UNION ALL SELECT 'charge ' || s.external_charge_id FROM imported i
    JOIN sales s ON s.id = i.target AND s.org_id = @org_id WHERE i.kind = 4
)
UPDATE inbox_events e SET due_at = @now::timestamptz
WHERE e.org_id = @org_id AND e.created_at > @since AND (e.due_at IS NULL OR e.due_at > @now)
    AND e.id IN (SELECT w.event_id FROM inbox_waits w JOIN keys k ON k.key = w.key
        WHERE w.program_id = @program_id AND w.org_id = @org_id);

-- name: ImportedDuplicateSale :many
-- ImportedDuplicateSale finds the imported sale that is the same payment under another id: of the customer and amount, within an
-- hour, and not known under a second id.
SELECT t.* FROM sales t WHERE t.org_id = @org_id AND t.id = (SELECT s.id FROM sales s
    JOIN import_objects o ON o.target = s.id AND o.org_id = s.org_id AND o.kind = 4 AND o.created
    WHERE s.customer_id = @customer_id AND s.org_id = @org_id AND s.program_id = @program_id AND s.currency = @currency
        AND @amount_minor::bigint IN (s.amount_minor + s.refunded_minor,
            s.amount_minor + s.refunded_minor + coalesce(s.tax_minor, 0))
        AND s.occurred_at BETWEEN @first_at AND @last_at
        AND NOT EXISTS (SELECT 1 FROM charge_aliases a WHERE a.program_id = s.program_id
            AND a.external_charge_id = s.external_charge_id)
    ORDER BY s.occurred_at, s.id LIMIT 1);
