package middleware

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"rail/server/http/agent"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// logPerson writes a line of the audit log for a change by a person or an MCP client, unless the change has written
// one: the log shows all their changes under their names. The line names the operation, the
// object and the members of the body, but not their values, which may be secret. Previews write none.
func logPerson(ctx context.Context, s *state, u *work.Unit, out *buffered) error {
	if !s.actor.Person && s.actor.Client == "" || u.Logged() || slices.Contains(s.route.Scopes, "read") {
		return nil
	}
	sent := agent.Arguments{}
	_ = json.Unmarshal(s.body, &sent) // no members without a body
	if agent.DryRun(s.route.Operation, sent) {
		return nil
	}
	var object struct {
		ID        string `json:"id"`
		ProgramID string `json:"program_id"`
	}
	_ = json.Unmarshal(out.body.Bytes(), &object) // no id without a body
	delete(sent, "program_id")
	program := object.ProgramID
	for _, id := range append(u.Programs, u.OrgID) {
		if program == "" {
			program = id
		}
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: program, Action: actionOf(s.route.ID), TargetID: object.ID,
		After: map[string]any{"changed": slices.Sorted(maps.Keys(sent))},
	})
}

// pastTense maps verbs of operations to those of the audit log.
var pastTense = map[string]string{
	"create": "created", "update": "updated", "delete": "deleted", "send": "sent", "pause": "paused", "resume": "resumed",
	"replay": "replayed", "rotate": "rotated", "ping": "pinged", "resolve": "resolved", "review": "reviewed",
	"withdraw": "withdrawn", "refund": "refunded", "cancel": "canceled", "export": "exported",
}

// actionOf returns the audit log's name of an operation: updateProgram is program.updated.
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
	if done := pastTense[verb]; done != "" {
		verb = done
	}
	return b.String() + "." + verb
}
