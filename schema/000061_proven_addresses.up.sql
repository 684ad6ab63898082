-- proven_at is when a user showed that their address is theirs: they came by a link that was mailed to
-- it, or by an OpenID provider that vouches for it. An owner or the operator merely wrote any other.
-- mailed is whether a link went to the address alone, and so proves it.
-- The release before survives this: it writes neither column, so that users which it makes prove
-- their address later.
SET LOCAL lock_timeout = '2s';

LOCK TABLE users, user_links IN ACCESS EXCLUSIVE MODE;
ALTER TABLE users ADD COLUMN proven_at timestamptz;
ALTER TABLE user_links ADD COLUMN mailed boolean NOT NULL DEFAULT false;
UPDATE users SET proven_at = updated_at WHERE oidc_subject IS NOT NULL;
