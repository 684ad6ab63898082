// Package auditlog writes the audit log, in the transaction of the change. Entries are never changed.
package auditlog

import (
	"context"
	"encoding/json"
	"regexp"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/work"
)

// Entry is an audit entry. Before and After are the changed fields as JSON, or nil.
type Entry struct {
	ProgramID, Action, TargetID string
	Reason                      *string
	Before, After               any
}

// Record writes the entry with the change, for the unit's actor.
func Record(ctx context.Context, u *work.Unit, e Entry) error {
	if u.Sample {
		return nil
	}
	before, err := snapshot(e.Before)
	if err != nil {
		return err
	}
	after, err := snapshot(e.After)
	if err != nil {
		return err
	}
	u.Log()
	return db.New().AuditInsert(ctx, u.Later(), db.AuditInsertParams{
		ID: ident.New(ident.Audit), OrgID: u.OrgID, ProgramID: e.ProgramID, Action: e.Action, TargetID: e.TargetID,
		APIKeyID: u.Actor.Key(), ActorType: new(db.ActorType(u.Actor.Kind)), ActorID: u.Actor.ID, RequestID: &u.RequestID,
		Reason: e.Reason, Before: before, After: after, CreatedAt: u.Now, Client: u.Actor.Client,
	})
}

// Target is one of many changed objects, with its state before.
type Target struct {
	ID     string
	Before any
}

// RecordEach writes an entry for each target, with the other fields of e, in one statement.
func RecordEach(ctx context.Context, u *work.Unit, e Entry, targets []Target) error {
	if u.Sample {
		return nil
	}
	after, err := snapshot(e.After)
	if err != nil {
		return err
	}
	p := db.AuditInsertManyParams{
		OrgID: u.OrgID, ProgramID: e.ProgramID, Action: e.Action, APIKeyID: u.Actor.Key(),
		ActorType: new(db.ActorType(u.Actor.Kind)), ActorID: u.Actor.ID, RequestID: &u.RequestID, Reason: e.Reason,
		After: after, CreatedAt: u.Now, Client: u.Actor.Client,
	}
	for _, t := range targets {
		before, err := snapshot(t.Before)
		if err != nil {
			return err
		}
		p.Ids, p.TargetIds = append(p.Ids, ident.New(ident.Audit)), append(p.TargetIds, t.ID)
		p.Befores = append(p.Befores, string(before))
	}
	return db.New().AuditInsertMany(ctx, u.Later(), p)
}

func snapshot(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}

// byPartner matches the reason of partners' changes in the portal, which used to be the only reference to the
// partner.
var byPartner = regexp.MustCompile(`^By the partner (\w+) in the portal`)

// ActorOf returns an entry's actor. An entry from before actors were stored belongs to its key if it has one,
// else to the partner in its reason.
func ActorOf(e db.AuditLogEntry) work.Actor {
	switch {
	case e.ActorType != nil:
		return work.Actor{Kind: work.Kind(*e.ActorType), ID: opt.Value(e.ActorID)}
	case e.APIKeyID != nil:
		return work.Actor{Kind: work.APIKey, ID: *e.APIKeyID}
	}
	by := work.Actor{Kind: work.Person}
	if found := byPartner.FindStringSubmatch(opt.Value(e.Reason)); found != nil {
		by.ID = found[1]
	}
	return by
}
