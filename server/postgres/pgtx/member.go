package pgtx

import "context"

// Slot is the place of a member in a transaction that several requests share. Package
// share implements it.
type Slot interface {
	// Begun reports whether reads have been sent or wait.
	Begun() bool
	// Claim reports whether the member has the names.
	Claim(names []string) bool
	// Precheck runs or queues reads before those of the member's work.
	Precheck(ctx context.Context, reads []Read) error
	// Settle sends the prechecks that wait, and returns their error.
	Settle(ctx context.Context) error
	// Together runs reads in one round trip.
	Together(ctx context.Context, reads []Read) []error
	// Commit commits the writes of the member together with those of the others.
	Commit(ctx context.Context) error
	// Rollback ends the member's part without its writes.
	Rollback()
}

// NewMember returns the part that a member has of a shared transaction, which lies
// inside outer unless that is nil.
func NewMember(slot Slot, outer *Tx) *Tx { return &Tx{slot: slot, outer: outer} }

// Claim names what only one member of a shared transaction may decide about: what the
// work locks, or would lock if it did not rely on a constraint. If another running
// member has a name, Claim returns ErrRetryAlone; before its first statement, the member
// waits for its turn instead. In a transaction that is not shared, locks do the same,
// and Claim does nothing.
func (t *Tx) Claim(names ...string) error {
	if t.slot == nil || t.slot.Claim(names) {
		return nil
	}
	return ErrRetryAlone
}

// Precheck runs reads before all others of t. If one of them fails, the work of t must
// not be done. In a shared transaction they are sent with the first reads of the work,
// which get the same error.
func (t *Tx) Precheck(ctx context.Context, reads ...Read) error {
	switch {
	case t.done:
		return errDone
	case t.slot == nil:
		return First(t.Together(ctx, reads...))
	}
	return t.slot.Precheck(ctx, reads)
}

// Settle returns the error of the prechecks, and sends them if the work has read
// nothing.
func (t *Tx) Settle(ctx context.Context) error {
	if t.slot == nil {
		return nil
	}
	return t.slot.Settle(ctx)
}

// Nested returns a transaction inside t, which ends before t continues. Its rollback
// leaves t unchanged.
func (t *Tx) Nested() *Tx { return &Tx{pool: t.pool, outer: t} }

// Join queues the writes that wait in parts, and merges equal statements. Nothing may
// have been sent in the parts, and nothing will be.
func (t *Tx) Join(parts ...*Tx) {
	var queues [][]statement
	for _, p := range parts {
		queues = append(queues, p.later)
	}
	t.later = append(t.later, merge(queues)...)
}

// HasWrites reports whether writes wait to be sent.
func (t *Tx) HasWrites() bool { return len(t.later) > 0 }

// Usable reports whether the transaction has begun and accepts statements: none failed.
func (t *Tx) Usable() bool { return t.conn != nil && t.conn.Conn().PgConn().TxStatus() == 'T' }

// OnEnd sets a function to call when the transaction has ended.
func (t *Tx) OnEnd(f func()) { t.onEnd = f }
