package pgtx

// Shared counts what was done together: how many riders there were in how many trips, and how many of them were sent
// away to do their work again, alone.
type Shared struct{ Trips, Riders, Again uint64 }

// lanes counts the goroutines that carry riders side by side, and those they carry.
// Whoever has it has a lock for it.
type lanes struct {
	most    int // goroutines at once
	beside  int // the fewest riders of a trip beside another
	running int
	carried int // riders under way, but for those of trips that are late
	shared  Shared
}

// open reports whether one more goroutine is to carry those who wait, and counts it.
func (l *lanes) open(waiting int) bool {
	if waiting == 0 || l.running >= l.most || l.few(waiting) {
		return false
	}
	l.running++
	return true
}

// few reports whether those who wait are too few for a trip beside those under way:
// small ones would cost more than they gain.
func (l *lanes) few(waiting int) bool {
	return l.carried > 0 && waiting < max(l.beside, l.carried)
}

// leave notes a trip that begins. With nobody to carry, its goroutine ends.
func (l *lanes) leave(riders int) {
	if riders == 0 {
		l.running--
		return
	}
	l.carried += riders
	l.shared.Trips++
	l.shared.Riders += uint64(riders)
}

// discount counts the riders of a trip no longer, which has ended or is late.
func (l *lanes) discount(t *trip) {
	l.carried -= t.counted
	t.counted = 0
}
