// Package tax keeps the status of partners' tax forms: which form a partner must submit, when one expires, and
// the effect of a program starting or ceasing to ask for forms (decisions, 156 and 185).
package tax

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
)

var queries = db.New()

// FormOf returns the form that a partner must submit: one for US persons, one for other companies and one for
// other people.
func FormOf(country, company *string) db.TaxFormType {
	switch {
	case country != nil && *country == "US":
		return db.TaxFormTypeW9
	case company != nil:
		return db.TaxFormTypeW8bene
	}
	return db.TaxFormTypeW8ben
}

// Expiry returns when a form expires: a W-9 never, a W-8 at the end of the third calendar year after it was
// signed.
func Expiry(form db.TaxFormType, signed clock.Time) *clock.Time {
	if form == db.TaxFormTypeW9 {
		return nil
	}
	// Answers have milliseconds, so this is the last one of the year.
	end := clock.At(time.Date(signed.Year()+4, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Millisecond))
	return &end
}

// askBatch bounds the partners of one transaction; the job asks the rest.
const askBatch = 5000

// askPrograms bounds the programs of one read.
const askPrograms = 500

// Require makes a program ask its partners for forms: each partner without one gets a requesting row. The program
// must be locked.
func Require(ctx context.Context, tx *pgtx.Tx, org, program string, now clock.Time) error {
	params := db.TaxFormsSetStatusParams{
		Status: db.TaxFormStateRequired, Previous: db.TaxFormStateNotRequired, UpdatedAt: now, ProgramID: program, OrgID: org,
	}
	if err := queries.TaxFormsSetStatus(ctx, tx.Later(), params); err != nil {
		return err
	}
	return askMissing(ctx, tx, org, program, now)
}

// askMissing adds a row for each of the next partners without one.
func askMissing(ctx context.Context, tx *pgtx.Tx, org, program string, now clock.Time) error {
	missing, err := queries.TaxFormsMissing(ctx, tx, db.TaxFormsMissingParams{
		ProgramID: program, OrgID: org, Lim: askBatch,
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	p := db.TaxFormsRequireParams{OrgID: org, ProgramID: program, CreatedAt: now}
	for _, m := range missing {
		p.Ids = append(p.Ids, ident.New(ident.TaxForm))
		p.PartnerIds = append(p.PartnerIds, m.ID)
		p.Types = append(p.Types, string(FormOf(m.CountryCode, m.CompanyName)))
	}
	return queries.TaxFormsRequire(ctx, tx.Later(), p)
}

// RequireRemaining asks the partners that Ask left out, or who joined in the meantime, each program in separate
// transactions. A failing program delays no other.
func RequireRemaining(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	var failed []error
	for after := ""; ; {
		programs, err := queries.TaxProgramsToRequire(ctx, pool, db.TaxProgramsToRequireParams{
			After: after, Lim: askPrograms,
		})
		if err != nil || len(programs) == 0 {
			return errors.Join(append(failed, err)...)
		}
		for _, p := range programs {
			after = p.ID
			if err := askProgram(ctx, pool, p, now); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", p.ID, err))
			}
		}
	}
}

// askProgram asks under the program's lock, since the program may just have stopped asking.
func askProgram(ctx context.Context, pool *pgxpool.Pool, p db.TaxProgramsToRequireRow, now clock.Time) error {
	return pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error {
		locked, err := queries.ProgramLock(ctx, tx, db.ProgramLockParams(p))
		if err != nil || !locked.RequireTaxForms {
			return err
		}
		return askMissing(ctx, tx, p.OrgID, p.ID, now)
	})
}

// RequireFor requires a form of one new partner.
func RequireFor(ctx context.Context, tx pgtx.DBTX, p db.Partner, now clock.Time) error {
	return require(ctx, tx, p.OrgID, p.ProgramID, p.ID, FormOf(p.CountryCode, p.CompanyName), now)
}

// require adds the row that requests a form from one partner.
func require(
	ctx context.Context, tx pgtx.DBTX, org, program, partner string, form db.TaxFormType, now clock.Time,
) error {
	return queries.TaxFormsRequire(ctx, tx, db.TaxFormsRequireParams{
		OrgID: org, ProgramID: program, CreatedAt: now, Ids: []string{ident.New(ident.TaxForm)},
		PartnerIds: []string{partner}, Types: []string{string(form)},
	})
}

// StopRequiring ends the requirement of a program. Requests become rows that need no form; submitted forms stay.
func StopRequiring(ctx context.Context, tx pgtx.DBTX, org, program string, now clock.Time) error {
	return queries.TaxFormsSetStatus(ctx, tx, db.TaxFormsSetStatusParams{
		Status: db.TaxFormStateNotRequired, Previous: db.TaxFormStateRequired, UpdatedAt: now, ProgramID: program, OrgID: org,
	})
}

// Expire retires up to lim expired forms, and requests new ones if the program wants them. It returns how many
// it retired.
func Expire(ctx context.Context, tx *pgtx.Tx, now clock.Time, lim int32) (int, error) {
	gone, err := queries.TaxFormsExpire(ctx, tx, db.TaxFormsExpireParams{Now: now, Lim: lim})
	if err != nil {
		return 0, err
	}
	for _, f := range gone {
		if !f.Asks {
			continue
		}
		if err := require(ctx, tx.Later(), f.OrgID, f.ProgramID, f.PartnerID, f.Type, now); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}
