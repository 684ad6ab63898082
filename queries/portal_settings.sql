-- name: PortalSettingsGet :one
-- PortalSettingsGet finds no row where a program has the defaults.
SELECT t.* FROM portal_settings t WHERE t.program_id = @program_id AND t.org_id = @org_id;

-- name: PortalSettingsSave :exec
INSERT INTO portal_settings (program_id, org_id, joining, accent_color, logo_version, introduction, offer, reply_to,
    questions, auto_approve, link_hosts, max_links, embed_hosts, updated_at)
VALUES (@program_id, @org_id, @joining, @accent_color, @logo_version, @introduction, @offer, @reply_to,
    @questions, @auto_approve, @link_hosts, @max_links, @embed_hosts, @updated_at)
ON CONFLICT (program_id) DO UPDATE SET joining = excluded.joining, accent_color = excluded.accent_color,
    logo_version = excluded.logo_version, introduction = excluded.introduction, offer = excluded.offer,
    reply_to = excluded.reply_to, questions = excluded.questions, auto_approve = excluded.auto_approve, link_hosts = excluded.link_hosts,
    max_links = excluded.max_links, embed_hosts = excluded.embed_hosts, updated_at = excluded.updated_at;

-- name: PortalLogoSave :exec
INSERT INTO portal_logos (program_id, org_id, version, content_type, image)
VALUES (@program_id, @org_id, @version, @content_type, @image)
ON CONFLICT (program_id) DO UPDATE SET version = excluded.version, content_type = excluded.content_type,
    image = excluded.image;

-- name: PortalLogoDelete :exec
DELETE FROM portal_logos WHERE program_id = @program_id AND org_id = @org_id;

-- name: PortalLogoShown :one
-- PortalLogoShown is not bound to an organization: the address of a logo is public.
SELECT t.content_type, t.image FROM portal_logos t WHERE t.program_id = @program_id AND t.version = @version;

-- name: PortalAccentShown :one
-- PortalAccentShown is not bound to an organization: the accent colour is public.
SELECT t.accent_color FROM portal_settings t WHERE t.program_id = @program_id AND t.accent_color IS NOT NULL;
