package check

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/money/proof"
	"rail/server/money/statement"
	"rail/server/opt"
)

const (
	// statementsPage is the number of statements that are read at once.
	statementsPage = 200
	// maxFindings is the number of findings of an equation.
	maxFindings = 100
)

// statements finds stored statements with a wrong signature or hash, with members that differ from their row, and with
// lines that differ from the rows of their payout.
func statements(ctx context.Context, tx pgx.Tx, partners []string) (out []Finding, err error) {
	for after := ""; len(out) < maxFindings; {
		rows, err := queries.AuditStatements(ctx, tx, db.AuditStatementsParams{
			After: after, Partners: partners, Lim: statementsPage,
		})
		if err != nil || len(rows) == 0 {
			return out, err
		}
		after = rows[len(rows)-1].Statement.ID
		lines, err := statementLines(ctx, tx, rows)
		if err != nil {
			return out, err
		}
		for _, row := range rows {
			for _, fault := range statementFaults(row, lines[row.Statement.PayoutID]) {
				out = append(out, Finding{What: row.Statement.ID, Message: fault})
			}
		}
	}
	return out[:min(len(out), maxFindings)], nil
}

// statementLines reads the lines of payouts that are still paid by a statement.
func statementLines(ctx context.Context, tx pgx.Tx, rows []db.AuditStatementsRow) (
	map[string][]db.StatementLinesRow, error,
) {
	var paid []string
	for _, row := range rows {
		if row.Current {
			paid = append(paid, row.Statement.PayoutID)
		}
	}
	lines := map[string][]db.StatementLinesRow{}
	found, err := queries.AuditStatementLines(ctx, tx, paid)
	for _, l := range found {
		lines[*l.PayoutID] = append(lines[*l.PayoutID], db.StatementLinesRow(l))
	}
	return lines, err
}

// statementFaults returns the faults of a stored statement.
func statementFaults(row db.AuditStatementsRow, lines []db.StatementLinesRow) (faults []string) {
	s := row.Statement
	if hash := proof.Hash(s.Document); hash != s.Hash {
		faults = append(faults, "its hash is not the hash of its document")
	}
	var keys []proof.Key
	if row.PublicKey != nil && row.KeyCreatedAt != nil {
		k := proof.Key{
			ID: s.KeyID, PublicKey: base64.StdEncoding.EncodeToString(row.PublicKey), CreatedAt: row.KeyCreatedAt.Time,
		}
		if row.KeyRetiredAt != nil {
			k.RetiredAt = &row.KeyRetiredAt.Time
		}
		keys = append(keys, k)
	}
	signed := proof.Document{Statement: s.Document, Signature: s.Signature, KeyID: s.KeyID}
	for _, err := range proof.Check(signed, keys, nil) {
		faults = append(faults, err.Error())
	}
	d, err := statement.Read(s.Document)
	if err != nil {
		return append(faults, err.Error())
	}
	if fault := documentFault(s, d); fault != "" {
		faults = append(faults, fault)
	}
	if row.Current {
		faults = append(faults, lineFaults(d, lines)...)
	}
	return faults
}

// documentFault names a member of a document that differs from its row.
func documentFault(s db.Statement, d statement.Document) string {
	for _, m := range []struct {
		name string
		same bool
	}{
		{"number", d.Number == s.Number && strings.HasSuffix(s.Number, fmt.Sprintf("-%d-%06d", s.Year, s.Sequence))},
		{"issued_at", d.IssuedAt.String() == s.IssuedAt.String()},
		{"program.id", d.Program.ID == s.ProgramID},
		{"partner.id", d.Partner.ID == s.PartnerID},
		{"payout.id", d.Payout.ID == s.PayoutID},
		{"previous_hash", opt.Value(d.PreviousHash) == opt.Value(s.PreviousHash)},
		{"corrects", opt.Value(d.Corrects) == opt.Value(s.Corrects)},
	} {
		if !m.same {
			return m.name + " in its document differs from its row"
		}
	}
	return ""
}

// lineFaults compares the lines of a statement with those of today's rows.
func lineFaults(d statement.Document, lines []db.StatementLinesRow) []string {
	sum, total := proof.NewDigest(), int64(0)
	for _, row := range lines {
		total += row.AmountMinor
		if err := sum.AddLine(statement.LineOf(row, d.Salt)); err != nil {
			return []string{err.Error()}
		}
	}
	if int64(sum.Count()) != d.LinesCount || sum.Sum() != d.LinesHash {
		return []string{fmt.Sprintf("its %d lines are not those of %s", d.LinesCount, d.Payout.ID)}
	}
	if total != d.Payout.AmountMinor {
		return []string{fmt.Sprintf("its lines sum to %d, its amount is %d", total, d.Payout.AmountMinor)}
	}
	return nil
}
