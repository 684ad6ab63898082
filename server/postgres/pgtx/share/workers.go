package share

// Stats counts batches, their members, and the members that repeated their work alone.
type Stats struct{ Batches, Members, Retries uint64 }

// workers counts the goroutines that process batches, and the members of those batches.
// The owner guards it with a lock.
type workers struct {
	max         int // workers at once
	minParallel int // the fewest members of a parallel batch
	enough      int // members that start a parallel batch at any load
	running     int
	members     int     // in running batches that are not slow
	load        float64 // members that ran or waited at once: the recent peak
	stats       Stats
}

// loadDecay is the part of the load that the start of a batch leaves, so that a peak is forgotten
// after some twenty batches.
const loadDecay = 0.9

// start reports whether one more worker starts for the waiting members, and counts it.
func (w *workers) start(waiting int) bool {
	if waiting == 0 || w.running >= w.max || w.tooFew(waiting) {
		return false
	}
	w.running++
	return true
}

// tooFew reports whether the waiting members are too few for a parallel batch, since small batches
// cost more than they gain. Two batches at once have about half of the load each: the server works
// for one while the database works for the other.
func (w *workers) tooFew(waiting int) bool {
	needed := min(max(w.minParallel, w.members, int(w.load+1)/2), w.enough)
	return w.members > 0 && waiting < needed
}

// begin counts a batch that begins while other members wait. Without members its worker ends.
func (w *workers) begin(members, waiting int) {
	if members == 0 {
		w.running--
		return
	}
	w.members += members
	w.load = max(float64(w.members+waiting), w.load*loadDecay)
	w.stats.Batches++
	w.stats.Members += uint64(members)
}

// discount stops counting the members of a batch that has ended or is slow.
func (w *workers) discount(b *batch) {
	w.members -= b.counted
	b.counted = 0
}
