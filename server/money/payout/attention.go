package payout

import (
	"context"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// attend notes the state of a locked payout that a person should look at, "" for none, records it, and emails the
// organization's owner.
func attend(ctx context.Context, u *work.Unit, outbox *mail.Outbox, p db.Payout, a Attention) (db.Payout, error) {
	if opt.Value(p.Attention) == a {
		return p, nil
	}
	p = changeAttention(u, p, a)
	err := queries.PayoutSetAttention(ctx, u.Later(), db.PayoutSetAttentionParams{
		Attention: p.Attention, AttentionText: p.AttentionText, AttentionAt: p.AttentionAt, UpdatedAt: u.Now,
		ID: p.ID, OrgID: p.OrgID, Status: p.Status,
	})
	if err != nil || a == "" {
		return p, err
	}
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return p, err
	}
	return p, outbox.QueueForOwners(ctx, u.Tx, p.OrgID, u.Now, func(to string) mail.Message {
		return mail.PayoutAttention(to, prog.ID+" "+string(a)+" "+today(u, prog), prog.Name, attentionTexts[a])
	})
}

// changeAttention sets the fields of the state, and records it.
func changeAttention(u *work.Unit, p db.Payout, a Attention) db.Payout {
	before := p.Attention
	p.Attention, p.AttentionText, p.AttentionAt, p.UpdatedAt = nil, nil, nil, u.Now
	if a != "" {
		p.Attention, p.AttentionText, p.AttentionAt = &a, opt.OrNil(attentionTexts[a]), &u.Now
	}
	u.Record(about(p), events.PayoutAttention(api.PayoutAttentionData{
		PayoutID: p.ID, PartnerID: p.PartnerID, Attention: (*api.PayoutAttention)(p.Attention),
		AttentionText: p.AttentionText, PreviousAttention: (*api.PayoutAttention)(before),
	}))
	return p
}

// today returns the day in the program's time zone, for the key of an email that is sent once a day.
func today(u *work.Unit, prog db.Program) string {
	return u.Now.DayIn(clock.StoredZone(prog.TimeZone)).Format(time.DateOnly)
}

// DismissAttention ends the attention of a paid payout whose money came back.
func DismissAttention(ctx context.Context, u *work.Unit, id string) (db.Payout, error) {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return p, err
	}
	if p.Status != db.PayoutStatusPaid || p.Attention == nil {
		return p, problem.New(problem.PayoutAttentionOpen, "The payout needs no attention, or its state ends by itself.")
	}
	before := p.Attention
	p = changeAttention(u, p, "")
	p.AttentionDismissedAt = &u.Now
	of := db.PayoutAttentionDismissParams{Now: &u.Now, ID: p.ID, OrgID: p.OrgID}
	err = queries.PayoutAttentionDismiss(ctx, u.Later(), of)
	if err != nil {
		return p, err
	}
	return p, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "payout.attention_dismissed", TargetID: p.ID,
		Before: map[string]any{"attention": *before},
	})
}

// attentionTexts has a sentence and the next step for each state.
var attentionTexts = map[Attention]string{
	Unclaimed: "The partner has not claimed the money. It comes back 30 days after it was sent: ask the partner to " +
		"claim it with the email address of their payout details.",
	OnHold:     "The service is reviewing the transfer. Check the messages in your account there.",
	Reversed:   "The money came back after the payout was paid. If you still owe it, add a manual commission.",
	CameBack:   "The money was returned after the payout was paid. If you still owe it, add a manual commission.",
	NeedsFunds: "The account lacks funds. Add funds; the payout is then sent.",
	Unconfirmed: "The service did not confirm that it has the payout, and the payout can no longer be sent again safely. " +
		"Look for it in your account there, and mark it as paid or as failed.",
}
