package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
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

// hashesPage is the number of hashes that are read at once.
const hashesPage = 5_000

// monthFile matches the name of a month's file.
var monthFile = regexp.MustCompile(`^\d{4}-\d{2}\.txt$`)

// openMonth returns the month before which all months are published: a day after a month has ended by UTC, it has
// ended in every time zone, and no unit of work can still issue a statement in it, whatever the program's time zone was
// or becomes.
func openMonth(now clock.Time) string { return now.UTC().Add(-24 * time.Hour).Format("2006-01") }

// ledger answers with a line for each month of a program: the month, the number of statements and their root.
func (p *Pages) ledger(c echo.Context) error {
	ctx, end := context.WithTimeout(c.Request().Context(), timeout)
	defer end()
	program, err := p.program(ctx, c)
	if err != nil {
		return err
	}
	text, err := p.months.of(ctx, p, program)
	if err != nil {
		return err
	}
	if text == "" {
		return noLedger()
	}
	ledgerHead(c)
	return c.String(http.StatusOK, text)
}

// month answers with the hashes of a month's statements, in the order of their numbers. The SHA-256 of this text is
// the month's root.
func (p *Pages) month(c echo.Context) error {
	ctx, end := context.WithTimeout(c.Request().Context(), timeout)
	defer end()
	name := c.Param("month")
	month := strings.TrimSuffix(name, ".txt")
	if !monthFile.MatchString(name) || month >= openMonth(p.Clock.Now()) {
		return noLedger()
	}
	program, err := p.program(ctx, c)
	if err != nil {
		return err
	}
	for after := int64(0); ; {
		rows, err := queries.StatementHashes(ctx, p.Pool, db.StatementHashesParams{
			ProgramID: program.ID, OrgID: program.OrgID, Month: month, After: after, Lim: hashesPage,
		})
		switch {
		case err != nil:
			return err
		case len(rows) == 0 && after == 0:
			return noLedger()
		case len(rows) == 0:
			return nil
		case after == 0:
			ledgerHead(c)
			c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextPlainCharsetUTF8)
		}
		after = rows[len(rows)-1].Sequence
		if err := writeHashes(c.Response(), rows); err != nil {
			return err
		}
	}
}

func writeHashes(w io.Writer, rows []db.StatementHashesRow) error {
	var text strings.Builder
	for _, r := range rows {
		text.WriteString(r.Hash + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// program finds the program of an address, by its subdomain or its id as on its join page.
func (p *Pages) program(ctx context.Context, c echo.Context) (db.Program, error) {
	door := c.Param("program")
	if !site.Spelled(door) {
		return db.Program{}, noLedger()
	}
	program, err := queries.JoinDoor(ctx, p.Pool, door)
	if errors.Is(err, pgx.ErrNoRows) {
		return program, noLedger()
	}
	return program, err
}

// noLedger is the same for an unknown program and for one without a published month.
func noLedger() error {
	return problem.New(problem.RouteNotFound, "There is no such ledger.")
}

func ledgerHead(c echo.Context) {
	c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, "*")
	c.Response().Header().Set("Cache-Control", "public, max-age=3600")
}

// maxMonths bounds the programs whose months are cached.
const maxMonths = 1_000

// months caches the published months of programs, since their roots are computed from every statement.
type months struct {
	mu     sync.Mutex
	before string // the month before which they are published
	texts  map[string]string
}

// of returns the text of a program's months.
func (m *months) of(ctx context.Context, p *Pages, program db.Program) (string, error) {
	before := openMonth(p.Clock.Now())
	m.mu.Lock()
	if m.before != before || len(m.texts) >= maxMonths {
		m.before, m.texts = before, map[string]string{}
	}
	text, cached := m.texts[program.ID]
	m.mu.Unlock()
	if cached {
		return text, nil
	}
	rows, err := queries.StatementMonths(ctx, p.Pool, db.StatementMonthsParams{
		ProgramID: program.ID, OrgID: program.OrgID, Before: before,
	})
	if err != nil {
		return "", err
	}
	for _, r := range rows {
		text += fmt.Sprintf("%s %d %s\n", r.Month, r.Statements, r.Root)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before == before {
		m.texts[program.ID] = text
	}
	return text, nil
}
