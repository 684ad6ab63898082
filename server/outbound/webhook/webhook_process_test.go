package webhook_test

import (
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/wait"
)

// delivering is a program whose events are delivered by two server processes.
func delivering(t *testing.T) (hooked, *apitest.Process, func() *apitest.Process) {
	t.Helper()
	base := apitest.Real(t, apitest.Loopback)
	start := func() *apitest.Process {
		return apitest.StartProcess(t, base, "RAIL_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8", "RAIL_LOG_LEVEL=error")
	}
	first := start()
	e := first.Server.Earner()
	first.Flow(e.ProgramID)
	return hooked{e, apitest.NewSink(t)}, first, start
}

// ids counts the arrived deliveries by event.
func (h hooked) ids(path string) map[string]int {
	out := map[string]int{}
	for _, r := range h.sink.Got(path) {
		out[r.Event.String("id")]++
	}
	return out
}

// TestDeliveriesSurviveKills: if workers are killed during delivery, nothing is lost, repeats are
// identical, and another worker takes over within two seconds.
func TestDeliveriesSurviveKills(t *testing.T) {
	t.Parallel()
	h, _, start := delivering(t)
	h.endpoint("/in")
	h.sink.Answer = func(http.ResponseWriter, apitest.Received) { apitest.Linger(3 * time.Millisecond) }
	kills := 4 // RAIL_TEST_KILLS=50 runs overnight
	if n, err := strconv.Atoi(os.Getenv("RAIL_TEST_KILLS")); err == nil {
		kills = n
	}
	steady := h.Server
	partner, _ := h.Referrer()
	customer := steady.Customer(h.ProgramID, partner)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 15 * kills {
			steady.Sale(h.ProgramID, customer)
		}
	})
	for range kills {
		victim := start()
		apitest.Linger(150 * time.Millisecond)
		require.NoError(t, victim.Cmd.Process.Kill())
		_ = victim.Cmd.Wait() // killed
	}
	wg.Wait()
	want := steady.Events(h.ProgramID)
	wait.Until(t, func() bool { return len(h.ids("/in")) >= len(want) }, "nothing is lost")
	got := h.ids("/in")
	require.Len(t, got, len(want), "nothing is lost")
	doubles := 0
	bodies := map[string]string{}
	for _, r := range h.sink.Got("/in") {
		id := r.Event.String("id")
		if before, seen := bodies[id]; seen {
			doubles++
			require.Equal(t, before, r.Body)
		}
		bodies[id] = r.Body
	}
	require.LessOrEqual(t, doubles, kills)
}

// TestTakeover: if a worker is killed while it sends, another worker takes over its endpoint at
// once.
func TestTakeover(t *testing.T) {
	t.Parallel()
	h, first, start := delivering(t)
	id := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}}).String("id")
	var mu sync.Mutex
	hangs := true
	h.sink.Answer = func(http.ResponseWriter, apitest.Received) {
		mu.Lock()
		hang := hangs
		hangs = false
		mu.Unlock()
		if hang {
			apitest.Linger(7 * time.Second)
		}
	}
	h.Partner(h.ProgramID)
	h.sink.Wait(t, "/in", 1) // the only process sends, and waits for the answer
	second := start()
	require.NoError(t, first.Cmd.Process.Kill())
	killed := time.Now()
	h.sink.Wait(t, "/in", 2)
	require.Less(t, time.Since(killed), 6*time.Second, "a lease is for half a minute")
	h.Server = second.Server
	h.settled(t, id, "delivered", 1)
	require.EqualValues(t, 1, h.log(id)[0].Int("attempts"),
		"the attempt that was cut off is made again, not counted twice")
}

// TestFencing: a result that arrives after its lease changes nothing.
func TestFencing(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	id := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}}).String("id")
	arrived, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.sink.Answer = func(w http.ResponseWriter, _ apitest.Received) {
		first := false
		once.Do(func() { first = true })
		if first {
			close(arrived)
			<-answer
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	stop := h.Deliver()
	h.Partner(h.ProgramID)
	<-arrived
	_, err := h.Pool.Exec(t.Context(), "UPDATE webhook_leases SET owner = 1, token = token + 1, until = '-infinity'")
	require.NoError(t, err)
	h.Deliver()
	h.settled(t, id, "delivered", 1)
	before := h.log(id)[0]
	close(answer)
	stop() // the first process has stored its result, or not
	require.Equal(t, before.Body, h.log(id)[0].Body)
	require.Len(t, h.sink.Got("/in"), 2)
}

// TestStoppedWorker: a worker that is suspended past its lease, during an attempt, changes nothing
// when it resumes. A lease takes half a minute, so this runs only with RAIL_TEST_FULL=1.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	if os.Getenv("RAIL_TEST_FULL") != "1" {
		t.Skip("set RAIL_TEST_FULL=1")
	}
	h, first, start := delivering(t)
	id := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}}).String("id")
	var once sync.Once
	answer := make(chan struct{})
	h.sink.Answer = func(w http.ResponseWriter, _ apitest.Received) {
		stopped := false
		once.Do(func() { stopped = true })
		if stopped {
			<-answer
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	h.Partner(h.ProgramID)
	h.sink.Wait(t, "/in", 1)
	require.NoError(t, first.Cmd.Process.Signal(syscall.SIGSTOP))
	h.Server = start().Server
	wait.Until(t, func() bool { return len(h.sink.Got("/in")) == 2 }, "another process takes over")
	before := h.settled(t, id, "delivered", 1)[0]
	require.NoError(t, first.Cmd.Process.Signal(syscall.SIGCONT))
	close(answer)
	require.Never(t, func() bool { return len(h.sink.Got("/in")) != 2 }, 2*time.Second, 100*time.Millisecond)
	require.Equal(t, before.Body, h.log(id)[0].Body)
	require.Len(t, h.sink.Got("/in"), 2)
}
