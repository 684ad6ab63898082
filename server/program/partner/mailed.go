package partner

import (
	"context"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/auth/attempt"
	"rail/server/clock"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
)

const (
	// mailedLinkLife is the lifetime of a sign-in link that a partner requested.
	mailedLinkLife = 30 * time.Minute
	// accountsOf bounds how many partners with one address get a link: earlier users first, then the oldest,
	// so that later programs cannot crowd out others.
	accountsOf = 5
	// linksToAddress, linksOfBoth and linksFromAddress bound requests within attempt.Window: for one email address
	// from all networks, for one from one network, and from one network in all.
	linksToAddress   = 12
	linksOfBoth      = 3
	linksFromAddress = 20
	// linksOfDay bounds the mails with links from an organization to an address in a day.
	linksOfDay = 20
)

// LinksByMail mails each active partner with an email address a link to the portal. The result is the same for
// an unknown address. program is the id or the subdomain of one program, or "" for all; from is the requester's
// network address; language is the requester's, for partners without one.
func (s *Service) LinksByMail(ctx context.Context, book attempt.Book, email, program, from, language string) error {
	email = strings.TrimSpace(email)
	_, err := book.Note(ctx,
		attempt.Subject{Key: "portal:" + strings.ToLower(email), Most: linksToAddress},
		attempt.Subject{Key: "portal:" + strings.ToLower(email) + " " + attempt.Network(from), Most: linksOfBoth},
		attempt.Subject{Key: "portal from:" + attempt.Network(from), Most: linksFromAddress},
	)
	if err != nil || email == "" {
		return err
	}
	of := db.PortalPartnersParams{Email: email, Lim: accountsOf}
	if program != "" {
		of.Program = &program
	}
	found, err := queries.PortalPartners(ctx, book.Pool, of)
	if err != nil {
		return err
	}
	now := book.Clock.Now()
	return pgtx.Within(ctx, book.Pool, func(tx *pgtx.Tx) error {
		for _, row := range found {
			n, err := queries.MailLinksSince(ctx, tx, db.MailLinksSinceParams{
				OrgID: row.Partner.OrgID, Email: row.Partner.Email, Since: now.Days(-1),
			})
			if err != nil {
				return err
			}
			if n >= linksOfDay {
				continue
			}
			if err := s.mailLink(ctx, tx.Later(), row.Partner, row.Program, language, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// RenewLink mails a signed-in partner a link for a new sign-in.
func (s *Service) RenewLink(ctx context.Context, book attempt.Book, p db.Partner, prog db.Program) error {
	_, err := book.Note(ctx, attempt.Subject{Key: "portal partner:" + p.ID, Most: linksOfBoth})
	if err != nil {
		return err
	}
	return pgtx.Within(ctx, book.Pool, func(tx *pgtx.Tx) error {
		return s.mailLink(ctx, tx.Later(), p, prog, "", book.Clock.Now())
	})
}

// mailLink mails one partner a link. Links made by the program stay valid, so that a stranger who knows a
// partner's address cannot void them.
func (s *Service) mailLink(
	ctx context.Context, q db.DBTX, p db.Partner, prog db.Program, language string, now clock.Time,
) error {
	token, err := newLink(ctx, q, MailMark, p, now, mailedLinkLife)
	if err != nil {
		return err
	}
	key := secret.NameOf(token)
	return s.Mail.Queue(ctx, q, p.OrgID, mail.PortalSignIn(mail.ToPartner(p, prog, language), key, token), now)
}
