package commission

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// branch is the stored form of a flow's branch. RateValue is basis points for a
// percentage, minor units for a fixed amount.
type branch struct {
	ID         string          `json:"id"`
	Conditions json.RawMessage `json:"conditions"`
	RateType   rules.RateType  `json:"rate_type"`
	RateValue  int64           `json:"rate_value"`
}

// version identifies the branches of a flow by their content: equal branches
// parse alike, in any organization, so that the key needs no id.
type version struct {
	digest  string
	trigger rules.Trigger
}

// versionOf includes the trigger, which decides what fields conditions may read.
func versionOf(r db.FlowsAskedRow) version { return version{string(r.BranchesDigest), r.Trigger} }

// LoadFlows returns the flows of rows that can decide. Branches that this server
// has not parsed yet cost another round trip, and it reads every flow anew: a
// decision rests on what one statement saw. The context ends the work if the
// flows take longer to parse than the request has time.
func LoadFlows(
	ctx context.Context, u *work.Unit, asked db.FlowsAskedParams, rows []db.FlowsAskedRow, f *rules.Facts,
) ([]rules.Flow, error) {
	ready := map[version][]rules.Branch{} // its own, as the cache may drop an entry before it is used
	for {
		rows, asked.Wanted = deciding(rows, f), nil
		for _, r := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := recall(ready, r); err != nil {
				return nil, fmt.Errorf("flow %s: %w", r.ID, err)
			}
			if _, known := ready[versionOf(r)]; !known {
				asked.Wanted = append(asked.Wanted, r.BranchesDigest)
			}
		}
		if len(asked.Wanted) == 0 {
			return toRules(rows, ready), nil
		}
		err := u.Read(ctx, func(tx pgtx.DBTX) (err error) {
			rows, err = queries.FlowsAsked(ctx, tx, asked)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
}

// deciding leaves out flows that cannot matter to the event: of those that pay,
// the first in order decides, also if it pays nothing (decisions, 134). Nothing
// is parsed for the others.
func deciding(rows []db.FlowsAskedRow, f *rules.Facts) []db.FlowsAskedRow {
	var out []db.FlowsAskedRow
	pays := false
	for _, r := range rows {
		if !rules.Applies(rules.Flow{GroupID: r.GroupID, PartnerID: r.PartnerID}, f.Partner.ID, f.Partner.GroupID) {
			continue
		}
		if r.Action == rules.GenerateCommission {
			if pays {
				continue
			}
			pays = true
		}
		out = append(out, r)
	}
	return out
}

// recall adds the row's branches to ready if this server has them parsed, or if
// the row brought them. The query sends branches only to those who ask.
func recall(ready map[version][]rules.Branch, r db.FlowsAskedRow) error {
	v := versionOf(r)
	if _, known := ready[v]; known {
		return nil
	}
	branches, known := kept.get(v)
	if !known && string(r.Branches) != "null" {
		var err error
		if branches, err = parse(r); err != nil {
			return err
		}
		kept.put(v, parsed{branches, len(r.Branches)})
		known = true
	}
	if known {
		ready[v] = branches
	}
	return nil
}

// parse reads stored branches. They were validated when they were saved, so an
// error here means a damaged row.
func parse(r db.FlowsAskedRow) ([]rules.Branch, error) {
	var stored []branch
	if err := json.Unmarshal(r.Branches, &stored); err != nil {
		return nil, err
	}
	out := make([]rules.Branch, len(stored))
	for i, b := range stored {
		conditions, err := rules.ParseConditions(b.Conditions, r.Trigger)
		if err != nil {
			return nil, err
		}
		out[i] = rules.Branch{ID: b.ID, Conditions: conditions, RateType: b.RateType, RateValue: b.RateValue}
	}
	return out, nil
}

// Parse returns flows as the rules take them, of whole rows, which need not be stored.
func Parse(flows []db.Flow) ([]rules.Flow, error) {
	rows, ready := make([]db.FlowsAskedRow, len(flows)), map[version][]rules.Branch{}
	for i, f := range flows {
		rows[i] = db.FlowsAskedRow{
			ID: f.ID, GroupID: f.GroupID, PartnerID: f.PartnerID, Trigger: f.Trigger, Action: f.Action,
			TargetGroupID: f.TargetGroupID, RateType: f.RateType, RateValue: f.RateValue, ApprovalMode: f.ApprovalMode,
			ApprovalDelayDays: f.ApprovalDelayDays, Priority: f.Priority, CreatedAt: f.CreatedAt,
			BranchesDigest: []byte(f.ID), Branches: f.Branches, // an id is as good as a digest here
		}
		branches, err := parse(rows[i])
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.ID, err)
		}
		ready[versionOf(rows[i])] = branches
	}
	return toRules(rows, ready), nil
}

// toRules returns the flows as the rules take them, in the order of the rows.
func toRules(rows []db.FlowsAskedRow, ready map[version][]rules.Branch) []rules.Flow {
	out := make([]rules.Flow, len(rows))
	for i, r := range rows {
		out[i] = rules.Flow{
			ID: r.ID, GroupID: r.GroupID, PartnerID: r.PartnerID, Trigger: r.Trigger, Action: r.Action,
			TargetGroupID: r.TargetGroupID, ApprovalMode: r.ApprovalMode, ApprovalDelayDays: r.ApprovalDelayDays,
			Priority: r.Priority, CreatedAt: r.CreatedAt, Branches: ready[versionOf(r)],
		}
		if r.RateType != nil && r.RateValue != nil {
			out[i].RateType, out[i].RateValue = *r.RateType, *r.RateValue
		}
	}
	return out
}

// keptBytes bounds the stored length of the branches that a server keeps
// parsed. Parsed they take up to eight times as much.
const keptBytes = 4 << 20

// kept has the branches that this server has parsed. Every later event with
// the same flows parses nothing.
var kept = cache{young: map[version]parsed{}}

// parsed are branches and the length in which they are stored.
type parsed struct {
	branches []rules.Branch
	length   int
}

// cache is a map of bounded size in two generations. New entries are young; once
// they fill half of the bound they become old, and the former old are dropped.
// What is asked for regularly moves back to the young and stays.
type cache struct {
	mu         sync.Mutex
	young, old map[version]parsed
	length     int // of the young
}

// get returns the branches of a version, and makes an old entry young again.
func (c *cache) get(v version) ([]rules.Branch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, known := c.young[v]
	if !known {
		if p, known = c.old[v]; known {
			c.add(v, p)
		}
	}
	return p.branches, known
}

// put adds an entry, unless another goroutine has just added the same.
func (c *cache) put(v version, p parsed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.young[v]; !known {
		c.add(v, p)
	}
}

// entryBytes is what an entry takes beside its branches, in terms of their
// stored length.
const entryBytes = 64

// add writes into the young generation and begins a new one when it is full. The
// caller holds the mutex.
func (c *cache) add(v version, p parsed) {
	if c.length += p.length + entryBytes; c.length > keptBytes/2 {
		c.young, c.old, c.length = map[version]parsed{}, c.young, p.length+entryBytes
	}
	c.young[v] = p
}
