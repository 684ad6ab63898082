package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/importer/source"
	"rail/server/locale/plain"
	"rail/server/work"
	"rail/server/work/queue"
)

const (
	// turn is how long one import is worked on before the others; lease is how long no other server takes it.
	turn  = 15 * time.Second
	lease = 5 * time.Minute
)

// retries are the waits after failures in a row; then the import has failed.
var retries = queue.Backoff{
	2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute,
	20 * time.Minute, 30 * time.Minute,
}

// errEnded means that nothing is left to do for an import.
var errEnded = errors.New("importer: ended")

// Work advances the imports that are under way, each for a turn, until none is left, a turn is over, or ctx ends. The
// next round continues.
func (s *Service) Work(ctx context.Context, now clock.Time) error {
	var failed error
	for began := clock.Real(); ctx.Err() == nil && time.Since(began) < turn; {
		until := now.Plus(lease)
		taken, err := queries.ImportTake(ctx, s.Pool, db.ImportTakeParams{
			Now: &now, BusyUntil: &until, WaitingBefore: now.Plus(-fileWait),
		})
		if err != nil || len(taken) == 0 {
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, s.advance(ctx, taken[0], now))
	}
	return failed
}

// advance works on an import for a turn.
func (s *Service) advance(ctx context.Context, m db.Import, now clock.Time) error {
	began := clock.Real()
	for ctx.Err() == nil {
		now = currentTime(s.Clock, now)
		err := queue.Guard(func() error { return s.step(ctx, m.OrgID, m.ID, now) })
		switch {
		case errors.Is(err, errEnded):
			return nil
		case ctx.Err() != nil: // the server stops; another one continues at once
			return s.release(context.WithoutCancel(ctx), m, now)
		case err != nil:
			return s.saveFailure(ctx, m, now, err)
		case time.Since(began) > turn:
			return s.release(ctx, m, now)
		}
		if err := clock.Wait(ctx, pause); err != nil {
			return s.release(context.WithoutCancel(ctx), m, now)
		}
	}
	return nil
}

// currentTime returns the current time, but never less than a given one.
func currentTime(c clock.Clock, now clock.Time) clock.Time {
	if c == nil || c.Now().Before(now.Time) {
		return now
	}
	return c.Now()
}

// unit returns a unit of work of an import.
func (s *Service) unit(org, id string, now clock.Time) *work.Unit {
	return work.NewRun(s.Pool, work.Actor{Kind: work.Importer, ID: id}, now).For(org)
}

// step does the next batch of an import. Reading is done outside of a transaction.
func (s *Service) step(ctx context.Context, org, id string, now clock.Time) error {
	m, err := queries.ImportGet(ctx, s.Pool, db.ImportGetParams{ID: id, OrgID: org})
	if err != nil {
		return err
	}
	p := placeOf(m)
	switch {
	case p.Phase == reading && m.Status == db.ImportStatusReading:
		return s.read(ctx, m, p, now)
	case p.Phase == parsing && m.Status == db.ImportStatusReading:
		return s.parse(ctx, m, p, now)
	}
	err = s.inUnit(ctx, m, now, func(u *work.Unit, m db.Import, p place) error { return s.batch(ctx, u, m, p, writeSize) })
	if p.Phase == writing && unwritable(err) { // find the row by which it fails
		return s.oneByOne(ctx, m, now)
	}
	return err
}

// oneByOne writes each row of a batch by itself, and refuses the rows that cannot be written.
func (s *Service) oneByOne(ctx context.Context, m db.Import, now clock.Time) error {
	for range writeSize {
		err := s.inUnit(ctx, m, now, func(u *work.Unit, m db.Import, p place) error {
			if p.Phase != writing {
				return nil
			}
			return s.batch(ctx, u, m, p, 1)
		})
		if unwritable(err) {
			why := err
			err = s.inUnit(ctx, m, now, func(u *work.Unit, m db.Import, p place) error { return s.skip(ctx, u, m, p, why) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inUnit runs a batch in a transaction that locks the import.
func (s *Service) inUnit(ctx context.Context, m db.Import, now clock.Time,
	do func(u *work.Unit, m db.Import, p place) error) error {
	u := s.unit(m.OrgID, m.ID, now)
	u.Silent = !m.EmitEvents
	return u.Within(ctx, func(u *work.Unit) error {
		m, p, err := lock(ctx, u, m.ID)
		if err != nil {
			return err
		}
		m.BusyUntil = new(now.Plus(lease))
		return do(u, m, p)
	})
}

// batch does a batch of the phase that an import is in.
func (s *Service) batch(ctx context.Context, u *work.Unit, m db.Import, p place, size int32) error {
	switch {
	case p.Phase == filling && m.UpdatedAt.Before(u.Now.Add(-fileWait)):
		return s.Abandon(ctx, u, m.ID, "Its files were not completed.")
	case m.Status == db.ImportStatusReading && p.Phase == planning:
		return s.plan(ctx, u, m, p)
	case m.Status == db.ImportStatusReading && p.Phase == summing:
		return s.sum(ctx, u, m)
	case m.Status == db.ImportStatusWriting && p.Phase == writing:
		return s.write(ctx, u, m, p, size)
	case m.Status == db.ImportStatusWriting && p.Phase == tidying:
		return s.tidy(ctx, u, m)
	case m.Status == db.ImportStatusUndoing && p.Phase == undoing:
		return s.undo(ctx, u, m, p)
	}
	return errEnded // done, or its files are still being added
}

// read reads the next page of the source and stores its rows.
func (s *Service) read(ctx context.Context, m db.Import, p place, now clock.Time) error {
	lists, err := s.lists(ctx, m)
	if err != nil {
		return err
	}
	after := place{Phase: planning, Began: now}
	var rows []source.Row
	if p.List >= len(lists) {
		s.closeLists(m.ID)
	} else {
		list := lists[p.List]
		page, err := list.Read(ctx, p.Cursor)
		if err != nil {
			return fmt.Errorf("reading %s: %w", list.Name, err)
		}
		rows, after = page.Rows, place{
			Phase: reading, List: p.List, Name: list.Name, Cursor: page.Next, Began: p.Began,
			Done: p.Done + int64(len(page.Rows)),
		}
		if page.Next == "" {
			after.List++
			if after.Done = 0; after.List < len(lists) {
				after.Name = lists[after.List].Name
			}
		}
	}
	return s.inUnit(ctx, m, now, func(u *work.Unit, m db.Import, at place) error {
		if at != p || m.Status != db.ImportStatusReading { // another server was faster
			return nil
		}
		_, err := s.store(ctx, u, m, rows, after)
		return err
	})
}

// lists returns the lists of an import's source, which stays open while it is read, so that its rate limit holds.
func (s *Service) lists(ctx context.Context, m db.Import) ([]source.List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open, ok := s.opened[m.ID]; ok {
		return open, nil
	}
	lists, err := s.open(ctx, m)
	if err == nil {
		for id := range s.opened {
			if len(s.opened) >= maxOpen {
				delete(s.opened, id)
			}
		}
		if s.opened == nil {
			s.opened = map[string][]source.List{}
		}
		s.opened[m.ID] = lists
	}
	return lists, err
}

// maxOpen bounds the sources that stay open. Another one is opened again for each turn of its import.
const maxOpen = 16

// closeLists forgets the source of an import that has been read.
func (s *Service) closeLists(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opened, id)
}

// open opens the source of an import.
func (s *Service) open(ctx context.Context, m db.Import) ([]source.List, error) {
	product, ok := source.Find(m.Source)
	if !ok {
		return nil, fmt.Errorf("importer: no source %q", m.Source)
	}
	key, err := s.Keeper.Open(m.APIKey, Place(m.ID))
	if err != nil {
		return nil, err
	}
	program, err := s.unit(m.OrgID, m.ID, m.CreatedAt).Program(ctx, m.ProgramID)
	if err != nil {
		return nil, err
	}
	account := source.Account{
		Key: string(key), Address: s.Addresses[m.Source], Since: m.Since, Currency: program.Currency,
		Zone: clock.StoredZone(program.TimeZone),
	}
	if m.SourceAccount != nil {
		account.ID = *m.SourceAccount
	}
	return product.Open(account).Lists(), nil
}

// placeOf returns the place of an import.
func placeOf(m db.Import) (p place) {
	_ = json.Unmarshal(m.Place, &p) // written by encode
	return p
}

// release lets any server continue an import.
func (s *Service) release(ctx context.Context, m db.Import, now clock.Time) error {
	return s.inUnit(ctx, m, now, func(u *work.Unit, m db.Import, p place) error {
		m.BusyUntil = nil
		return save(ctx, u, m, p)
	})
}

// saveFailure stores why a step failed, and when it is tried again. If that cannot be stored, it stores a fixed
// sentence and sends no mail: an import must not stay active, with its key, forever.
func (s *Service) saveFailure(ctx context.Context, m db.Import, now clock.Time, why error) error {
	text := plain.Short(strings.ToValidUTF8(strings.ReplaceAll(why.Error(), "\x00", ""), "\uFFFD"), maxError)
	if errors.Is(why, source.ErrKey) || errors.Is(why, source.ErrRequest) {
		s.closeLists(m.ID)
	}
	err := s.inUnit(ctx, m, now, s.failure(ctx, why, text, s.notify))
	if err != nil && ctx.Err() == nil {
		silent := func(context.Context, *work.Unit, db.Import) error { return nil }
		err = errors.Join(err, s.inUnit(ctx, m, now, s.failure(ctx, why, noReason, silent)))
	}
	return errors.Join(why, err)
}

// noReason replaces the text of a failure that cannot be stored.
const noReason = "The import failed, and the reason cannot be stored."

// freeWaits is how long a source may make an import wait without progress before its requests count as failures.
const freeWaits = time.Hour

// failure returns the batch that stores a failure. After the last retry, or if a retry cannot help, the import has
// failed, and notify tells it.
func (s *Service) failure(ctx context.Context, why error, text string,
	notify func(context.Context, *work.Unit, db.Import) error) func(*work.Unit, db.Import, place) error {
	return func(u *work.Unit, m db.Import, p place) error {
		updated, wait, again := u.Now, time.Duration(0), true
		busy := (*source.BusyError)(nil)
		if errors.As(why, &busy) { // updated_at stays the time of the last progress
			updated, wait = m.UpdatedAt, busy.After
		}
		if busy == nil || u.Now.After(m.UpdatedAt.Add(freeWaits)) {
			var backoff time.Duration
			m.Attempts++
			backoff, again = retries.After(int(m.Attempts))
			wait = max(wait, backoff)
		}
		m.Error = &text
		if again && !permanent(why, p) {
			m.BusyUntil = new(u.Now.Plus(wait))
		} else {
			m.Status, m.FinishedAt, m.BusyUntil, updated = db.ImportStatusFailed, &u.Now, nil, u.Now
			err := queries.ImportFilesDelete(ctx, u.Later(), db.ImportFilesDeleteParams{ImportID: m.ID, OrgID: m.OrgID})
			if err != nil {
				return err
			}
			if err := notify(ctx, u, m); err != nil {
				return err
			}
		}
		return queries.ImportSaveFailure(ctx, u.Later(), db.ImportSaveFailureParams{
			Status: m.Status, Error: m.Error, Attempts: m.Attempts, BusyUntil: m.BusyUntil, FinishedAt: m.FinishedAt,
			UpdatedAt: updated, ID: m.ID, OrgID: m.OrgID,
		})
	}
}

// permanent reports whether a step would fail again: for its key, its file, or the first page of a list. After a later
// page, a retry can save the pages before it.
func permanent(why error, p place) bool {
	return errors.Is(why, source.ErrKey) || errors.Is(why, errFile) || errors.Is(why, source.ErrRequest) && p.Cursor == ""
}

const maxError = 500
