package partner

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/program/portalsettings"
	"rail/server/secret"
	"rail/server/work"
)

// embedLife is how long a page may show a partner's portal.
const embedLife = time.Hour

// Embed is a token that opens a partner's portal inside a page of the merchant.
type Embed struct {
	PartnerID, Token string
	ExpiresAt        clock.Time
}

// EmbedFor returns a token for an active partner, by its id or by the email of c, which is enrolled if no
// partner of the program has it. A program without hosts that may frame its portal gets no token.
func EmbedFor(ctx context.Context, u *work.Unit, c Candidate, id *string) (Embed, error) {
	prog, err := u.Program(ctx, c.ProgramID)
	if err != nil {
		return Embed{}, err
	}
	settings, err := portalsettings.Of(ctx, u.Tx, u.OrgID, prog.ID)
	if err != nil {
		return Embed{}, err
	}
	if len(settings.EmbedHosts) == 0 {
		return Embed{}, problem.Invalid("program_id",
			"No page may show the portal of this program: add the hosts to embed_hosts of its portal settings.")
	}
	p, err := embedPartner(ctx, u, c, id)
	if err != nil {
		return Embed{}, err
	}
	if p.Status != db.PartnerStatusActive {
		return Embed{}, problem.New(problem.PartnerNotActive, "The partner is %s.", p.Status)
	}
	token, err := newToken()
	if err != nil {
		return Embed{}, err
	}
	out := Embed{p.ID, token, u.Now.Plus(embedLife)}
	return out, queries.PortalSessionInsert(ctx, u.Later(), db.PortalSessionInsertParams{
		TokenHash: secret.HashToken(token), OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, CreatedAt: u.Now,
		ExpiresAt: out.ExpiresAt, Embedded: true,
	})
}

// embedPartner finds or creates the partner whose portal is shown.
func embedPartner(ctx context.Context, u *work.Unit, c Candidate, id *string) (db.Partner, error) {
	if id != nil {
		if err := u.Check(ctx, c.ProgramID, work.PartnerRef("partner_id", id)); err != nil {
			return db.Partner{}, err
		}
		return Lock(ctx, u, *id)
	}
	of := db.PartnerByEmailParams{ProgramID: c.ProgramID, OrgID: u.OrgID, Email: c.Email}
	p, err := queries.PartnerByEmail(ctx, u.Tx, of)
	if work.IgnoreNoRows(err) != nil || err == nil {
		return p, err
	}
	if err := u.Check(ctx, c.ProgramID, work.GroupRef("partner.group_id", c.GroupID)); err != nil {
		return p, err
	}
	return Create(ctx, u, c, false)
}
