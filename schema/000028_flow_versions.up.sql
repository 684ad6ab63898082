-- What a flow's branches weigh, and the name of what they say. Both follow from the
-- branches, whoever writes them: servers keep by its digest what they have parsed.
-- The release before survives this: the columns are generated, it never writes them.
SET LOCAL lock_timeout = '2s';

CREATE FUNCTION flow_conditions_bytes(branches json) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(sum(octet_length((b -> 'conditions')::text)), 0)::bigint FROM json_array_elements(branches) b
$$;
-- The encoding is named, so that the digest is that of the same bytes in every database.
CREATE FUNCTION flow_branches_digest(branches json) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(branches::text, 'UTF8'))
$$;
ALTER TABLE flows
    ADD COLUMN conditions_bytes bigint NOT NULL GENERATED ALWAYS AS (flow_conditions_bytes(branches)) STORED,
    ADD COLUMN branches_digest bytea NOT NULL GENERATED ALWAYS AS (flow_branches_digest(branches)) STORED;
