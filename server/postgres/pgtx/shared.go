package pgtx

// enough is how many have to wait for a trip to begin beside others: fewer cost more
// than they gain by not waiting.
const enough = 12

// worth reports whether a trip should begin beside others, for those who wait.
func worth(others, waiting int) bool { return others == 0 || waiting >= enough }

// Shared counts what was done together: how many riders there were in how many trips, and how many of them were sent
// away to do their work again, alone.
type Shared struct{ Trips, Riders, Again uint64 }

// carries notes a trip that begins.
func (s *Shared) carries(riders int) {
	s.Trips++
	s.Riders += uint64(riders)
}
