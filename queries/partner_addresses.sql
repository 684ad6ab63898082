-- The addresses of partners' own requests, for the risk sweep.

-- name: PartnerAddressSave :exec
-- PartnerAddressSave keeps one row for each address and browser, of the last time.
INSERT INTO partner_addresses (org_id, program_id, partner_id, ip_hash, device, seen_at)
VALUES (@org_id, @program_id, @partner_id, @ip_hash, @device, @seen_at)
ON CONFLICT (program_id, partner_id, ip_hash, device) DO UPDATE SET seen_at = excluded.seen_at
    WHERE partner_addresses.seen_at < excluded.seen_at;

-- name: PartnerAddressesPurge :execrows
-- PartnerAddressesPurge deletes a batch of addresses not seen since a time.
DELETE FROM partner_addresses a USING (
    SELECT x.program_id, x.partner_id, x.ip_hash, x.device FROM partner_addresses x WHERE x.seen_at < @before
        ORDER BY x.seen_at LIMIT @lim FOR UPDATE SKIP LOCKED
) old WHERE a.program_id = old.program_id AND a.partner_id = old.partner_id AND a.ip_hash = old.ip_hash
    AND a.device = old.device;
