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

// version identifies a flow's branches by their content. Equal branches parse alike in any organization, so the
// key needs no id.
type version struct {
	digest  string
	trigger rules.Trigger
}

// versionOf includes the trigger, which decides what fields conditions may read.
func versionOf(r db.FlowsForPartnerRow) version { return version{string(r.BranchesDigest), r.Trigger} }

// LoadFlows returns the flows that can decide, from rows. If this server has not parsed some branches yet, it
// reads every flow again in another round trip: a decision must rest on one statement's snapshot. Parsing stops
// when ctx ends.
func LoadFlows(
	ctx context.Context, u *work.Unit, params db.FlowsForPartnerParams, rows []db.FlowsForPartnerRow, f *rules.Facts,
) ([]rules.Flow, error) {
	ready := map[version][]rules.Branch{} // a private copy: the cache may drop an entry before it is used
	for {
		rows, params.Wanted = deciding(rows, f), nil
		for _, r := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := fromCache(ready, r); err != nil {
				return nil, fmt.Errorf("flow %s: %w", r.ID, err)
			}
			if _, ok := ready[versionOf(r)]; !ok {
				params.Wanted = append(params.Wanted, r.BranchesDigest)
			}
		}
		if len(params.Wanted) == 0 {
			return toRules(rows, ready), nil
		}
		err := u.Read(ctx, func(tx pgtx.DBTX) (err error) {
			rows, err = queries.FlowsForPartner(ctx, tx, params)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
}

// deciding drops flows that cannot matter to the event. Among flows that pay, the first in order decides, even
// if it pays nothing (decisions, 134). The others are never parsed.
func deciding(rows []db.FlowsForPartnerRow, f *rules.Facts) []db.FlowsForPartnerRow {
	var out []db.FlowsForPartnerRow
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

// fromCache adds the row's branches to ready if the cache or the row has them. The query sends branches only on
// request.
func fromCache(ready map[version][]rules.Branch, r db.FlowsForPartnerRow) error {
	v := versionOf(r)
	if _, ok := ready[v]; ok {
		return nil
	}
	branches, ok := branchCache.get(v)
	if !ok && string(r.Branches) != "null" {
		var err error
		if branches, err = parse(r); err != nil {
			return err
		}
		branchCache.put(v, cacheEntry{branches, len(r.Branches)})
		ok = true
	}
	if ok {
		ready[v] = branches
	}
	return nil
}

// parse reads stored branches. They were validated when they were saved, so an
// error here means a damaged row.
func parse(r db.FlowsForPartnerRow) ([]rules.Branch, error) {
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

// Parse converts complete flow rows for the rules. The rows need not be stored.
func Parse(flows []db.Flow) ([]rules.Flow, error) {
	rows, ready := make([]db.FlowsForPartnerRow, len(flows)), map[version][]rules.Branch{}
	for i, f := range flows {
		rows[i] = db.FlowsForPartnerRow{
			ID: f.ID, GroupID: f.GroupID, PartnerID: f.PartnerID, Trigger: f.Trigger, Action: f.Action,
			TargetGroupID: f.TargetGroupID, RateType: f.RateType, RateValue: f.RateValue, ApprovalMode: f.ApprovalMode,
			ApprovalDelayDays: f.ApprovalDelayDays, Priority: f.Priority, CreatedAt: f.CreatedAt,
			BranchesDigest: []byte(f.ID), Branches: f.Branches, // the id serves as a unique digest here
		}
		branches, err := parse(rows[i])
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.ID, err)
		}
		ready[versionOf(rows[i])] = branches
	}
	return toRules(rows, ready), nil
}

// toRules converts the flows for the rules, in the order of the rows.
func toRules(rows []db.FlowsForPartnerRow, ready map[version][]rules.Branch) []rules.Flow {
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

// maxCacheBytes bounds the stored length of the branches in the cache. Parsed branches take up to eight times as
// much.
const maxCacheBytes = 4 << 20

// branchCache holds the parsed branches of this server, so that later events with the same flows parse nothing.
var branchCache = cache{young: map[version]cacheEntry{}}

// cacheEntry holds parsed branches and their stored length.
type cacheEntry struct {
	branches []rules.Branch
	length   int
}

// cache is a map of bounded size in two generations. New entries are young. When they fill half of the bound
// they become old, and the previous old entries are dropped. Using an old entry makes it young again.
type cache struct {
	mu         sync.Mutex
	young, old map[version]cacheEntry
	length     int // of the young entries
}

// get returns the branches of a version, and makes an old entry young again.
func (c *cache) get(v version) ([]rules.Branch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.young[v]
	if !ok {
		if p, ok = c.old[v]; ok {
			c.add(v, p)
		}
	}
	return p.branches, ok
}

// put adds an entry, unless another goroutine has just added the same.
func (c *cache) put(v version, p cacheEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[v]; !ok {
		c.add(v, p)
	}
}

// entryBytes is the overhead of an entry beyond its branches, measured as stored length.
const entryBytes = 64

// add writes into the young generation and begins a new one when it is full. The
// caller holds the mutex.
func (c *cache) add(v version, p cacheEntry) {
	if c.length += p.length + entryBytes; c.length > maxCacheBytes/2 {
		c.young, c.old, c.length = map[version]cacheEntry{}, c.young, p.length+entryBytes
	}
	c.young[v] = p
}
