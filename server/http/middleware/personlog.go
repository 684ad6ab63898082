package middleware

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"rail/server/work"
	"rail/server/work/auditlog"
)

// logPerson writes a line of the audit log for a change by a person, unless the change has written its own: what
// people do is always there under their names. It names the operation, what it was done to and the members
// that were sent, but none of their values, which may be secret.
func logPerson(ctx context.Context, s *state, u *work.Unit, out *buffered) error {
	if !s.actor.Person || u.Logged() || slices.Contains(s.route.Scopes, "read") {
		return nil
	}
	var sent map[string]json.RawMessage
	_ = json.Unmarshal(s.body, &sent) // without a body nothing was sent
	var made struct {
		ID        string `json:"id"`
		ProgramID string `json:"program_id"`
	}
	_ = json.Unmarshal(out.body.Bytes(), &made) // an answer without an id has nothing to name
	delete(sent, "program_id")
	program := made.ProgramID
	for _, id := range append(u.Programs, u.OrgID) {
		if program == "" {
			program = id
		}
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: program, Action: actionOf(s.route.ID), TargetID: made.ID,
		After: map[string]any{"changed": slices.Sorted(maps.Keys(sent))},
	})
}

// past are the verbs of operations as the audit log has them; others stay as they are.
var past = map[string]string{
	"create": "created", "update": "updated", "delete": "deleted", "send": "sent", "pause": "paused", "resume": "resumed",
	"replay": "replayed", "rotate": "rotated", "ping": "pinged", "resolve": "resolved", "review": "reviewed",
	"withdraw": "withdrawn", "refund": "refunded", "cancel": "canceled", "export": "exported",
}

// actionOf is an operation as the audit log names it: updateProgram is program.updated.
func actionOf(operation string) string {
	at := strings.IndexFunc(operation, unicode.IsUpper)
	if at < 0 {
		return operation
	}
	verb, noun := operation[:at], operation[at:]
	var b strings.Builder
	for i, r := range noun {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(noun[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if done := past[verb]; done != "" {
		verb = done
	}
	return b.String() + "." + verb
}
