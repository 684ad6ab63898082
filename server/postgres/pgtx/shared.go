package pgtx

// Shared counts what was done together: how many riders there were in how many trips, and how many of them were sent
// away to do their work again, alone.
type Shared struct{ Trips, Riders, Again uint64 }

// carries notes a trip that begins.
func (s *Shared) carries(riders int) {
	s.Trips++
	s.Riders += uint64(riders)
}
