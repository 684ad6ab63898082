package bar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bug is a fault in the server's sources, and the stage that must find it. The
// repository's own binary is free of them: go build -overlay compiles another text
// of one file.
type bug struct {
	name, stage  string
	file         string
	after        string // search for from behind this text; "" searches the whole file
	from, to     string // a line or a part of one, and its replacement
	alsoForSmoke bool   // few are: each costs a build and a stage
}

// bugs lists the faults. Each is a plausible mistake: a forgotten condition, an ignored error, a reversed order or
// rounding. There is at least one for every stage from G2 to G9 and for G13, and one for each kind of work of a stage. A changed
// stage must still find its bug (BAR='-stage g10 -bug text').
func bugs() []bug { //nolint:funlen // a list
	return []bug{
		{
			"a query without its tenant", "g2", "gen/db/sales.sql.go", "const saleGet ", "AND t.org_id = $2",
			"AND $2::text IS NOT NULL", false,
		},
		{
			"a malformed id reaches the database", "g2", "server/http/middleware/query.go", "func plausibleID",
			"if id[i] <= 0x20 || id[i] > 0x7e {", "if i < 0 {", false,
		},
		{
			"scopes not checked", "g3", "server/http/middleware/scope.go", "", "!s.actor.Allows(s.route.Scopes)",
			"!s.actor.Allows(nil)", true,
		},
		{
			"answers of keys not kept", "g4", "server/http/middleware/work.go", "",
			"if err := f.store(ctx, u, r, out); err != nil {", "if err := error(nil); err != nil {", false,
		},
		{
			"bodies of keys not compared", "g4", "server/http/middleware/idempotency.go", "",
			"!hmac.Equal(row.Fingerprint, r.fingerprint)", "!hmac.Equal(r.fingerprint, r.fingerprint)", true,
		},
		{
			"a page begins with its cursor", "g5", "gen/db/lists.sql.go", "const tagPage ", "(t.created_at, t.id) < ($3",
			"(t.created_at, t.id) <= ($3", false,
		},
		{
			"events of refunds lost", "g6", "server/http/middleware/work.go", "", "err = u.Events.Flush(ctx, u.Later())",
			"if !bytes.Contains(out.body.Bytes(), []byte(\"voided_commissions\")) {\nerr = u.Events.Flush(ctx, u.Later())\n}",
			false,
		},
		{
			"refunds lower what has left in a file", "g6", "server/money/payout/payout.go", "func Lower(",
			"if p.Status == db.PayoutStatusProcessing || p.Status == db.PayoutStatusPaid {",
			"if p.Status == db.PayoutStatusPaid {", false,
		},
		{
			"an answer although the commit failed", "g7", "server/http/middleware/work.go", "",
			"if err := tx.Commit(ctx); err != nil {", "if err := tx.Commit(ctx); err != nil && ctx == nil {", false,
		},
		{
			"a database that is away answers 500", "g7", "server/http/middleware/errors.go", "func databaseProblem",
			"if unavailable(pg.Code) || pgtx.Again(err) {", "if pg.Code == \"\" && pgtx.Again(err) {", false,
		},
		{
			"redirects followed", "g8", "server/outbound/webhook/attempt.go", "CheckRedirect", "return http.ErrUseLastResponse",
			"return nil", false,
		},
		{
			"an endpoint's line backwards", "g8", "gen/db/webhooks.sql.go", "const webhookNext ", "ORDER BY d.event_seq, d.id",
			"ORDER BY d.event_seq DESC, d.id", false,
		},
		{
			"another text signed than sent", "g8", "server/outbound/webhook/sign.go", "func RailSignature",
			`mac([]byte(s), t, ".", string(body))`, `mac([]byte(s), t, string(body))`, false,
		},
		{
			"another id on retry", "g13", "server/money/payout/paypal/paypal.go", "func (r *Rail) Submit",
			"senderHeader{SenderBatchID: t.ID}", `senderHeader{SenderBatchID: t.ID + r.now().Format("150405.000")}`, false,
		},
		{
			"success on submission", "g13", "server/money/payout/follow.go", "r.submitted = true",
			"status, err := r.rail.Status(call, transferOf(p))", "status, err := Status{State: Settled}, error(nil)", false,
		},
		{
			"a reversal is ignored", "g13", "server/money/payout/follow.go", "case Rejected, Returned:",
			"return r.attend(ctx, p, status.Attention)", "return nil", false,
		},
		{
			"HUF with decimals", "g13", "server/money/payout/paypal/amount.go", "", `[]string{"HUF", "TWD"}`, `[]string{"TWD"}`,
			false,
		},
		{"money rounded down", "g9", "server/money/rules/money.go", "func ratio", "lo, uint64(d/2), 0)", "lo, 0, 0)", false},
	}
}

// seededBugs is G10: it builds a faulty server for each bug, and runs on it the stage that must find the bug, in its
// smoke size. A stage that cannot fail proves nothing. A stage that finds its bug in the smoke size also finds it in
// the full size.
func seededBugs(ctx context.Context, sys *system, size Size) (figures, error) {
	root, err := module(ctx)
	if err != nil {
		return nil, err
	}
	caught := 0
	for _, b := range bugs() {
		if size.Smoke && !b.alsoForSmoke || !strings.Contains(b.name, sys.bug) {
			continue
		}
		found, err := sys.runBug(ctx, root, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		if found == nil {
			sys.fault("%s did not find: %s", b.stage, b.name)
			continue
		}
		caught++
	}
	if caught == 0 {
		return nil, errors.New("no bug was found")
	}
	var f figures
	f.add("seeded bugs, each found by its stage", caught)
	return f, nil
}

// module returns the folder of the sources.
func module(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "rail").Output()
	return strings.TrimSpace(string(out)), err
}

// runBug returns the failure of the bug's stage on the faulty server. A nil found
// means that the stage missed the bug.
func (sys *system) runBug(ctx context.Context, root string, b bug) (found, err error) {
	overlay, remove, err := b.writeOverlay(root)
	if err != nil {
		return nil, err
	}
	defer remove()
	binary, discard, err := build(ctx, []string{"-overlay", overlay})
	if err != nil {
		return nil, err
	}
	defer discard()
	if err := sys.cluster.answers(ctx); err != nil { // the last bug may have left the cluster in recovery
		return nil, err
	}
	faulty, err := newSystem(ctx, sys.cluster, binary, sys.seed)
	if err != nil {
		return nil, err
	}
	defer faulty.close()
	for _, s := range stages() {
		if s.name == b.stage {
			r := faulty.stage(ctx, s, Size{Smoke: true})
			return r.err, ctx.Err()
		}
	}
	return nil, fmt.Errorf("there is no stage %s", b.stage)
}

// writeOverlay writes the faulty text of the file and an overlay for the compiler. It fails if the file no longer
// contains the line, so that bugs stay up to date with the code.
func (b bug) writeOverlay(root string) (overlay string, remove func(), err error) {
	path := filepath.Join(root, b.file)
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	start := strings.Index(string(raw), b.after)
	if start < 0 || !strings.Contains(string(raw[start:]), b.from) {
		return "", nil, fmt.Errorf("%s no longer contains %q after %q", b.file, b.from, b.after)
	}
	faulty := string(raw[:start]) + strings.Replace(string(raw[start:]), b.from, b.to, 1)
	dir, err := temporary()
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // temporary
	replaced := filepath.Join(dir, "faulty.go")
	names, err := json.Marshal(M{"Replace": M{path: replaced}})
	if err != nil {
		return "", remove, err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, remove, errors.Join(os.WriteFile(replaced, []byte(faulty), 0o600), os.WriteFile(overlay, names, 0o600))
}
