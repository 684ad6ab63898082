package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/problem"
)

// LedgerPath is the address of a program's list of months, and MonthPath the one of a month's hashes.
const (
	LedgerPath = "/:program/ledger.txt"
	MonthPath  = "/:program/ledger/:month"
)

const (
	// hashesPage is the number of hashes that are read at once.
	hashesPage = 5_000
	// maxHashes bounds a month's hashes: 13 MB of text.
	maxHashes = 200_000
)

// monthFile matches the name of a month's file.
var monthFile = regexp.MustCompile(`^\d{4}-\d{2}\.txt$`)

// openMonth returns the month before which all months are published: a day after a month has ended by UTC, it has
// ended in every time zone, and no unit of work can still issue a statement in it, whatever the program's time zone was
// or becomes.
func openMonth(now clock.Time) string { return now.UTC().Add(-24 * time.Hour).Format("2006-01") }

// ledger answers with a line for each month of a program: the month, the number of statements and their root.
func (p *Pages) ledger(c echo.Context) error {
	before := openMonth(p.Clock.Now())
	return p.published(c, before, "", func(ctx context.Context, program db.StatementProgramRow) (string, error) {
		rows, err := queries.StatementMonths(ctx, p.Pool, db.StatementMonthsParams{
			ProgramID: program.ID, OrgID: program.OrgID, Before: before,
		})
		var text strings.Builder
		for _, r := range rows {
			fmt.Fprintf(&text, "%s %d %s\n", r.Month, r.Statements, r.Root)
		}
		return text.String(), err
	})
}

// month answers with the hashes of a month's statements, in the order of their numbers. The SHA-256 of this text is
// the month's root.
func (p *Pages) month(c echo.Context) error {
	name, before := c.Param("month"), openMonth(p.Clock.Now())
	month := strings.TrimSuffix(name, ".txt")
	if !monthFile.MatchString(name) || month >= before {
		return noLedger()
	}
	return p.published(c, before, month, func(ctx context.Context, program db.StatementProgramRow) (string, error) {
		return hashes(ctx, p.Pool, db.StatementHashesParams{
			ProgramID: program.ID, OrgID: program.OrgID, Month: month, Lim: hashesPage,
		})
	})
}

// published answers with a text about the months before one. The text is complete before the first byte is sent, since
// a part of it could be taken for all of it.
func (p *Pages) published(
	c echo.Context, before, name string, read func(context.Context, db.StatementProgramRow) (string, error),
) error {
	ctx, end := context.WithTimeout(c.Request().Context(), timeout)
	defer end()
	program, err := p.program(ctx, c.Param("program"))
	if err != nil {
		return err
	}
	text, err := p.months.of(ctx, before, program.ID+"/"+name, func(ctx context.Context) (string, error) {
		return read(ctx, program)
	})
	if err != nil {
		return err
	}
	if text == "" {
		return noLedger()
	}
	c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, "*")
	c.Response().Header().Set("Cache-Control", "public, max-age=3600")
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(text)))
	return c.String(http.StatusOK, text)
}

// hashes reads the hashes of a month's statements.
func hashes(ctx context.Context, pool *pgxpool.Pool, of db.StatementHashesParams) (string, error) {
	var text strings.Builder
	for read := 0; ; {
		rows, err := queries.StatementHashes(ctx, pool, of)
		if err != nil || len(rows) == 0 {
			return text.String(), err
		}
		if read += len(rows); read > maxHashes {
			return "", fmt.Errorf("%s has more than %d statements in %s", of.ProgramID, maxHashes, of.Month)
		}
		for _, r := range rows {
			text.WriteString(r.Hash + "\n")
		}
		of.After = rows[len(rows)-1].Sequence
	}
}

// program finds the program of an address by its id. Its subdomain could be guessed.
func (p *Pages) program(ctx context.Context, id string) (db.StatementProgramRow, error) {
	if !site.IsStorable(id) {
		return db.StatementProgramRow{}, noLedger()
	}
	program, err := queries.StatementProgram(ctx, p.Pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return program, noLedger()
	}
	return program, err
}

// noLedger is the same for an unknown program and for one without a published month.
func noLedger() error {
	return problem.New(problem.RouteNotFound, "There is no such ledger.")
}
