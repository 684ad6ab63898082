-- name: PortalSettingsGet :one
-- PortalSettingsGet finds no row where a program has the defaults.
SELECT t.* FROM portal_settings t WHERE t.program_id = @program_id AND t.org_id = @org_id;

-- name: PortalSettingsSave :exec
INSERT INTO portal_settings (program_id, org_id, joining, accent_color, second_color, typeface, corners, logo_version,
    logo_dark_version, headline, hero_version, introduction, offer, benefits, faq, calculator, reply_to, questions,
    auto_approve, link_hosts, max_links, embed_hosts, leaderboard, updated_at)
VALUES (@program_id, @org_id, @joining, @accent_color, @second_color, @typeface, @corners, @logo_version,
    @logo_dark_version, @headline, @hero_version, @introduction, @offer, @benefits, @faq, @calculator, @reply_to,
    @questions, @auto_approve, @link_hosts, @max_links, @embed_hosts, @leaderboard, @updated_at)
ON CONFLICT (program_id) DO UPDATE SET joining = excluded.joining, accent_color = excluded.accent_color,
    second_color = excluded.second_color, typeface = excluded.typeface, corners = excluded.corners,
    logo_version = excluded.logo_version, logo_dark_version = excluded.logo_dark_version, headline = excluded.headline, hero_version = excluded.hero_version,
    introduction = excluded.introduction, offer = excluded.offer,
    benefits = excluded.benefits, faq = excluded.faq,
    calculator = excluded.calculator, reply_to = excluded.reply_to, questions = excluded.questions,
    auto_approve = excluded.auto_approve, link_hosts = excluded.link_hosts, max_links = excluded.max_links,
    embed_hosts = excluded.embed_hosts, leaderboard = excluded.leaderboard, updated_at = excluded.updated_at;

-- name: PortalImageSave :exec
INSERT INTO portal_images (program_id, org_id, kind, version, content_type, image)
VALUES (@program_id, @org_id, @kind, @version, @content_type, @image)
ON CONFLICT (program_id, kind) DO UPDATE SET version = excluded.version, content_type = excluded.content_type,
    image = excluded.image;

-- name: PortalImageDelete :exec
DELETE FROM portal_images WHERE program_id = @program_id AND org_id = @org_id AND kind = @kind;

-- name: PortalImagePublic :one
-- PortalImagePublic is not bound to an organization: the address of an image is public.
SELECT t.content_type, t.image FROM portal_images t WHERE t.program_id = @program_id AND t.version = @version LIMIT 1;

-- name: PortalThemePublic :one
-- PortalThemePublic is not bound to an organization: the look of a program is public.
SELECT t.accent_color, t.second_color, t.typeface, t.corners FROM portal_settings t WHERE t.program_id = @program_id;

-- name: PortalCardPublic :one
-- PortalCardPublic returns the texts and the logo of a join page's picture. It is not bound to an organization: the
-- page is public. A program without an open join page has none.
SELECT p.name, p.website_url, t.headline, t.accent_color, t.second_color, t.logo_version, i.image AS logo FROM programs p
LEFT JOIN portal_settings t ON t.program_id = p.id AND t.org_id = p.org_id
LEFT JOIN portal_images i ON i.program_id = p.id AND i.org_id = p.org_id AND i.kind = 'logo'
    AND i.version = t.logo_version
WHERE p.id = @program_id AND p.status <> 'paused' AND coalesce(t.joining, 'open') = 'open';
