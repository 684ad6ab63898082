-- name: SequenceGet :one
SELECT t.* FROM sequences t WHERE t.id = @id AND t.org_id = @org_id;

-- name: SequenceLock :one
SELECT t.* FROM sequences t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: SequenceCounts :many
-- SequenceCounts counts the steps of sequences and their partners.
SELECT s.id,
    (SELECT count(*) FROM sequence_steps t WHERE t.sequence_id = s.id) AS steps,
    (SELECT count(*) FROM sequence_enrolments e WHERE e.sequence_id = s.id) AS enrolled,
    (SELECT count(*) FROM sequence_enrolments e WHERE e.sequence_id = s.id AND e.next_at IS NOT NULL) AS active
FROM sequences s WHERE s.id = ANY (@ids::text[]) AND s.org_id = @org_id;

-- name: SequenceInsert :exec
INSERT INTO sequences (id, org_id, program_id, name, status, trigger, trigger_days, idle_checked_at, created_at,
    updated_at, idle_after)
VALUES (@id, @org_id, @program_id, @name, @status, @trigger, @trigger_days, @idle_checked_at, @created_at,
    @updated_at, @idle_after);

-- name: SequenceStepInsert :exec
INSERT INTO sequence_steps (sequence_id, position, org_id, program_id, delay_days, subject, body)
VALUES (@sequence_id, @position, @org_id, @program_id, @delay_days, @subject, @body);

-- name: SequenceSetStatus :exec
UPDATE sequences SET status = @status, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: SequenceUpdate :exec
UPDATE sequences SET name = @name, trigger_days = @trigger_days, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: SequenceStepsDelete :exec
DELETE FROM sequence_steps WHERE sequence_id = @sequence_id AND org_id = @org_id;

-- name: SequenceShorten :exec
-- SequenceShorten ends the sequence for partners that wait for a deleted step.
UPDATE sequence_enrolments SET next_at = NULL, completed_at = @now
WHERE sequence_id = @sequence_id AND org_id = @org_id AND next_at IS NOT NULL AND position >= @steps::bigint;

-- name: SequenceDelete :exec
DELETE FROM sequences WHERE id = @id AND org_id = @org_id;

-- name: ProgramSetEnrols :exec
-- ProgramSetEnrols records whether a first commission starts a sequence, so that sales of other
-- programs need no check.
UPDATE programs t SET enrols_first_commission = EXISTS (SELECT 1 FROM sequences s
    WHERE s.program_id = t.id AND s.org_id = t.org_id AND s.trigger = 'first_commission')
WHERE t.id = @id AND t.org_id = @org_id;

-- name: SequenceEnrol :exec
-- SequenceEnrol puts a partner at the first step of the sequences of a trigger.
INSERT INTO sequence_enrolments (sequence_id, partner_id, org_id, program_id, position, next_at, enrolled_at)
SELECT s.id, @partner_id, s.org_id, s.program_id, 0, n.at + t.delay_days * interval '24 hours', n.at
FROM (SELECT @now::timestamptz AS at) n CROSS JOIN sequences s JOIN sequence_steps t ON t.sequence_id = s.id
    AND t.position = 0
WHERE s.program_id = @program_id AND s.org_id = @org_id AND s.trigger = @trigger
ON CONFLICT (sequence_id, partner_id) DO NOTHING;

-- name: SequenceUnenrol :exec
-- SequenceUnenrol undoes SequenceEnrol, with the mails that were not sent yet.
WITH left_out AS (DELETE FROM sequence_enrolments e USING sequences s
    WHERE e.sequence_id = s.id AND s.org_id = e.org_id AND e.partner_id = @partner_id AND e.org_id = @org_id
        AND s.program_id = @program_id AND s.trigger = @trigger AND e.enrolled_at >= @enrolled_since
    RETURNING e.sequence_id)
DELETE FROM mails m USING left_out WHERE m.sequence_id = left_out.sequence_id AND m.partner_id = @partner_id
    AND m.org_id = @org_id AND m.status = 'queued';

-- name: SequenceEnrolFirst :exec
-- SequenceEnrolFirst does the same for a commission that is the partner's first.
INSERT INTO sequence_enrolments (sequence_id, partner_id, org_id, program_id, position, next_at, enrolled_at)
SELECT s.id, @partner_id, s.org_id, s.program_id, 0, n.at + t.delay_days * interval '24 hours', n.at
FROM (SELECT @now::timestamptz AS at) n CROSS JOIN sequences s JOIN sequence_steps t ON t.sequence_id = s.id
    AND t.position = 0
WHERE s.program_id = @program_id AND s.org_id = @org_id AND s.trigger = 'first_commission'
  AND NOT EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
      AND k.partner_id = @partner_id AND k.id <> @commission_id AND k.kind <> 'clawback')
ON CONFLICT (sequence_id, partner_id) DO NOTHING;

-- name: SequencesIdle :many
-- SequencesIdle lists the sequences whose last search for idle partners was a day ago, or is
-- unfinished.
SELECT s.id, s.org_id FROM sequences s
WHERE s.trigger = 'idle' AND s.status = 'active' AND (s.idle_after IS NOT NULL OR s.idle_checked_at IS NULL
    OR s.idle_checked_at <= @checked_before) ORDER BY s.id;

-- name: SequenceTakeIdle :one
-- SequenceTakeIdle locks one of them, unless another worker has it.
SELECT s.* FROM sequences s
WHERE s.id = @id AND s.org_id = @org_id AND s.status = 'active' AND (s.idle_after IS NOT NULL
    OR s.idle_checked_at IS NULL OR s.idle_checked_at <= @checked_before)
FOR NO KEY UPDATE SKIP LOCKED;

-- name: SequenceSetCursor :exec
-- SequenceSetCursor records the begin of the search and its progress.
UPDATE sequences SET idle_checked_at = @idle_checked_at, idle_after = @idle_after WHERE id = @id AND org_id = @org_id;

-- name: SequenceEnrolIdle :exec
-- SequenceEnrolIdle enrols the active partners of a batch without a click or a commission since
-- idle_since, if they were approved before that.
INSERT INTO sequence_enrolments (sequence_id, partner_id, org_id, program_id, position, next_at, enrolled_at)
SELECT s.id, p.id, s.org_id, s.program_id, 0, n.at + t.delay_days * interval '24 hours', n.at
FROM (SELECT @now::timestamptz AS at) n CROSS JOIN sequences s JOIN sequence_steps t ON t.sequence_id = s.id
    AND t.position = 0 JOIN partners p ON p.program_id = s.program_id AND p.org_id = s.org_id
WHERE s.id = @id AND s.org_id = @org_id AND p.status = 'active' AND p.created_at <= @idle_since
    AND p.id > @after_id::text AND p.id <= @upto_id::text
  AND NOT EXISTS (SELECT 1 FROM applications a WHERE a.program_id = p.program_id AND a.partner_id = p.id
      AND a.status = 'approved' AND a.reviewed_at > @idle_since)
  AND NOT EXISTS (SELECT 1 FROM clicks_counted c WHERE c.program_id = p.program_id AND c.partner_id = p.id
      AND c.created_at > @idle_since)
  AND NOT EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = p.program_id AND k.partner_id = p.id
      AND k.created_at > @idle_since)
ON CONFLICT (sequence_id, partner_id) DO NOTHING;

-- name: SequencesActive :many
SELECT s.id, s.org_id FROM sequences s WHERE s.status = 'active'
  AND EXISTS (SELECT 1 FROM sequence_enrolments e WHERE e.sequence_id = s.id AND e.next_at <= @now) ORDER BY s.id;

-- name: SequenceTakeDue :many
-- SequenceTakeDue locks partners of an active sequence whose next mail is due,
-- with that mail and the delay of the one after it; a partner who is not active
-- keeps its place.
SELECT e.partner_id, e.position, p.email, p.unsubscribed_at, t.subject, t.body, n.delay_days AS next_delay_days
FROM sequence_enrolments e JOIN sequences s ON s.id = e.sequence_id JOIN partners p ON p.id = e.partner_id
    JOIN sequence_steps t ON t.sequence_id = e.sequence_id AND t.position = e.position
    LEFT JOIN sequence_steps n ON n.sequence_id = e.sequence_id AND n.position = e.position + 1
WHERE e.sequence_id = @sequence_id AND e.org_id = @org_id AND e.next_at <= @now AND s.status = 'active'
    AND p.status = 'active'
ORDER BY e.next_at, e.partner_id LIMIT @lim FOR NO KEY UPDATE OF e SKIP LOCKED;

-- name: SequenceHold :one
-- SequenceHold prevents a pause or deletion of a sequence while partners advance in it.
SELECT s.id FROM sequences s WHERE s.id = @id AND s.org_id = @org_id AND s.status = 'active' FOR SHARE;

-- name: SequenceMail :exec
INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, next_attempt_at, created_at, partner_id,
    sequence_id, position)
VALUES (@id, @org_id, 'sequence', @key, @recipient, @subject, @body, 'queued', @created_at, @created_at, @partner_id,
    @sequence_id, @position)
ON CONFLICT (org_id, purpose, key, lower(recipient)) DO NOTHING;

-- name: SequenceAdvance :exec
UPDATE sequence_enrolments SET position = position + 1, next_at = @next_at, completed_at = @completed_at
WHERE sequence_id = @sequence_id AND partner_id = @partner_id AND org_id = @org_id;
