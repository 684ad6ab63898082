-- The list of risk flags: the highest severity first, the newest first within.
SET LOCAL lock_timeout = '2s';

CREATE INDEX risk_flags_list_idx ON risk_flags (program_id, (CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END), created_at DESC, id DESC);
