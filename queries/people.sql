-- Users of the console, their sessions and links, and the attempts to sign in.

-- name: UserInsert :exec
INSERT INTO users (id, org_id, email, name, role, password_hash, oidc_issuer, oidc_subject,
    proven_at, created_at, updated_at)
VALUES (@id, @org_id, @email, @name, @role, @password_hash, @oidc_issuer, @oidc_subject, @proven_at, @created_at,
    @created_at);

-- name: UserGet :one
SELECT * FROM users t WHERE t.org_id = @org_id AND t.id = @id;

-- name: UserByEmail :one
SELECT * FROM users t WHERE t.org_id = @org_id AND t.email = @email;

-- name: UserList :many
SELECT * FROM users t WHERE t.org_id = @org_id ORDER BY lower(t.name), t.id LIMIT @lim;

-- name: UserSeats :one
-- UserSeats counts the users and open invitations of an organization.
SELECT ((SELECT count(*) FROM users u WHERE u.org_id = @org_id) + (SELECT count(*) FROM user_links l
    WHERE l.org_id = @org_id AND l.kind = 'invitation' AND l.used_at IS NULL AND l.expires_at > @now))::bigint AS n;

-- name: UsersExist :one
SELECT EXISTS (SELECT 1 FROM users u);

-- name: UsersOfEmail :many
-- UsersOfEmail lists the users with an address, oldest first.
SELECT * FROM users t WHERE t.email = @email AND t.disabled_at IS NULL ORDER BY t.created_at, t.id LIMIT @lim;

-- name: UsersPerEmail :one
-- UsersPerEmail is the largest number of users with one address, up to a bound.
SELECT coalesce(least(max(t.n), @most::bigint), 0)::bigint AS n FROM (SELECT count(*) AS n FROM users u
    WHERE u.disabled_at IS NULL GROUP BY u.email) t;

-- name: UsersOfSubject :many
-- UsersOfSubject lists the users of an OpenID provider's subject in all organizations, disabled ones last.
SELECT * FROM users t WHERE t.oidc_issuer = @oidc_issuer AND t.oidc_subject = @oidc_subject
ORDER BY t.disabled_at IS NOT NULL, t.created_at, t.id LIMIT @lim;

-- name: OrganizationLock :one
-- OrganizationLock serializes changes of an organization's users, so that one owner remains.
SELECT o.id FROM organizations o WHERE o.id = @id FOR NO KEY UPDATE;

-- name: OwnersCount :one
SELECT count(*) FROM users t WHERE t.org_id = @org_id AND t.role = 'owner' AND t.disabled_at IS NULL;

-- name: UserSetRole :exec
UPDATE users SET role = @role, updated_at = @now WHERE org_id = @org_id AND id = @id;

-- name: UserSetName :exec
UPDATE users SET name = @name, updated_at = @now WHERE org_id = @org_id AND id = @id;

-- name: UserSetDisabled :exec
UPDATE users SET disabled_at = @disabled_at, updated_at = @now WHERE org_id = @org_id AND id = @id;

-- name: UserSetPassword :exec
UPDATE users SET password_hash = @password_hash, updated_at = @now WHERE org_id = @org_id AND id = @id;

-- name: UserSetSubject :execrows
-- UserSetSubject links a user to an OpenID provider's, once.
UPDATE users SET oidc_issuer = @oidc_issuer, oidc_subject = @oidc_subject, updated_at = @now,
    proven_at = coalesce(proven_at, @now)
WHERE org_id = @org_id AND id = @id AND oidc_subject IS NULL AND disabled_at IS NULL;

-- name: UserSaveView :execrows
-- UserSaveView adds saved filters in place of those of the same list and name.
UPDATE users SET views = (SELECT coalesce(jsonb_agg(e.value), '[]') FROM jsonb_array_elements(views) e
    WHERE NOT e.value @> @same::jsonb) || @view::jsonb
WHERE org_id = @org_id AND id = @id AND (jsonb_array_length(views) < @most::integer OR views @> jsonb_build_array(@same::jsonb));

-- name: UserDropView :exec
UPDATE users SET views = (SELECT coalesce(jsonb_agg(e.value), '[]') FROM jsonb_array_elements(views) e
    WHERE NOT e.value @> @same::jsonb)
WHERE org_id = @org_id AND id = @id;

-- name: UserVerify :exec
-- UserVerify records that a user's address is verified.
UPDATE users SET proven_at = @now::timestamptz WHERE org_id = @org_id AND id = @id AND proven_at IS NULL;

-- name: UserDelete :exec
DELETE FROM users WHERE org_id = @org_id AND id = @id;

-- name: UserSetPending :exec
UPDATE users SET totp_pending = @totp_pending, updated_at = @now WHERE org_id = @org_id AND id = @id;

-- name: UserSetFactor :execrows
-- UserSetFactor turns on the second factor that is pending, if it still is that one, and
-- the first.
UPDATE users SET totp_secret = totp_pending, totp_pending = NULL, totp_used = @totp_used,
    recovery_hashes = @recovery_hashes, updated_at = @now
WHERE org_id = @org_id AND id = @id AND totp_pending = @totp_pending AND totp_secret IS NULL;

-- name: UserSetRecovery :exec
UPDATE users SET recovery_hashes = @recovery_hashes, updated_at = @now WHERE org_id = @org_id AND id = @id;

-- name: UserDropFactor :exec
UPDATE users SET totp_secret = NULL, totp_pending = NULL, recovery_hashes = '{}', updated_at = @now
WHERE org_id = @org_id AND id = @id;

-- name: UserUseStep :execrows
-- UserUseStep uses the code of a time step: of concurrent requests, one gets the row.
UPDATE users SET totp_used = @step WHERE org_id = @org_id AND id = @id AND totp_secret IS NOT NULL
    AND totp_used < @step;

-- name: UserUseRecovery :execrows
-- UserUseRecovery uses a recovery code, in the same way.
UPDATE users SET recovery_hashes = array_remove(recovery_hashes, @hash::bytea)
WHERE org_id = @org_id AND id = @id AND totp_secret IS NOT NULL AND @hash::bytea = ANY (recovery_hashes);

-- name: UserSecretsSealed :many
SELECT t.id, t.totp_secret, t.totp_pending FROM users t
WHERE (t.totp_secret IS NOT NULL OR t.totp_pending IS NOT NULL) AND t.id > @after ORDER BY t.id LIMIT @lim;

-- name: UserSecretsReseal :exec
UPDATE users SET totp_secret = @totp_secret, totp_pending = @totp_pending
WHERE id = @id AND totp_secret IS NOT DISTINCT FROM sqlc.narg('was_secret') AND totp_pending IS NOT DISTINCT
    FROM sqlc.narg('was_pending');

-- name: UserSessionInsert :execrows
-- UserSessionInsert begins a session of an enabled user who has shown the current second factor.
WITH u AS (
    UPDATE users t SET seen_at = @now::timestamptz
    WHERE t.org_id = @org_id AND t.id = @user_id AND t.disabled_at IS NULL
        AND (t.totp_secret IS NULL OR @proven::boolean)
    RETURNING t.org_id, t.id)
INSERT INTO user_sessions (id, token_hash, org_id, user_id, user_agent, address, created_at, seen_at, expires_at)
SELECT @id, @token_hash, u.org_id, u.id, @user_agent, @address, @now::timestamptz, @now::timestamptz, @expires_at
FROM u;

-- name: UserSessionsTrim :exec
-- UserSessionsTrim ends the oldest sessions of a user who has too many.
DELETE FROM user_sessions t WHERE t.org_id = @org_id AND t.id IN (SELECT s.id FROM user_sessions s
    WHERE s.org_id = @org_id AND s.user_id = @user_id ORDER BY s.created_at DESC, s.id DESC OFFSET @keep::integer);

-- name: UserSession :one
-- UserSession returns the user of a session, with their organization.
SELECT sqlc.embed(s), sqlc.embed(u), sqlc.embed(o) FROM user_sessions s
JOIN users u ON u.org_id = s.org_id AND u.id = s.user_id JOIN organizations o ON o.id = s.org_id
WHERE s.token_hash = @token_hash AND s.expires_at > @now::timestamptz AND s.seen_at > @idle_since::timestamptz
    AND u.disabled_at IS NULL;

-- name: UserSessionSeen :exec
-- UserSessionSeen records the use of a session, for the session and its user.
WITH s AS (
    UPDATE user_sessions t SET seen_at = @now::timestamptz
    WHERE t.org_id = @org_id AND t.id = @id AND t.seen_at < @now::timestamptz RETURNING t.user_id)
UPDATE users u SET seen_at = @now::timestamptz FROM s WHERE u.org_id = @org_id AND u.id = s.user_id;

-- name: UserSessionList :many
SELECT * FROM user_sessions t WHERE t.org_id = @org_id AND t.user_id = @user_id AND t.expires_at > @now::timestamptz
    AND t.seen_at > @idle_since::timestamptz
ORDER BY t.created_at DESC, t.id DESC LIMIT @lim;

-- name: UserSessionEnd :exec
DELETE FROM user_sessions WHERE token_hash = @token_hash;

-- name: UserSessionRevoke :execrows
DELETE FROM user_sessions WHERE org_id = @org_id AND user_id = @user_id AND id = @id;

-- name: UserSessionsEnd :exec
-- UserSessionsEnd ends every session of a user but one; an id of "" keeps none.
DELETE FROM user_sessions WHERE org_id = @org_id AND user_id = @user_id AND id <> @keep;

-- name: UserSessionsPurge :execrows
DELETE FROM user_sessions WHERE id IN (SELECT t.id FROM user_sessions t
    WHERE t.expires_at <= @now::timestamptz OR t.seen_at <= @idle_since::timestamptz LIMIT @lim);

-- name: UserLinkInsert :exec
INSERT INTO user_links (token_hash, kind, org_id, user_id, email, role, invited_by, mailed, created_at, expires_at)
VALUES (@token_hash, @kind, @org_id, @user_id, @email, @role, @invited_by, @mailed, @created_at, @expires_at);

-- name: UserLinkFind :one
-- UserLinkFind returns a valid link, with the data of its page.
SELECT sqlc.embed(t), coalesce(o.name, '')::text AS organization, coalesce(u.name, '')::text AS name,
    coalesce(u.email, t.email, '')::text AS address
FROM user_links t LEFT JOIN organizations o ON o.id = t.org_id
LEFT JOIN users u ON u.org_id = t.org_id AND u.id = t.user_id
WHERE t.token_hash = @token_hash AND t.used_at IS NULL AND t.expires_at > @now::timestamptz AND u.disabled_at IS NULL;

-- name: UserLinkUse :one
-- UserLinkUse uses a link, once: of concurrent requests, one gets the row.
UPDATE user_links t SET used_at = @now::timestamptz
WHERE t.token_hash = @token_hash AND t.kind = @kind AND t.used_at IS NULL AND t.expires_at > @now::timestamptz
RETURNING t.*;

-- name: UserLinksVoid :exec
-- UserLinksVoid revokes a user's links of a kind, or all for "".
DELETE FROM user_links WHERE org_id = @org_id AND user_id = @user_id::text AND used_at IS NULL
    AND (@kind::text = '' OR kind = @kind::text);

-- name: SetUpLinksVoid :exec
DELETE FROM user_links WHERE kind = 'setup' AND used_at IS NULL;

-- name: SetUpLock :exec
-- SetUpLock serializes starting servers and the use of their links.
SELECT pg_advisory_xact_lock(hashtextextended('user-set-up', 0));

-- name: InvitationList :many
SELECT t.*, coalesce(u.name, '')::text AS inviter FROM user_links t
LEFT JOIN users u ON u.org_id = t.org_id AND u.id = t.invited_by
WHERE t.org_id = @org_id AND t.kind = 'invitation' AND t.used_at IS NULL AND t.expires_at > @now::timestamptz
ORDER BY t.created_at DESC, t.email LIMIT @lim;

-- name: InvitationVoid :execrows
-- InvitationVoid revokes the open invitation of an address.
DELETE FROM user_links WHERE org_id = @org_id AND email = @email::text AND kind = 'invitation' AND used_at IS NULL;

-- name: InvitationsVoidBy :exec
-- InvitationsVoidBy revokes the invitations of a user who may no longer invite.
DELETE FROM user_links WHERE org_id = @org_id AND invited_by = @invited_by::text AND kind = 'invitation'
    AND used_at IS NULL;

-- name: InvitationsOfEmail :many
-- InvitationsOfEmail are the invitations of an address that still work, with the organizations' names,
-- the latest first.
SELECT sqlc.embed(t), o.name FROM user_links t JOIN organizations o ON o.id = t.org_id
WHERE t.email = @email::text AND t.kind = 'invitation' AND t.used_at IS NULL AND t.expires_at > @now::timestamptz
ORDER BY t.created_at DESC, t.token_hash LIMIT @lim;

-- name: UserLinksPurge :execrows
DELETE FROM user_links WHERE token_hash IN (SELECT t.token_hash FROM user_links t WHERE t.expires_at <= @now
    ORDER BY t.expires_at LIMIT @lim);

-- name: SignInAttempt :many
-- SignInAttempt records an attempt for each of its subjects, before its result is known.
INSERT INTO sign_in_failures (subject, failed_at) SELECT unnest(@subjects::bytea[]), @now::timestamptz RETURNING id;

-- name: SignInAttempts :many
-- SignInAttempts counts the latest attempts of subjects, and returns the time of the oldest.
SELECT t.subject, count(*) AS n, min(t.failed_at)::timestamptz AS since FROM sign_in_failures t
WHERE t.subject = ANY (@subjects::bytea[]) AND t.failed_at > @since::timestamptz GROUP BY t.subject;

-- name: SignInForget :exec
-- SignInForget removes attempts that succeeded.
DELETE FROM sign_in_failures WHERE id = ANY (@ids::bigint[]);

-- name: SignInFailuresPurge :execrows
DELETE FROM sign_in_failures WHERE id IN (SELECT t.id FROM sign_in_failures t WHERE t.failed_at <= @before
    ORDER BY t.failed_at LIMIT @lim);

-- name: PeopleLog :many
-- PeopleLog lists the audit log of an organization's users. These entries have the organization's
-- id instead of a program's.
SELECT * FROM audit_log_entries t WHERE t.org_id = @org_id AND t.program_id = @org_id
    ORDER BY t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: PeopleNames :many
-- PeopleNames returns the names of users; those of deleted users are from the log.
SELECT u.id, u.name FROM users u WHERE u.org_id = @org_id AND u.id = ANY (@ids::text[])
UNION ALL
SELECT a.target_id, coalesce(a.before ->> 'name', '')::text FROM audit_log_entries a
WHERE a.org_id = @org_id AND a.program_id = @org_id AND a.action = 'user.removed' AND a.target_id = ANY (@ids::text[]);

-- name: UsersAcrossOrgs :many
-- UsersAcrossOrgs finds users by id or address in all organizations, for the operator.
SELECT * FROM users t WHERE t.id = @who::text OR t.email = @who::text ORDER BY t.created_at, t.id LIMIT @lim;
