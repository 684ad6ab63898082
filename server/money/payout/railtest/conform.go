package railtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/money/payout"
)

// Service is a rail with the means of a test to change the service behind it, which is a fake or a sandbox. A function
// is nil if the service cannot do that; the checks that need it are then skipped. Rail and Paid are required.
type Service struct {
	Rail payout.Rail
	// Paid returns how many transfers the service has accepted for a payout.
	Paid func(payoutID string) int
	// LoseAnswer makes the service accept the next submission, and lose its answer.
	LoseAnswer func()
	// Busy makes the service take no calls for a while, and Drain takes the funds out of the account. Refuse makes it
	// refuse new transfers. Recover ends all three states.
	Busy, Drain, Refuse, Recover func()
	// Forget lets so much time pass that the service no longer recognizes a repeated submission.
	Forget func()
	// Settle pays the transfer of a payout, and Return lets its money come back.
	Settle, Return func(payoutID string)
	// Clock is the rail's clock; nil for the system's.
	Clock clock.Clock
}

// Conform checks that a rail keeps the contract of payout.Rail. Every rail should run it in a test:
//
//	railtest.Conform(t, transfer, func(t *testing.T) railtest.Service {
//		fake := startFake(t)
//		return railtest.Service{Rail: myrail.New(fake.URL), Paid: fake.Paid, LoseAnswer: fake.LoseAnswer}
//	})
//
// The service must accept transfer. It is opened anew for each check. The status of a payout.Reporter is not asked for.
func Conform(t *testing.T, transfer payout.Transfer, open func(t *testing.T) Service) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.check(t.Context(), open(t), transfer)
			if errors.Is(err, errSkipped) {
				t.Skip(err)
			}
			require.NoError(t, err)
		})
	}
}

// errSkipped means that the service cannot do what a check needs.
var errSkipped = errors.New("the service cannot do this")

// checks are functions that return the violation, so that the tests of this package can run them with bad rails.
var checks = []struct {
	name  string
	check func(ctx context.Context, s Service, t payout.Transfer) error
}{
	{"name", checkName},
	{"repeated", checkRepeated},
	{"lost answer", checkLostAnswer},
	{"busy", checkBusy},
	{"funds", checkFunds},
	{"unconfirmed", checkUnconfirmed},
	{"refusal", checkRefusal},
	{"canceled", checkCanceled},
	{"status", checkStatus},
	{"returned", checkReturned},
}

// checkName checks the name and the methods, which never change.
func checkName(_ context.Context, s Service, t payout.Transfer) error {
	switch name := s.Rail.Name(); {
	case name == "" || name == "file":
		return fmt.Errorf("the name is %q", name)
	case name != s.Rail.Name():
		return errors.New("the name changes")
	case !slices.Contains(s.Rail.Methods(), t.Method):
		return fmt.Errorf("the rail does not pay by %q", t.Method)
	}
	return nil
}

// checkRepeated submits a transfer twice: it is accepted once, under one id.
func checkRepeated(ctx context.Context, s Service, t payout.Transfer) error {
	id, err := s.Rail.Submit(ctx, t)
	if err != nil || id == "" {
		return fmt.Errorf("the id is %q, and the error is: %w", id, err)
	}
	return s.accepted(ctx, t, id)
}

// accepted submits a transfer that the service may have. It must be accepted once, under an id; "" for any.
func (s Service) accepted(ctx context.Context, t payout.Transfer, id string) error {
	again, err := s.Rail.Submit(ctx, t)
	if err != nil {
		return fmt.Errorf("a repeated submission: %w", err)
	}
	if again == "" || id != "" && id != again {
		return fmt.Errorf("the ids of one transfer are %q and %q", id, again)
	}
	return s.paid(t, 1)
}

// paid checks how many transfers the service has accepted.
func (s Service) paid(t payout.Transfer, want int) error {
	if n := s.Paid(t.ID); n != want {
		return fmt.Errorf("the service has accepted %d transfers instead of %d", n, want)
	}
	return nil
}

// checkLostAnswer loses the answer of an accepted submission, which is then repeated.
func checkLostAnswer(ctx context.Context, s Service, t payout.Transfer) error {
	if s.LoseAnswer == nil {
		return errSkipped
	}
	if err := s.lose(ctx, t); err != nil {
		return err
	}
	return s.accepted(ctx, t, "")
}

// lose submits a transfer whose answer is lost.
func (s Service) lose(ctx context.Context, t payout.Transfer) error {
	s.LoseAnswer()
	_, err := s.Rail.Submit(ctx, t)
	return errors.Join(retried(err), s.paid(t, 1))
}

// retried checks that an error makes the server repeat the submission.
func retried(err error) error {
	_, refused := errors.AsType[payout.Refusal](err)
	if err == nil || refused || errors.Is(err, payout.ErrUnconfirmed) {
		return fmt.Errorf("the submission is not repeated after: %w", err)
	}
	return nil
}

// checkBusy submits while the service takes no calls, and afterwards.
func checkBusy(ctx context.Context, s Service, t payout.Transfer) error {
	if s.Busy == nil || s.Recover == nil {
		return errSkipped
	}
	s.Busy()
	_, err := s.Rail.Submit(ctx, t)
	if busy, ok := errors.AsType[payout.Busy](err); !ok || busy.For <= 0 {
		return fmt.Errorf("the error is no payout.Busy with a time: %w", err)
	}
	if err := s.paid(t, 0); err != nil {
		return err
	}
	s.Recover()
	return s.accepted(ctx, t, "")
}

// checkFunds submits twice without funds, and then with.
func checkFunds(ctx context.Context, s Service, t payout.Transfer) error {
	if s.Drain == nil || s.Recover == nil {
		return errSkipped
	}
	s.Drain()
	for range 2 {
		if _, err := s.Rail.Submit(ctx, t); !errors.Is(err, payout.ErrNeedsFunds) {
			return fmt.Errorf("the error is not payout.ErrNeedsFunds: %w", err)
		}
	}
	if err := s.paid(t, 0); err != nil {
		return err
	}
	s.Recover()
	return s.accepted(ctx, t, "")
}

// checkUnconfirmed repeats a submission when the service no longer recognizes it: it must not be paid again.
func checkUnconfirmed(ctx context.Context, s Service, t payout.Transfer) error {
	if s.Forget == nil || s.LoseAnswer == nil {
		return errSkipped
	}
	if s.Clock == nil {
		s.Clock = clock.System{}
	}
	t.SubmittedAt = new(s.Clock.Now())
	if err := s.lose(ctx, t); err != nil {
		return err
	}
	s.Forget()
	id, err := s.Rail.Submit(ctx, t)
	if !errors.Is(err, payout.ErrUnconfirmed) && (err != nil || id == "") {
		return fmt.Errorf("the id is %q, and the error is not payout.ErrUnconfirmed: %w", id, err)
	}
	return s.paid(t, 1)
}

// checkRefusal refuses new transfers: their error is a payout.Refusal with the reason. A repeated one has its id.
func checkRefusal(ctx context.Context, s Service, t payout.Transfer) error {
	if s.Refuse == nil || s.Recover == nil {
		return errSkipped
	}
	s.Refuse()
	_, err := s.Rail.Submit(ctx, t)
	if refusal, ok := errors.AsType[payout.Refusal](err); !ok || refusal.Code == "" || refusal.Message == "" {
		return fmt.Errorf("the error is no payout.Refusal with a code and a message: %w", err)
	}
	if err := s.paid(t, 0); err != nil {
		return err
	}
	s.Recover()
	id, err := s.Rail.Submit(ctx, t)
	if err != nil {
		return err
	}
	s.Refuse()
	return s.accepted(ctx, t, id)
}

// checkCanceled cancels calls: they say nothing about the transfer.
func checkCanceled(ctx context.Context, s Service, t payout.Transfer) error {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	id, err := s.Rail.Submit(gone, t)
	if err != nil {
		if err := retried(err); err != nil {
			return err
		}
		id = ""
	}
	if err := s.accepted(ctx, t, id); err != nil || s.reports() {
		return err
	}
	t.ExternalID, _ = s.Rail.Submit(ctx, t)
	status, err := s.Rail.Status(gone, t)
	if err == nil && status.State != payout.InFlight && status.State != payout.Settled {
		return fmt.Errorf("a canceled call reports %q", status.State)
	}
	return nil
}

// reports reports whether the service reports results itself.
func (s Service) reports() bool {
	_, ok := s.Rail.(payout.Reporter)
	return ok
}

// checkStatus asks about an accepted transfer, which may have ended, but not without success.
func checkStatus(ctx context.Context, s Service, t payout.Transfer) error {
	if s.reports() {
		return errSkipped
	}
	_, err := s.submitted(ctx, t, payout.InFlight, payout.Settled)
	return err
}

// checkReturned settles a transfer, whose money then comes back.
func checkReturned(ctx context.Context, s Service, t payout.Transfer) error {
	if s.reports() || s.Settle == nil || s.Return == nil {
		return errSkipped
	}
	t, err := s.submitted(ctx, t, payout.InFlight, payout.Settled)
	if err != nil {
		return err
	}
	s.Settle(t.ID)
	if _, err := s.in(ctx, t, payout.Settled); err != nil {
		return err
	}
	s.Return(t.ID)
	status, err := s.in(ctx, t, payout.Returned)
	if err == nil && status.Attention != payout.CameBack && status.Attention != payout.Reversed {
		return fmt.Errorf("the attention of returned money is %q", status.Attention)
	}
	return err
}

// submitted submits a transfer, and returns it with its id after checking its state.
func (s Service) submitted(ctx context.Context, t payout.Transfer, want ...payout.State) (payout.Transfer, error) {
	id, err := s.Rail.Submit(ctx, t)
	if err != nil {
		return t, err
	}
	t.ExternalID = id
	_, err = s.in(ctx, t, want...)
	return t, err
}

// in checks that a transfer is in one of some states.
func (s Service) in(ctx context.Context, t payout.Transfer, want ...payout.State) (payout.Status, error) {
	status, err := s.Rail.Status(ctx, t)
	if err == nil && !slices.Contains(want, status.State) {
		err = fmt.Errorf("the state is %q instead of %q", status.State, want)
	}
	return status, err
}
