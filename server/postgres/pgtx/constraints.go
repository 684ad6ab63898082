package pgtx

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"rail/gen/constraint"
)

// Constraint says what a violation of a named constraint means.
type Constraint int

const (
	// Bug is a violation that no request can cause while the code is right:
	// it answers 500 and is logged with the name of the constraint.
	Bug Constraint = iota
	// Raced is a violation that another request has just caused: the work is
	// undone and done again, and then sees what the other one wrote.
	Raced
)

// raced are the primary keys that two requests can make at once; those of other
// tables are random.
var raced = map[constraint.Name]bool{
	constraint.CampaignRecipientsPkey:  true,
	constraint.CertificatesPkey:        true,
	constraint.ChargeAliasesPkey:       true,
	constraint.CustomerDuplicatesPkey:  true,
	constraint.CustomerExternalIdsPkey: true,
	constraint.InboxWaitsPkey:          true,
	constraint.ForgottenPkey:           true,
	constraint.IdempotencyKeysPkey:     true,
	constraint.KeyFingerprintsPkey:     true,
	constraint.MailUnsubscribesPkey:    true,
	constraint.OptOutsPkey:             true,
	constraint.PartnerAddressesPkey:    true,
	constraint.PartnerTagsPkey:         true,
	constraint.PortalLogosPkey:         true,
	constraint.PortalSettingsPkey:      true,
	constraint.ReportSpansPkey:         true,
	constraint.ReportSumsPkey:          true,
	constraint.SequenceEnrolmentsPkey:  true,
	constraint.SequenceStepsPkey:       true,
	constraint.TalliesPkey:             true,
	constraint.TallyEntriesPkey:        true,
	constraint.TrackingValuesPkey:      true,
	constraint.WebhookLeasesPkey:       true,
}

// ConstraintMeaning maps a constraint or unique index by its name. Unique
// values and references can be taken, or go, between a look and a write;
// checks cannot fail unless code is wrong.
func ConstraintMeaning(name string) Constraint {
	if strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_fkey") || raced[constraint.Name(name)] {
		return Raced
	}
	return Bug // _check, _pkey, _append_only, _paid_final
}

// Again reports whether the whole work should run once more: it lost a race, a
// deadlock or a serialization conflict, or its place on a Bus, and nothing of it
// was kept.
func Again(err error) bool {
	if errors.Is(err, ErrAlone) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "40001", "40P01":
		return true
	case "23505", "23503":
		return ConstraintMeaning(pg.ConstraintName) == Raced
	}
	return false
}
