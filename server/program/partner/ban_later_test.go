package partner_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/program/partner"
	"rail/server/work"
)

// banLater schedules a ban in ten minutes.
func banLater(s *apitest.Server, partner, reason string) apitest.Answer {
	return s.Must(200, s.Post("/v1/partners/"+partner+"/ban", M{"reason": reason, "undo_for_minutes": 10}))
}

// undoBan undoes a scheduled ban.
func undoBan(s *apitest.Server, partner string) apitest.Answer {
	return s.Post("/v1/partners/"+partner+"/undo_ban", nil)
}

// partnerOf returns the status of a partner, its reason, and the time of its ban.
func partnerOf(s *apitest.Server, id string) []any {
	p := s.Must(200, s.Get("/v1/partners/"+id)).Body
	return []any{p["status"], p["suspension_reason"], p["ban_scheduled_at"]}
}

// TestBanLater: a scheduled ban suspends the partner at once. Ten minutes later, the job does what an immediate ban
// does, once.
func TestBanLater(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	e := s.Earner()
	s.Flow(e.ProgramID)
	partner, _ := e.Referrer(10000, 5000)
	customer := s.Customer(e.ProgramID, partner)
	e.Batch(201)
	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": e.ProgramID, "partner_id": partner, "code": "ADA20"})).String("id")
	before, at := len(s.Events(e.ProgramID)), s.Clock.Now().Plus(10*time.Minute)

	done := banLater(s, partner, "Stolen cards.")
	require.Equal(t, []any{json.Number("2"), json.Number("0"), json.Number("1"), false}, []any{
		done.Body["rejected_count"], done.Body["remaining_count"], done.Body["coupons_stopped"], done.Body["dry_run"],
	})
	require.Equal(t, []any{"suspended", "Stolen cards.", at.String()}, partnerOf(s, partner))
	require.Equal(t, []string{"affiliate.updated"}, s.EventTypes(e.ProgramID)[before:])
	require.EqualValues(t, 2, openCount(s, e.ProgramID, partner))
	require.Len(t, e.Payouts("&partner_id="+partner), 1)
	require.Equal(t, true, s.Must(200, s.Get("/v1/coupons/"+coupon)).Body["active"])
	s.Refused(409, "partner_not_active", "", s.Post("/v1/partners/"+partner+"/sso", M{}))
	_, paid := s.SoleCommission(e.ProgramID, s.Sale(e.ProgramID, customer).String("id"))
	require.False(t, paid, "a suspended partner earns nothing")

	before = len(s.Events(e.ProgramID))
	s.Clock.Advance(10*time.Minute - time.Millisecond)
	apitest.RunJob(t, s, "ban-partners")
	require.Len(t, s.Events(e.ProgramID), before, "not yet")
	s.Clock.Advance(time.Millisecond)
	s.Refused(409, "partner_ban_not_undoable", "", undoBan(s, partner))
	for range 2 {
		apitest.RunJob(t, s, "ban-partners")
		require.Equal(t, map[string]int{
			"commission.updated": 2, "payout.deleted": 1, "affiliate.updated": 1, "affiliate_coupon.deactivated": 1,
			"affiliate.banned": 1,
		}, counted(s.EventTypes(e.ProgramID)[before:]))
		require.Equal(t, []any{"suspended", "Stolen cards.", nil}, partnerOf(s, partner))
	}
	s.Refused(409, "partner_ban_not_undoable", "", undoBan(s, partner))
	require.Zero(t, openCount(s, e.ProgramID, partner))
	require.Empty(t, e.Payouts("&partner_id="+partner))
	require.Equal(t, 1, banMails(t, s))
	log := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+e.ProgramID+"&target_id="+partner)).Data()
	require.Equal(t, []any{"partner.banned", "partner.ban_scheduled"}, []any{log[0]["action"], log[1]["action"]})
	require.Equal(t, log[1]["actor_id"], log[0]["actor_id"], "the log names who scheduled the ban")
	require.NotNil(t, log[0]["actor_id"])
	apitest.Balanced(t, s)
}

// banMails counts the mails about bans.
func banMails(t *testing.T, s *apitest.Server) (n int) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE purpose = 'partner_banned'").Scan(&n))
	return n
}

// TestBansUndone: bans that are scheduled and undone leave no trace but updates of the partner and entries of the audit
// log.
func TestBansUndone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	e := s.Earner()
	s.Flow(e.ProgramID)
	seed := rand.Uint64()
	t.Log("seed", seed)
	choice := rand.New(rand.NewPCG(seed, 0))
	var partners []string
	for i := range 6 {
		partner, _ := e.Referrer(10000, 100*(i+1))
		s.Must(201, s.Post("/v1/links", M{"program_id": e.ProgramID, "partner_id": partner, "destination_url": "https://shop.example"}))
		if i%3 == 0 {
			s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended", "suspension_reason": "A look first."}))
		}
		partners = append(partners, partner)
	}
	e.Batch(201)
	before, stood := apitest.Rows(s, s.Org), standings(s, partners)
	eventsBefore := len(s.Events(e.ProgramID))
	changes := 0
	for range 20 {
		partner := partners[choice.IntN(len(partners))]
		for range 1 + choice.IntN(2) {
			banLater(s, partner, "Stolen cards.")
			s.Clock.Advance(time.Duration(choice.IntN(9)) * time.Minute)
			apitest.RunJob(t, s, "ban-partners")
			changes++
		}
		s.Must(200, undoBan(s, partner))
		s.Refused(409, "partner_ban_not_undoable", "", undoBan(s, partner))
		changes++
	}
	s.Clock.Advance(time.Hour)
	apitest.RunJob(t, s, "ban-partners")
	after := apitest.Rows(s, s.Org)
	// The totals and the audit log's facts count the events and the entries of the log; a key has its last use.
	counts := regexp.MustCompile("^(partners|events|audit|tally|api_keys)")
	for table := range before {
		if counts.MatchString(table) {
			delete(before, table)
			delete(after, table)
		}
	}
	require.NotEmpty(t, before["ledger_entries"])
	require.Equal(t, before, after)
	require.Equal(t, stood, standings(s, partners))
	require.Equal(t, map[string]int{"affiliate.updated": changes}, counted(s.EventTypes(e.ProgramID)[eventsBefore:]))
	require.Zero(t, banMails(t, s))
	e.Tallied(t)
	apitest.Balanced(t, s)
}

// standings returns the partners without the time of their last change.
func standings(s *apitest.Server, partners []string) (out []M) {
	for _, id := range partners {
		p := s.Must(200, s.Get("/v1/partners/"+id+"?include[]=stats")).Body
		delete(p, "updated_at")
		out = append(out, p)
	}
	return out
}

// TestBanLaterMeanwhile: what else happens to a partner decides about its scheduled ban.
func TestBanLaterMeanwhile(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	program := s.Program()
	scheduled := func() (id, path string) {
		id = s.Partner(program)
		s.Must(201, apitest.Grant(s, program, id, M{"amount_minor": 700}))
		banLater(s, id, "Spam.")
		return id, "/v1/partners/" + id
	}
	now, path := scheduled()
	require.EqualValues(t, 1, s.Must(200, s.Post(path+"/ban", M{"reason": "Spam."})).Int("rejected_count"))
	require.Equal(t, []any{"suspended", "Spam.", nil}, partnerOf(s, now))
	require.Equal(t, 1, banMails(t, s), "an immediate ban mails the reason of the scheduled one")

	active, path := scheduled()
	s.Must(200, s.Post(path, M{"status": "active"}))
	s.Refused(409, "partner_ban_not_undoable", "", undoBan(s, active))

	edited, path := scheduled()
	s.Must(200, s.Post(path, M{"status": "suspended", "suspension_reason": "Under review.", "first_name": "Ada"}))
	_, path = scheduled()
	s.Must(200, s.Delete(path))
	again, path := scheduled()
	s.Clock.Advance(5 * time.Minute)
	s.Must(200, s.Post(path+"/ban", M{"reason": "Stolen cards.", "undo_for_minutes": 10, "tell_partner": false}))

	s.Clock.Advance(5 * time.Minute)
	apitest.RunJob(t, s, "ban-partners")
	require.Equal(t, []any{"active", nil, nil}, partnerOf(s, active))
	require.Equal(t, []any{"suspended", "Spam.", nil}, partnerOf(s, edited))
	require.Equal(t, s.Clock.Now().Plus(5*time.Minute).String(), partnerOf(s, again)[2], "another ban replaces the first")
	for id, open := range map[string]int64{now: 0, active: 1, edited: 0, again: 1} {
		require.Equal(t, open, openCount(s, program, id))
	}
	s.Must(200, undoBan(s, again))
	require.Equal(t, []any{"active", nil, nil}, partnerOf(s, again))
	require.Equal(t, 2, banMails(t, s))
	apitest.Balanced(t, s)
}

func TestBanLaterRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	for _, minutes := range []int{0, 61} {
		s.Refused(400, "parameter_invalid", "undo_for_minutes",
			s.Post("/v1/partners/"+partner+"/ban", M{"reason": "Spam.", "undo_for_minutes": minutes}))
	}
	pending := s.Partner(program, M{"status": "pending"})
	s.Refused(409, "partner_not_reviewed", "status",
		s.Post("/v1/partners/"+pending+"/ban", M{"reason": "Spam.", "undo_for_minutes": 10}))
	s.Refused(409, "partner_ban_not_undoable", "", undoBan(s, partner))
	s.Refused(404, "resource_not_found", "", undoBan(s, "part_none"))
	other := s.Program()
	banLater(s, partner, "Spam.")
	s.Refused(404, "resource_not_found", "program_id", s.Post("/v1/partners/"+partner+"/undo_ban?program_id="+other, nil))
	narrow := s.NewKey(s.Org, true, "partners:write", "commissions:write")
	s.Refused(403, "insufficient_scope", "", s.Do("POST", "/v1/partners/"+partner+"/undo_ban", narrow, nil))

	// A ban within the same moment as the approval keeps the application decided.
	applied := s.Must(201, apitest.Apply(s, program, "ada@example.com"))
	path := "/v1/applications/" + applied.String("id")
	banLater(s, s.Must(200, s.Post(path+"/approve", nil)).String("partner_id"), "Spam.")
	s.Refused(409, "application_not_reopenable", "", s.Post(path+"/reopen", nil))
}

// TestBanLaterOfMany: a ban with more commissions than a transaction rejects continues after a server was killed
// between two transactions, and mails once.
func TestBanLaterOfMany(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	program := s.Program()
	id := s.Partner(program)
	grantMany(t, s, program, id)
	require.EqualValues(t, 5002, banLater(s, id, "Spam.").Int("rejected_count"))
	s.Clock.Advance(10 * time.Minute)
	var killed partner.Service
	u := work.NewRun(s.Pool, work.Actor{Kind: work.Job, ID: "ban-partners"}, s.Clock.Now()).For(s.Org)
	require.NoError(t, u.Within(t.Context(), func(u *work.Unit) error {
		more, err := killed.BanDue(t.Context(), u, id)
		require.True(t, more)
		return err
	}))
	require.EqualValues(t, 2, openCount(s, program, id))
	require.NotNil(t, partnerOf(s, id)[2])
	s.Refused(409, "partner_ban_not_undoable", "", undoBan(s, id))
	apitest.RunJob(t, s, "ban-partners")
	require.Zero(t, openCount(s, program, id))
	require.Nil(t, partnerOf(s, id)[2])
	require.Equal(t, 1, banMails(t, s))
	apitest.Balanced(t, s)
}

// TestRaceBanLater: several servers execute due bans while others undo, ban and reinstate the partner, record sales and
// make payouts. A ban is executed once or not at all, and the books balance.
func TestRaceBanLater(t *testing.T) {
	t.Parallel()
	const rounds, callers = 8, 24
	e := apitest.NewEarner(t)
	s := e.Server
	s.Flow(e.ProgramID)
	for round := range rounds {
		id, _ := e.Referrer(10000, 5000, 2500)
		customer, path, before := s.Customer(e.ProgramID, id), "/v1/partners/"+id, len(s.Events(e.ProgramID))
		banLater(s, id, "Spam.")
		due := s.Clock.Now().Plus(10 * time.Minute)
		answers := apitest.AtOnce(callers, func(i int) apitest.Answer {
			switch i % 6 {
			case 0, 1:
				apitest.RunJobAt(t, s, "ban-partners", due)
				return apitest.Answer{}
			case 2:
				return undoBan(s, id)
			case 3:
				return s.Post("/v1/sales", saleOf(e.ProgramID, customer, -round*callers-i))
			case 4:
				return s.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": "2026-09-01", "partner_id": id})
			}
			return s.Post(path, M{"first_name": "Ada"})
		})
		for _, a := range answers {
			require.Less(t, a.Status, 500, "%s", a.Raw)
		}
		status := partnerOf(s, id)
		banned := counted(s.EventTypes(e.ProgramID)[before:])["affiliate.banned"]
		require.Nil(t, status[2])
		if status[0] == "suspended" {
			require.Equal(t, 1, banned, "round %d", round)
			require.Zero(t, openCount(s, e.ProgramID, id), "round %d", round)
		} else {
			require.Zero(t, banned, "round %d", round)
		}
	}
	e.Tallied(t)
	apitest.Balanced(t, s)
}
