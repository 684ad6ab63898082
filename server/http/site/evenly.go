package site

import "time"

// Even is when a form is answered whose work takes longer for an address that somebody has.
const Even = 250 * time.Millisecond

// Evenly does the work of such a form, and returns no earlier than Even after it began: the time
// tells nobody whose addresses are known.
func Evenly(work func() error) error {
	answer := time.NewTimer(Even)
	defer answer.Stop()
	err := work()
	<-answer.C
	return err
}
