package joining

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/locale"
	"rail/server/outbound/mail"
	"rail/server/program/partner"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// page is a program's join page.
type page struct {
	*worktest.Tenant
	service *Service
}

func newPage(t *testing.T) page {
	t.Helper()
	x := worktest.New(t)
	keeper, err := secret.New([32]byte(bytes.Repeat([]byte{7}, 32)))
	require.NoError(t, err)
	box := &mail.Outbox{Configured: true}
	return page{x, &Service{Pool: x.Pool, Mail: box, Partners: &partner.Service{Keeper: keeper, Mail: box}}}
}

// submit sends an application from a network address.
func (p page) submit(email, from string) error {
	p.Helper()
	return p.Do(func(ctx context.Context, u *work.Unit) error {
		return p.service.Submit(ctx, u, p.Program.ID, Submission{
			Email: email, AddressHash: []byte(from), Locale: locale.English,
			Application: Application{FirstName: new("Ada"), Answers: json.RawMessage("{}")},
		})
	})
}

// mails returns the purposes of the mails to an address, oldest first.
func (p page) mails(email string) []string {
	p.Helper()
	return worktest.Rows[string](p.Tenant, "SELECT purpose FROM mails WHERE recipient = $1 ORDER BY id", email)
}

// TestLimits checks the limits of a join page: applications of a network address, and mails to an email address.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for range perEmail + 2 {
		require.NoError(t, p.submit("ada@example.com", "1"), "the answer does not tell that no mail is sent")
	}
	require.Len(t, p.mails("ada@example.com"), perEmail)
	for i := range perAddress {
		require.NoError(t, p.submit(fmt.Sprintf("%d@example.com", i), "2"))
	}
	require.ErrorIs(t, p.submit("more@example.com", "2"), ErrOften)
	require.NoError(t, p.submit("more@example.com", "3"))
	p.Now = p.Now.Plus(time.Hour + time.Second)
	require.NoError(t, p.submit("again@example.com", "2"))
	p.Now = p.Now.Days(1)
	require.NoError(t, p.submit("ada@example.com", "4"))
	require.Len(t, p.mails("ada@example.com"), perEmail+1)
	p.Exec(`INSERT INTO join_requests (token_hash, org_id, program_id, email, address_hash, application, language, created_at,
			expires_at)
		SELECT sha256(n::text::bytea), org_id, program_id, email, 'x', application, language, created_at, expires_at
		FROM (SELECT * FROM join_requests ORDER BY created_at DESC LIMIT 1) j, generate_series(1, $1) n`, waiting)
	require.ErrorIs(t, p.submit("last@example.com", "5"), ErrFull)
}

// TestKnownAddress checks that only the mail differs for the address of a partner.
func TestKnownAddress(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	active := p.Partner("ada")
	pending := p.Partner("bob", func(b *db.Partner) { b.Status = db.PartnerStatusPending })
	declined := p.Partner("eve", func(b *db.Partner) { b.Status = db.PartnerStatusDeclined })
	for email, purpose := range map[string]string{
		active.Email: "join_known", pending.Email: "join_waiting", declined.Email: "join_confirm", "new@example.com": "join_confirm",
	} {
		require.NoError(t, p.submit(email, email))
		require.Equal(t, []string{purpose}, p.mails(email))
	}
}

// TestConfirm checks that a link makes one application, within its life, and shows its status afterwards.
func TestConfirm(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	p.Exec(`INSERT INTO groups (id, org_id, program_id, name, slug, is_private, is_default, created_at, updated_at)
		VALUES ('grp_1', $1, $2, 'Partners', 'partners', false, true, $3, $3)`, p.OrgID, p.Program.ID, p.Now)
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXY2"
	p.Must(func(ctx context.Context, u *work.Unit) error {
		a := Submission{Email: "ada@example.com", AddressHash: []byte("1"), Locale: locale.English}
		return store(ctx, u, p.Program, a, token, []byte(`{"first_name": "Ada", "terms_agreed": true, "answers": {}}`))
	})
	confirm := func() error {
		r, err := p.service.Find(t.Context(), token, p.Now)
		if err != nil {
			return err
		}
		return p.Do(func(ctx context.Context, u *work.Unit) error { return p.service.Confirm(ctx, u, r) })
	}
	_, err := p.service.Find(t.Context(), token+"x", p.Now)
	require.ErrorIs(t, err, ErrLink)
	_, err = p.service.Find(t.Context(), token, p.Now.Plus(Life))
	require.ErrorIs(t, err, ErrLink)
	require.NoError(t, confirm())
	require.NoError(t, confirm(), "a second click changes nothing")
	require.Equal(t, []string{"ada@example.com"}, worktest.Rows[string](p.Tenant, "SELECT email FROM applications"))
	p.Now = p.Now.Plus(Life)
	r, err := p.service.Find(t.Context(), token, p.Now)
	require.NoError(t, err, "the link shows the status for longer")
	a, err := p.service.Status(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, db.ApplicationStatusPending, a.Status)
	_, err = p.service.Find(t.Context(), token, p.Now.Plus(StatusLife))
	require.ErrorIs(t, err, ErrLink)
}

// TestConfirmWithoutGroup checks that an applicant to a group that was deleted since enters the default group.
func TestConfirmWithoutGroup(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	p.Exec(`INSERT INTO groups (id, org_id, program_id, name, slug, is_private, is_default, created_at, updated_at)
		VALUES ('grp_1', $1, $2, 'Partners', 'partners', false, true, $3, $3)`, p.OrgID, p.Program.ID, p.Now)
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXY2"
	p.Must(func(ctx context.Context, u *work.Unit) error {
		a := Submission{Email: "ada@example.com", AddressHash: []byte("1"), Locale: locale.English}
		return store(ctx, u, p.Program, a, token, []byte(`{"first_name": "Ada", "group_id": "grp_2", "answers": {}}`))
	})
	r, err := p.service.Find(t.Context(), token, p.Now)
	require.NoError(t, err)
	p.Must(func(ctx context.Context, u *work.Unit) error { return p.service.Confirm(ctx, u, r) })
	require.Equal(t, []string{"grp_1"}, worktest.Rows[string](p.Tenant, "SELECT group_id FROM applications"))
}
