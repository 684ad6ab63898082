package apitest

import (
	"sync"
	"time"
)

// Linger sleeps, as a slow receiver does. Use it only to test the time itself, never to wait for an event.
func Linger(d time.Duration) { <-time.After(d) }

// AtOnce runs f n times concurrently.
func AtOnce(n int, f func(i int) Answer) []Answer {
	out := make([]Answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i] = f(i) })
	}
	wg.Wait()
	return out
}
