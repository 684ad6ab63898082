-- name: ReferralByIDs :many
SELECT t.* FROM referrals t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: ReferralGet :one
SELECT t.* FROM referrals t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ReferralLock :one
-- ReferralLock reads the row for a change and locks it until the commit.
SELECT t.* FROM referrals t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: ReferralInsert :exec
INSERT INTO referrals (id, org_id, program_id, partner_id, link_id, visitor, landing_url, utm, tracked_by, status,
    expires_at, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @link_id, @visitor, @landing_url, @utm, @tracked_by, @status,
    @expires_at, @created_at, @updated_at);

-- name: ReferralRetire :exec
-- ReferralRetire makes room for a new referral of the visitor once the old one
-- has expired.
UPDATE referrals SET current = false WHERE program_id = @program_id AND org_id = @org_id AND partner_id = @partner_id
AND visitor = @visitor AND current AND expires_at <= @now;

-- name: ReferralReturn :exec
-- ReferralReturn records that the visitor returned by a click of the last hour: it is now the last
-- one (decisions, 238).
UPDATE referrals SET returned_at = @now::timestamptz, returned_click_id = @click_id WHERE id = @id AND org_id = @org_id
AND coalesce(returned_at < @now::timestamptz, true);

-- name: ReferralSetStatus :exec
UPDATE referrals SET status = @status, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: ReferralDelete :exec
DELETE FROM referrals WHERE id = @id AND org_id = @org_id;

-- name: ReferralDetachClicks :exec
UPDATE clicks SET referral_id = NULL WHERE referral_id = @referral_id AND org_id = @org_id;

-- name: ReferralProgram :one
SELECT t.program_id FROM referrals t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ReferralRelease :exec
-- ReferralRelease makes a lead a visit again when its only customer is deleted.
UPDATE referrals r SET status = 'visit', updated_at = @updated_at
    WHERE r.id = @id AND r.org_id = @org_id AND r.status = 'lead'
AND NOT EXISTS (SELECT 1 FROM customers c WHERE c.referral_id = r.id AND c.org_id = @org_id AND c.id <> @customer_id);

-- name: ReferralsExpire :execrows
-- ReferralsExpire retires expired visits, so that the visitor's next click can open a new one.
-- Attributed customers remain attributed.
UPDATE referrals t SET current = false
FROM (SELECT r.id FROM referrals r WHERE r.current AND r.expires_at <= @now
    ORDER BY r.expires_at LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id;
