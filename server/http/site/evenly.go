package site

import "time"

// Even is the time to answer a form whose work takes longer for a known address.
const Even = 250 * time.Millisecond

// Evenly does the work of such a form, and returns no earlier than Even after it began, so that the time does not
// reveal known addresses.
func Evenly(work func() error) error {
	answer := time.NewTimer(Even)
	defer answer.Stop()
	err := work()
	<-answer.C
	return err
}
