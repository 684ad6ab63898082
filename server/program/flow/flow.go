// Package flow has the rules of commission flows: what a flow may contain, how many a program may have, and the
// events of a change.
package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/ident"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

const (
	// maxFlows bounds the flows of a program, active or not, since sales read them.
	maxFlows = 500
	// maxConditions bounds the conditions of a flow, and maxActiveConditions
	// those of a program's active flows together, in bytes of JSON (decisions, 232).
	maxConditions       = 16 << 10
	maxActiveConditions = 256 << 10
	// maxPercent is the highest percentage in basis points (decisions, 132).
	maxPercent = 50_000
	// defaultPriority leaves room on both sides.
	defaultPriority = 100
)

var queries = db.New()

// New is a flow to add; nil members get their defaults.
type New struct {
	ProgramID, Name                                string
	Description, GroupID, PartnerID, TargetGroupID *string
	Trigger, Action, ApprovalMode, Status          *string
	RateType                                       *string
	RateValue, ApprovalDelayDays, Priority         *int64
	Branches                                       []BranchInput
}

// Change is a change to a flow; nil and unspecified members stay.
type Change struct {
	Name, Trigger, Action, ApprovalMode, Status              *string
	Priority                                                 *int64
	Description, GroupID, PartnerID, TargetGroupID, RateType nullable.Nullable[string]
	RateValue, ApprovalDelayDays                             nullable.Nullable[int64]
	Branches                                                 []BranchInput
}

// BranchInput is a branch of a request. With the id of a stored branch it replaces that; without an id it is
// new.
type BranchInput struct {
	ID, Label  *string
	Conditions json.RawMessage
	RateType   string
	RateValue  int64
}

// Branch is a stored branch.
type Branch struct {
	ID         string          `json:"id"`
	Label      *string         `json:"label"`
	Conditions json.RawMessage `json:"conditions"`
	RateType   db.RateType     `json:"rate_type"`
	RateValue  int64           `json:"rate_value"`
}

// Create adds a commission rule. No event exists for it. It refuses references to unknown objects or other
// programs, and a flow beyond the program's quota.
func Create(ctx context.Context, u *work.Unit, n New) (db.Flow, error) {
	flow, err := newFlow(u, n)
	if err != nil {
		return flow, err
	}
	// The program comes first, so that the 404 for an unknown program names it.
	references := append([]work.Reference{work.ProgramRef("program_id", &n.ProgramID)}, refs(flow)...)
	if err := u.Check(ctx, n.ProgramID, references...); err != nil {
		return flow, err
	}
	if err := checkQuota(ctx, u, flow); err != nil {
		return flow, err
	}
	return flow, queries.FlowInsert(ctx, u.Later(), db.FlowInsertParams{
		ID: flow.ID, OrgID: flow.OrgID, ProgramID: flow.ProgramID, Name: flow.Name, Description: flow.Description,
		GroupID: flow.GroupID, PartnerID: flow.PartnerID, Trigger: flow.Trigger, Action: flow.Action,
		TargetGroupID: flow.TargetGroupID, RateType: flow.RateType, RateValue: flow.RateValue,
		ApprovalMode: flow.ApprovalMode, ApprovalDelayDays: flow.ApprovalDelayDays, Priority: flow.Priority,
		Status: flow.Status, Branches: flow.Branches, CreatedAt: flow.CreatedAt, UpdatedAt: flow.UpdatedAt,
	})
}

// newFlow returns the validated flow of a request.
func newFlow(u *work.Unit, b New) (db.Flow, error) {
	flow := db.Flow{
		ID: u.NewID(ident.Flow), OrgID: u.OrgID, ProgramID: b.ProgramID, Name: b.Name, Description: b.Description,
		GroupID: b.GroupID, PartnerID: b.PartnerID, Trigger: rules.NewPayment,
		Action: rules.GenerateCommission, TargetGroupID: b.TargetGroupID, RateType: (*db.RateType)(b.RateType),
		RateValue: b.RateValue, ApprovalMode: rules.ApproveImmediately, ApprovalDelayDays: b.ApprovalDelayDays,
		Priority: defaultPriority, Status: db.FlowStatusActive, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	setText(&flow.Trigger, b.Trigger)
	setText(&flow.Action, b.Action)
	setText(&flow.ApprovalMode, b.ApprovalMode)
	setText(&flow.Status, b.Status)
	if b.Priority != nil {
		flow.Priority = *b.Priority
	}
	branches, err := newBranches(u.NewID, b.Branches, nil)
	if err != nil {
		return flow, err
	}
	if err = setBranches(&flow, branches); err != nil {
		return flow, err
	}
	return flow, validate(flow, branches)
}

// Draft returns a flow as it would be saved, and writes nothing: a change to the flow with that id, or a new one
// if the id is nil. It is refused as in saving, except for the quota.
func Draft(ctx context.Context, u *work.Unit, programID string, id *string, to Change) (db.Flow, error) {
	before, err := draftBase(ctx, u, programID, id)
	if err != nil {
		return before, err
	}
	flow, err := changed(before, to)
	if err != nil {
		return flow, err
	}
	references := append([]work.Reference{work.ProgramRef("program_id", &programID)}, newRefs(before, flow)...)
	return flow, u.Check(ctx, programID, references...)
}

// draftBase returns the flow that a draft changes.
func draftBase(ctx context.Context, u *work.Unit, programID string, id *string) (db.Flow, error) {
	if id == nil {
		return db.Flow{
			ID: u.NewID(ident.Flow), OrgID: u.OrgID, ProgramID: programID, Trigger: rules.NewPayment,
			Action: rules.GenerateCommission, ApprovalMode: rules.ApproveImmediately, Priority: defaultPriority,
			Status: db.FlowStatusActive, Branches: []byte("[]"), CreatedAt: u.Now, UpdatedAt: u.Now,
		}, nil
	}
	if err := u.ProgramExists(ctx, u.DB(), programID); err != nil {
		return db.Flow{}, err
	}
	stored, err := queries.FlowGet(ctx, u.DB(), db.FlowGetParams{ID: *id, OrgID: u.OrgID})
	if err != nil {
		return stored, work.Found(err, "flow_id")
	}
	return stored, work.SameProgram(stored.ProgramID, programID, "flow_id")
}

// Update changes a flow. The result is validated as a whole, unchanged fields included.
func Update(ctx context.Context, u *work.Unit, id string, to Change) (db.Flow, error) {
	before, err := lock(ctx, u, id)
	if err != nil {
		return before, err
	}
	flow, err := changed(before, to)
	// A change without effect writes nothing and records no event.
	if err != nil || reflect.DeepEqual(flow, before) {
		return flow, err
	}
	flow.UpdatedAt = u.Now
	return flow, save(ctx, u, before, flow)
}

// Delete deletes a flow; its commissions keep its id.
func Delete(ctx context.Context, u *work.Unit, id string) error {
	flow, err := lock(ctx, u, id)
	if err != nil {
		return err
	}
	err = queries.FlowDelete(ctx, u.Later(), db.FlowDeleteParams{ID: flow.ID, OrgID: flow.OrgID})
	u.Record(about(flow), events.RuleDeleted(api.RuleDeletedData{RuleID: flow.ID, Name: flow.Name}))
	return err
}

// lock locks a flow of the unit's programs until the commit.
func lock(ctx context.Context, u *work.Unit, id string) (db.Flow, error) {
	flow, err := queries.FlowLock(ctx, u.DB(), db.FlowLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return flow, err
	}
	return flow, u.CheckProgram(flow.ProgramID)
}

// changed applies a change to a copy and validates the result, since unchanged fields can contradict a changed
// one.
func changed(before db.Flow, b Change) (db.Flow, error) {
	flow, stored := before, []Branch{}
	if err := json.Unmarshal(before.Branches, &stored); err != nil {
		return flow, err
	}
	patch(&flow, b)
	dropMeaningless(&flow, before, b)
	branches := stored
	if b.Branches != nil {
		var err error
		if branches, err = newBranches(ident.New, b.Branches, stored); err != nil {
			return flow, err
		}
		if err = setBranches(&flow, branches); err != nil {
			return flow, err
		}
	}
	return flow, validate(flow, branches)
}

// patch sets the given fields; dropMeaningless and the branches follow.
func patch(f *db.Flow, b Change) {
	setText(&f.Name, b.Name)
	setText(&f.Trigger, b.Trigger)
	setText(&f.Action, b.Action)
	setText(&f.ApprovalMode, b.ApprovalMode)
	setText(&f.Status, b.Status)
	if b.Priority != nil {
		f.Priority = *b.Priority
	}
	opt.ChangeOrClear(&f.Description, b.Description)
	opt.ChangeOrClear(&f.GroupID, b.GroupID)
	opt.ChangeOrClear(&f.PartnerID, b.PartnerID)
	opt.ChangeOrClear(&f.TargetGroupID, b.TargetGroupID)
	// The column has its own type, and the body a string: convert the pointer both ways.
	rateType := (*string)(f.RateType)
	opt.ChangeOrClear(&rateType, b.RateType)
	f.RateType = (*db.RateType)(rateType)
	opt.ChangeOrClear(&f.RateValue, b.RateValue)
	opt.ChangeOrClear(&f.ApprovalDelayDays, b.ApprovalDelayDays)
}

// dropMeaningless clears fields that the body leaves out and that lose their meaning when the action or mode
// changes, so that clients need not clear them.
func dropMeaningless(f *db.Flow, before db.Flow, b Change) {
	if f.Action != before.Action {
		if f.Action == rules.SwitchGroup {
			clearUnless(&f.RateType, b.RateType)
			clearUnless(&f.RateValue, b.RateValue)
		} else {
			clearUnless(&f.TargetGroupID, b.TargetGroupID)
		}
	}
	if f.ApprovalMode != before.ApprovalMode && f.ApprovalMode != rules.ApproveAfterDays {
		clearUnless(&f.ApprovalDelayDays, b.ApprovalDelayDays)
	}
}

// clearUnless clears a field that the change does not include.
func clearUnless[T, G any](field **T, value nullable.Nullable[G]) {
	if !value.IsSpecified() {
		*field = nil
	}
}

// setText sets a text if the body has it.
func setText[F, E ~string](field *F, value *E) {
	if value != nil {
		*field = F(*value)
	}
}

// save writes a changed flow and records its events.
func save(ctx context.Context, u *work.Unit, before, f db.Flow) error {
	if err := u.Check(ctx, f.ProgramID, newRefs(before, f)...); err != nil {
		return err
	}
	// A flow that shrinks or is turned off passes even above the quota: otherwise a program could not get below it.
	grown := before.Status != db.FlowStatusActive || f.ConditionsBytes > before.ConditionsBytes
	if f.Status == db.FlowStatusActive && grown {
		if err := checkQuota(ctx, u, f); err != nil {
			return err
		}
	}
	record(u, before, f)
	return queries.FlowUpdate(ctx, u.Later(), db.FlowUpdateParams{
		Name: f.Name, Description: f.Description, GroupID: f.GroupID, PartnerID: f.PartnerID, Trigger: f.Trigger,
		Action: f.Action, TargetGroupID: f.TargetGroupID, RateType: f.RateType, RateValue: f.RateValue,
		ApprovalMode: f.ApprovalMode, ApprovalDelayDays: f.ApprovalDelayDays, Priority: f.Priority, Status: f.Status,
		Branches: f.Branches, UpdatedAt: f.UpdatedAt, ID: f.ID, OrgID: f.OrgID,
	})
}

// record records one event for a change of status and another for every other change; one update can be both
// (decisions, 136).
func record(u *work.Unit, before, f db.Flow) {
	// With the status made equal, a difference is another change.
	other := f
	other.Status, other.UpdatedAt = before.Status, before.UpdatedAt
	if !reflect.DeepEqual(other, before) {
		u.Record(about(f), events.RuleUpdated(api.RuleUpdatedData{
			RuleID: f.ID, Name: f.Name, Before: snapshot(before), After: snapshot(f),
		}))
	}
	if f.Status != before.Status {
		u.Record(about(f), events.RuleStatusChanged(api.RuleStatusChangedData{
			RuleID: f.ID, Name: f.Name, Status: api.FlowStatus(f.Status),
		}))
	}
}

// snapshot returns a flow as rule.updated shows it, before and after.
func snapshot(f db.Flow) api.RuleSnapshot {
	return api.RuleSnapshot{
		RateType: (*api.RateType)(f.RateType), RateValue: f.RateValue, Priority: f.Priority,
		Status: api.FlowStatus(f.Status),
	}
}

// about returns the subject of a flow's events; its partner is "" unless the flow is for one.
func about(f db.Flow) event.Subject {
	return event.Subject{ProgramID: f.ProgramID, PartnerID: opt.Value(f.PartnerID), ID: f.ID}
}

// refs returns the flow's references.
func refs(f db.Flow) []work.Reference {
	return []work.Reference{
		work.GroupRef("group_id", f.GroupID), work.PartnerRef("partner_id", f.PartnerID),
		work.GroupRef("target_group_id", f.TargetGroupID),
	}
}

// newRefs drops references that the flow had before. They are not checked again: a deleted partner must not make
// every later change of the flow a 404.
func newRefs(before, f db.Flow) []work.Reference {
	var out []work.Reference
	old := refs(before)
	for i, r := range refs(f) {
		if !reflect.DeepEqual(r.ID, old[i].ID) {
			out = append(out, r)
		}
	}
	return out
}

// checkQuota refuses a flow that exceeds the program's quota. The lock on the program makes the counts exact:
// they are read after it, in the same round trip.
func checkQuota(ctx context.Context, u *work.Unit, f db.Flow) error {
	var others db.FlowCountsRow
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.ProgramLock(ctx, tx, db.ProgramLockParams{ID: f.ProgramID, OrgID: f.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			others, err = queries.FlowCounts(ctx, tx, db.FlowCountsParams{ProgramID: f.ProgramID, OrgID: f.OrgID, ID: f.ID})
			return err
		})
	for _, err := range errs {
		if err != nil {
			return work.Found(err, "program_id")
		}
	}
	if others.Flows >= maxFlows {
		return problem.New(problem.FlowQuotaExceeded, "A program has at most %d flows; delete one first.", maxFlows)
	}
	// Inactive flows count towards maxFlows only.
	if f.Status != db.FlowStatusActive {
		return nil
	}
	if quota := u.Plan.FlowQuota; quota > 0 && others.Active >= quota {
		return problem.New(problem.FlowQuotaExceeded,
			"The plan allows %d active flows in a program, and all are in use.", quota)
	}
	if total := others.ActiveBytes + f.ConditionsBytes; total > maxActiveConditions {
		return problem.On("branches", problem.FlowTooLarge,
			"The conditions of the program's active flows would take %d bytes together; they may take %d.",
			total, maxActiveConditions)
	}
	return nil
}

// newBranches converts the branches of a body to stored ones; new branches get an id.
func newBranches(newID func(ident.Prefix) string, inputs []BranchInput, stored []Branch) ([]Branch, error) {
	ids := map[string]bool{}
	for _, b := range stored {
		ids[b.ID] = true
	}
	out := make([]Branch, len(inputs))
	for i, b := range inputs {
		out[i] = Branch{Label: b.Label, Conditions: b.Conditions, RateType: db.RateType(b.RateType), RateValue: b.RateValue}
		if b.ID == nil {
			out[i].ID = newID(ident.Branch)
			continue
		}
		if !ids[*b.ID] {
			param := fmt.Sprintf("branches[%d].id", i)
			return nil, problem.On(param, problem.InvalidReference,
				"%s is not a branch of this flow, or is used twice; omit the id for a new branch.", param)
		}
		// A stored branch can be used once.
		ids[*b.ID] = false
		out[i].ID = *b.ID
	}
	return out, nil
}

// setBranches sets a flow's branches. It counts the bytes of their conditions for checkQuota; the database
// computes the same for the stored row.
func setBranches(f *db.Flow, branches []Branch) (err error) {
	f.ConditionsBytes = 0
	for _, b := range branches {
		f.ConditionsBytes += int64(len(b.Conditions))
	}
	f.Branches, err = encodeBranches(branches)
	return err
}

// encodeBranches encodes branches for storage. Conditions are copied byte for byte, unlike with an encoder,
// since they are shown as given.
func encodeBranches(branches []Branch) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, b := range branches {
		label, err := json.Marshal(b.Label)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		// %q gives valid JSON here: ids and rate types are plain ASCII.
		fmt.Fprintf(&out, `{"id":%q,"label":%s,"conditions":%s,"rate_type":%q,"rate_value":%d}`,
			b.ID, label, b.Conditions, b.RateType, b.RateValue)
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

// validate checks the rules between fields, which the OpenAPI document cannot express.
func validate(f db.Flow, branches []Branch) error {
	if f.GroupID != nil && f.PartnerID != nil {
		return problem.On("partner_id", problem.ParametersExclusive,
			"group_id and partner_id exclude each other; set one of them to null.")
	}
	for _, check := range []func(db.Flow) *problem.Error{checkAction, checkApproval} {
		if p := check(f); p != nil {
			return p
		}
	}
	if f.ConditionsBytes > maxConditions {
		return problem.On("branches", problem.FlowTooLarge,
			"The conditions of a flow's branches take %d bytes together; they may take %d.", f.ConditionsBytes, maxConditions)
	}
	for i, b := range branches {
		if p := checkBranch(f, fmt.Sprintf("branches[%d].", i), b); p != nil {
			return p
		}
	}
	return nil
}

// Warning points out an unusual rate by its field.
type Warning struct{ Param, Message string }

// Warnings returns the unusual rates of a flow. They are allowed: half a percent may be intended.
func Warnings(f db.Flow) ([]Warning, error) {
	branches, warnings := []Branch{}, []Warning{}
	if err := json.Unmarshal(f.Branches, &branches); err != nil {
		return nil, err
	}
	check := func(param string, rateType db.RateType, value int64) {
		if words := rules.Unusual(rules.Rate{RateType: rateType, RateValue: value}); words != "" {
			warnings = append(warnings, Warning{param, words})
		}
	}
	if f.RateType != nil && f.RateValue != nil {
		check("rate_value", *f.RateType, *f.RateValue)
	}
	for i, b := range branches {
		check(fmt.Sprintf("branches[%d].rate_value", i), b.RateType, b.RateValue)
	}
	return warnings, nil
}

// checkAction requires the fields of the action and refuses others (decisions, 130 and 131).
func checkAction(f db.Flow) *problem.Error {
	if f.Action == rules.SwitchGroup {
		switch {
		case f.TargetGroupID == nil:
			return problem.On("target_group_id", problem.ParameterMissing,
				"target_group_id is required for the action switch_group.")
		case f.RateType != nil:
			return problem.Invalid("rate_type", "rate_type must be null for the action switch_group.")
		case f.RateValue != nil:
			return problem.Invalid("rate_value", "rate_value must be null for the action switch_group.")
		}
		return nil
	}
	switch {
	case f.TargetGroupID != nil:
		return problem.Invalid("target_group_id", "target_group_id is only for the action switch_group.")
	case f.RateType == nil:
		return problem.On("rate_type", problem.ParameterMissing, "rate_type is required for the action generate_commission.")
	case f.RateValue == nil:
		return problem.On("rate_value", problem.ParameterMissing,
			"rate_value is required for the action generate_commission.")
	}
	return checkRate(f, "", *f.RateType, *f.RateValue)
}

// checkRate bounds a rate; the OpenAPI document bounds fixed ones (decisions, 132).
func checkRate(f db.Flow, path string, rateType db.RateType, value int64) *problem.Error {
	if rateType != rules.RatePercent {
		return nil
	}
	if f.Trigger == rules.NewSignup {
		return problem.Invalid(path+"rate_type",
			"%srate_type must be fixed for the trigger new_signup: there is no amount to take a percentage of.", path)
	}
	if value > maxPercent {
		return problem.Invalid(path+"rate_value", "%srate_value must be at most %d basis points for percent.", path,
			maxPercent)
	}
	return nil
}

// checkApproval requires a delay for after_days, and refuses it for the other modes.
func checkApproval(f db.Flow) *problem.Error {
	after := f.ApprovalMode == rules.ApproveAfterDays
	switch {
	case after && f.ApprovalDelayDays == nil:
		return problem.On("approval_delay_days", problem.ParameterMissing,
			"approval_delay_days is required for the approval mode after_days.")
	case !after && f.ApprovalDelayDays != nil:
		return problem.Invalid("approval_delay_days",
			"approval_delay_days must be null unless the approval mode is after_days.")
	}
	return nil
}

// checkBranch validates the rate and the conditions of a branch. path is its place in the body, for the
// parameter of a refusal.
func checkBranch(f db.Flow, path string, b Branch) *problem.Error {
	if p := checkRate(f, path, b.RateType, b.RateValue); p != nil {
		return p
	}
	if _, wrong := rules.ParseConditions(b.Conditions, f.Trigger); wrong != nil {
		param := path + "conditions" + wrong.Path
		return problem.On(param, problem.InvalidCondition, "%s %s.", param, wrong.Message)
	}
	return nil
}
