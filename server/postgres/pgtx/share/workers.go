package share

// Stats counts batches, their members, and the members that repeated their work alone.
type Stats struct{ Batches, Members, Retries uint64 }

// workers counts the goroutines that process batches, and the members of those batches.
// The owner guards it with a lock.
type workers struct {
	max         int // workers at once
	minParallel int // the fewest members of a parallel batch
	enough      int // members that start a parallel batch, however many run; 0 for as many as run
	running     int
	members     int // in running batches that are not slow
	stats       Stats
}

// start reports whether one more worker starts for the waiting members, and counts it.
func (w *workers) start(waiting int) bool {
	if waiting == 0 || w.running >= w.max || w.tooFew(waiting) {
		return false
	}
	w.running++
	return true
}

// tooFew reports whether the waiting members are too few for a parallel batch: small
// ones cost more than they gain.
func (w *workers) tooFew(waiting int) bool {
	needed := max(w.minParallel, w.members)
	if w.enough > 0 {
		needed = min(needed, w.enough)
	}
	return w.members > 0 && waiting < needed
}

// begin counts a batch that begins. Without members its worker ends.
func (w *workers) begin(members int) {
	if members == 0 {
		w.running--
		return
	}
	w.members += members
	w.stats.Batches++
	w.stats.Members += uint64(members)
}

// discount stops counting the members of a batch that has ended or is slow.
func (w *workers) discount(b *batch) {
	w.members -= b.counted
	b.counted = 0
}
