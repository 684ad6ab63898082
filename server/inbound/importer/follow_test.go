package importer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/secret"
	"rail/server/work"
)

// followedDesk is a program with imported links.
type followedDesk struct {
	*apitest.Server
	t       *testing.T
	service *importer.Service
	program string
}

// newFollowedDesk imports partners "ada0" and so on, each with a link whose value has spaces and capitals.
func newFollowedDesk(t *testing.T, partners int) *followedDesk {
	t.Helper()
	s := apitest.New(t)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	d := &followedDesk{
		Server: s, t: t, program: s.Program(M{"currency": "USD"}),
		service: &importer.Service{Pool: s.Pool, Keeper: keeper, Clock: s.Clock},
	}
	var rows []source.Row
	at := clock.At(apitest.Start.Add(1234567 * time.Microsecond)).Days(-10) // finer than milliseconds
	for i := range partners {
		id := fmt.Sprint("ada", i)
		rows = append(rows, source.Row{Kind: source.KindPartner, ID: id, Partner: &source.Partner{
			Email: id + "@example.com", Status: source.Active, CreatedAt: at,
		}}, source.Row{Kind: source.KindLink, ID: id, Link: &source.Link{
			PartnerID: id, Param: "via", Value: fmt.Sprintf("Ada %d & Co", i), URL: "https://shop.example/p?x=1", CreatedAt: at,
		}})
	}
	require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) error {
		_, err := d.service.Start(t.Context(), u, importer.Order{ProgramID: d.program, Source: importer.CSV, Rows: rows})
		return err
	}))
	return d
}

func (d *followedDesk) unit() *work.Unit {
	return work.NewRun(d.Pool, work.Actor{Kind: work.Operator, ID: "test"}, d.Clock.Now()).For(d.Org)
}

// follow follows the links, which leaves no rows.
func (d *followedDesk) follow() []importer.LinkVisit {
	d.t.Helper()
	all, err := d.service.Follow(d.t.Context(), d.unit(), d.program)
	require.NoError(d.t, err)
	for _, table := range []string{"clicks", "referrals", "events", "risk_flags"} {
		var n int
		require.NoError(d.t, d.Pool.QueryRow(d.t.Context(), "SELECT count(*) FROM "+table).Scan(&n), table)
		require.Zero(d.t, n, table)
	}
	return all
}

// one follows the only link.
func (d *followedDesk) one() importer.LinkVisit {
	d.t.Helper()
	all := d.follow()
	require.Len(d.t, all, 1)
	require.Equal(d.t, "https://shop.example/p?x=1&via=Ada+0+%26+Co", all[0].Address)
	require.Equal(d.t, "ada0@example.com", all[0].Partner)
	return all[0]
}

func (d *followedDesk) exec(sql string, args ...any) {
	d.t.Helper()
	tag, err := d.Pool.Exec(d.t.Context(), sql, args...)
	require.NoError(d.t, err)
	require.NotZero(d.t, tag.RowsAffected())
}

// TestFollow: links of a done import are followed to their partners, at most five, always the same.
func TestFollow(t *testing.T) {
	t.Parallel()
	d := newFollowedDesk(t, 8)
	require.Empty(t, d.follow(), "nothing is written yet")
	apitest.RunJob(t, d.Server, "run-imports")
	all := d.follow()
	require.Len(t, all, 5)
	for _, f := range all {
		require.Empty(t, f.Reason, f.Address)
	}
	require.Equal(t, all, d.follow())
}

// TestFollowBroken: a link that credits no partner, or another one, is reported with the reason.
func TestFollowBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil    func(d *followedDesk)
		reason   string
		inactive bool
	}{
		"the parameter is gone": {
			spoil:  func(d *followedDesk) { d.exec("UPDATE programs SET url_params = '{ref}' WHERE id = $1", d.program) },
			reason: "The parameter via is not one of the program's url_params (ref); add it.",
		},
		"the value belongs to another partner": {
			spoil: func(d *followedDesk) {
				eve := d.Partner(d.program, M{"handle": "eve"})
				d.exec("UPDATE tracking_values SET partner_id = $1 WHERE value = 'ada 0 & co'", eve)
			},
			reason: "via=Ada 0 & Co credits the partner part_",
		},
		"the value is gone": {
			spoil:  func(d *followedDesk) { d.exec("DELETE FROM tracking_values WHERE value = 'ada 0 & co'") },
			reason: "value is neither a handle of an active partner nor a link value of this program.",
		},
		"the program is paused": {
			spoil:  func(d *followedDesk) { d.exec("UPDATE programs SET status = 'paused' WHERE id = $1", d.program) },
			reason: "The program is paused",
		},
		"the page has another parameter": {
			spoil: func(d *followedDesk) {
				eve := d.Partner(d.program, M{"handle": "eve"})
				d.exec("UPDATE links SET destination_url = 'https://shop.example/p?x=1&ref=eve' WHERE partner_id <> $1", eve)
				d.exec("UPDATE programs SET url_params = '{ref,via}' WHERE id = $1", d.program)
			},
			reason: "ref=eve credits the partner part_",
		},
		"the partner is suspended": {
			spoil:    func(d *followedDesk) { d.exec("UPDATE partners SET status = 'suspended' WHERE handle <> 'eve'") },
			reason:   "Its partner is suspended, so its visits are not credited.",
			inactive: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFollowedDesk(t, 1)
			apitest.RunJob(t, d.Server, "run-imports")
			require.Empty(t, d.one().Reason)
			c.spoil(d)
			all, err := d.service.Follow(t.Context(), d.unit(), d.program)
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.Contains(t, all[0].Reason, c.reason)
			require.Equal(t, c.inactive, all[0].Inactive)
		})
	}
}
