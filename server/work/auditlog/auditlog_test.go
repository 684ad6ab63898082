package auditlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/work"
	"rail/server/work/auditlog"
)

func TestActorOf(t *testing.T) {
	t.Parallel()
	key, reason, kind, id := "key_1", "By the partner part_1 in the portal.", db.ActorTypeJob, "send-payouts"
	for name, c := range map[string]struct {
		entry db.AuditLogEntry
		want  work.Actor
	}{
		"as noted":              {db.AuditLogEntry{ActorType: &kind, ActorID: &id}, work.Actor{Kind: work.Job, ID: id}},
		"a key before":          {db.AuditLogEntry{APIKeyID: &key, Reason: &reason}, work.Actor{Kind: work.APIKey, ID: key}},
		"a partner before":      {db.AuditLogEntry{Reason: &reason}, work.Actor{Kind: work.Person, ID: "part_1"}},
		"nobody who was noted":  {db.AuditLogEntry{}, work.Actor{Kind: work.Person}},
		"a key and what it did": {db.AuditLogEntry{ActorType: new(db.ActorTypeAPIKey), ActorID: &key, APIKeyID: &key}, work.Actor{Kind: work.APIKey, ID: key}},
	} {
		require.Equal(t, c.want, auditlog.ActorOf(c.entry), name)
	}
}
