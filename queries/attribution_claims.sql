-- name: AttributionClaimInsert :exec
INSERT INTO attribution_claims (id, org_id, program_id, customer_id, sale_id, protocol, status, reason, nonce,
    touchpoint, publisher_id, campaign_id, creative_id, sub_id, source_url, created_at)
VALUES (@id, @org_id, @program_id, @customer_id, @sale_id, @protocol, @status, @reason, @nonce, @touchpoint,
    @publisher_id, @campaign_id, @creative_id, @sub_id, @source_url, @created_at);

-- name: AttributionClaims :many
-- AttributionClaims returns the last 20 claims about each of several customers.
SELECT t.* FROM unnest(@customer_ids::text[]) c(id) CROSS JOIN LATERAL (
    SELECT x.id FROM attribution_claims x WHERE x.customer_id = c.id AND x.org_id = @org_id
    ORDER BY x.created_at DESC, x.id DESC LIMIT 20) d
JOIN attribution_claims t ON t.id = d.id AND t.org_id = @org_id
ORDER BY t.customer_id, t.created_at DESC, t.id DESC;

-- name: AttributionTokenUsed :one
-- AttributionTokenUsed reports whether a token has credited a customer before.
SELECT EXISTS (SELECT 1 FROM attribution_claims t WHERE t.customer_id = @customer_id AND t.org_id = @org_id
    AND t.nonce = @nonce AND t.status = 'credited')::boolean AS used;

-- name: AttributionClaimsMove :exec
UPDATE attribution_claims SET customer_id = @to_id WHERE customer_id = @from_id AND org_id = @org_id;
