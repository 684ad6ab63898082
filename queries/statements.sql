-- Statements of paid payouts.

-- name: StatementNumbersTake :one
-- StatementNumbersTake takes the next numbers of a year and returns the last of them. It locks the counter until the
-- transaction ends, so it comes after all other locks.
INSERT INTO statement_counters (org_id, series, year, last) VALUES (@org_id, @series, @year, @statements)
ON CONFLICT (org_id, series, year) DO UPDATE SET last = statement_counters.last + excluded.last
RETURNING last;

-- name: StatementsInsert :exec
INSERT INTO statements (id, org_id, program_id, partner_id, payout_id, series, year, month, sequence, number, position,
    issued_at, document, signature, key_id, hash, previous_hash, corrects)
SELECT unnest(@ids::text[]), @org_id, @program_id, unnest(@partner_ids::text[]), unnest(@payout_ids::text[]), @series,
    @year, @month, unnest(@sequences::bigint[]), unnest(@numbers::text[]), unnest(@positions::bigint[]), @issued_at,
    unnest(@documents::bytea[]), unnest(@signatures::text[]), @key_id, unnest(@hashes::text[]),
    nullif(unnest(@previous_hashes::text[]), ''), nullif(unnest(@corrects::text[]), '');

-- name: StatementLines :many
-- StatementLines reads the lines of payouts from their commissions, in the order of their ids. Everything in a line
-- is final once the payout is paid. A manual commission, or one without a sale, counts from its creation.
SELECT k.payout_id, k.id, k.kind, k.sale_id, (CASE WHEN k.kind = 'referral' THEN coalesce(s.occurred_at, k.created_at)
    ELSE k.created_at END)::timestamptz AS occurred_at, s.external_charge_id, k.amount_minor, k.currency
FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id AND s.org_id = k.org_id
WHERE k.payout_id = ANY (@payout_ids::text[]) AND k.org_id = @org_id ORDER BY k.payout_id, k.id;

-- name: StatementLatest :many
-- StatementLatest returns the last statement of each partner.
SELECT DISTINCT ON (t.partner_id) t.partner_id, t.position, t.hash, t.issued_at FROM statements t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = ANY (@partner_ids::text[])
ORDER BY t.partner_id, t.position DESC;

-- name: StatementsUndone :many
-- StatementsUndone lists the statements of partners that a new one has to correct: their payment was undone, and no
-- other statement corrects them. A payout of payout_ids is being paid again, so its statement was undone too.
SELECT t.partner_id, t.payout_id, t.number FROM statements t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = ANY (@partner_ids::text[])
    AND (t.payout_id = ANY (@payout_ids::text[])
        OR NOT EXISTS (SELECT 1 FROM payouts p WHERE p.id = t.payout_id AND p.org_id = @org_id AND p.status = 'paid')
        OR EXISTS (SELECT 1 FROM statements o WHERE o.payout_id = t.payout_id AND o.org_id = @org_id
            AND o.position > t.position))
    AND NOT EXISTS (SELECT 1 FROM statements c WHERE c.program_id = @program_id AND c.org_id = @org_id
        AND c.partner_id = t.partner_id AND c.corrects = t.number)
ORDER BY t.partner_id, t.position;

-- name: StatementNumbers :many
-- StatementNumbers returns the numbers of the statements of paid payouts.
SELECT DISTINCT ON (t.payout_id) t.payout_id, t.number FROM statements t
    JOIN payouts p ON p.id = t.payout_id AND p.org_id = @org_id AND p.status = 'paid'
WHERE t.payout_id = ANY (@payout_ids::text[]) AND t.org_id = @org_id ORDER BY t.payout_id, t.position DESC;

-- name: StatementsOfPayout :many
-- StatementsOfPayout lists the statements of a payout, the last one first. undone is whether the payment was undone
-- since, corrected_by the number of the statement that corrects it, or "". The payouts of a deleted partner are gone,
-- but were paid.
SELECT sqlc.embed(t), (EXISTS (SELECT 1 FROM statements o WHERE o.payout_id = t.payout_id AND o.org_id = @org_id
        AND o.position > t.position)
    OR EXISTS (SELECT 1 FROM partners r WHERE r.id = t.partner_id AND r.org_id = @org_id)
        AND NOT EXISTS (SELECT 1 FROM payouts p WHERE p.id = t.payout_id AND p.org_id = @org_id AND p.status = 'paid'))
    ::boolean AS undone,
    coalesce((SELECT c.number FROM statements c WHERE c.program_id = t.program_id AND c.org_id = @org_id
        AND c.partner_id = t.partner_id AND c.corrects = t.number LIMIT 1), '')::text AS corrected_by
FROM statements t WHERE t.payout_id = @payout_id AND t.org_id = @org_id ORDER BY t.position DESC;

-- name: SampleStatementCounters :exec
-- SampleStatementCounters removes the counters of a sample program.
DELETE FROM statement_counters WHERE series = @program_id AND org_id = @org_id;

-- name: StatementProgram :one
-- StatementProgram finds the organization of a program whose months are published.
SELECT t.id, t.org_id FROM programs t WHERE t.id = @id;

-- name: StatementMonths :many
-- StatementMonths returns each month of a program before a month: the number of its statements, and their root as
-- proof.Root has it.
SELECT t.month, count(*) AS statements,
    encode(sha256(convert_to(string_agg(t.hash || E'\n', '' ORDER BY t.sequence), 'UTF8')), 'hex') AS root
FROM statements t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.month < @before
GROUP BY t.month ORDER BY t.month;

-- name: StatementHashes :many
-- StatementHashes lists the hashes of a program's statements of a month in the order of their numbers.
SELECT t.sequence, t.hash FROM statements t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.month = @month AND t.sequence > @after
ORDER BY t.sequence LIMIT @lim;
