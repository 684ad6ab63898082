package partner

import (
	"context"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
	"rail/server/team/attempt"
)

const (
	// mailedLife is how long a link works that a partner has asked for.
	mailedLife = 30 * time.Minute
	// accountsOf is how many partners of one address are mailed a link each: those who have signed
	// in before, and then the oldest, so that later programs crowd nobody out.
	accountsOf = 5
	// linksToAddress, linksOfBoth and linksFromAddress bound what is asked within
	// attempt.Window: for one e-mail address by all and by one network, and by a network for all.
	linksToAddress   = 12
	linksOfBoth      = 3
	linksFromAddress = 20
	// linksOfDay bounds the mails with links that an organization sends an address in a day.
	linksOfDay = 20
)

// LinksByMail mails the active partners with an e-mail address a link each into the portal. It
// says the same for an address that is nobody's. program is the id or the subdomain of the one
// program that is meant, or "" for all; from is the address of whoever asks; language is theirs
// for partners who have none of their own.
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

// LinkAgain mails a partner who is signed in a link, to sign in anew.
func (s *Service) LinkAgain(ctx context.Context, book attempt.Book, p db.Partner, prog db.Program) error {
	_, err := book.Note(ctx, attempt.Subject{Key: "portal partner:" + p.ID, Most: linksOfBoth})
	if err != nil {
		return err
	}
	return pgtx.Within(ctx, book.Pool, func(tx *pgtx.Tx) error {
		return s.mailLink(ctx, tx.Later(), p, prog, "", book.Clock.Now())
	})
}

// mailLink mails one partner a link. Links that the program has made stay: nobody who knows a
// partner's address can make them worthless.
func (s *Service) mailLink(
	ctx context.Context, q db.DBTX, p db.Partner, prog db.Program, language string, now clock.Time,
) error {
	token, err := newLink(ctx, q, MailMark, p, now, mailedLife)
	if err != nil {
		return err
	}
	key := secret.NameOf(token)
	return s.Mail.Queue(ctx, q, p.OrgID, mail.PortalSignIn(mail.ToPartner(p, prog, language), key, token), now)
}
