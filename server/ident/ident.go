// Package ident makes and reads the prefixed ids of the API: a prefix that
// names the type, and 26 characters of a time-ordered UUID (version 7) in
// Crockford's base 32, whose byte order is the order of time. Rows of the
// sample program carry sample_ in front of the prefix.
package ident

import (
	"encoding/base32"
	"strings"

	"github.com/google/uuid"
)

// Prefix is the type part of an id, including its underscore.
type Prefix string

// The prefixes of the API's objects, and those of the operator's own
// objects (organizations, API keys, audit entries, job runs, sessions of users).
const (
	Organization Prefix = "org_"
	APIKey       Prefix = "key_"
	User         Prefix = "usr_"
	UserSession  Prefix = "uss_"
	Program      Prefix = "prg_"
	Partner      Prefix = "part_"
	PartnerNote  Prefix = "note_"
	Group        Prefix = "grp_"
	Tag          Prefix = "tag_"
	Application  Prefix = "app_"
	Link         Prefix = "lnk_"
	Coupon       Prefix = "cpn_"
	Click        Prefix = "clk_"
	Referral     Prefix = "ref_"
	Customer     Prefix = "cus_"
	Sale         Prefix = "sale_"
	Refund       Prefix = "rfd_"
	Commission   Prefix = "com_"
	Balance      Prefix = "bal_"
	Payout       Prefix = "pyt_"
	Batch        Prefix = "batch_"
	Flow         Prefix = "flw_"
	Branch       Prefix = "flb_"
	RiskFlag     Prefix = "rsk_"
	Publishable  Prefix = "pub_"
	Resource     Prefix = "res_"
	Campaign     Prefix = "camp_"
	Sequence     Prefix = "seq_"
	Endpoint     Prefix = "whe_"
	TaxForm      Prefix = "tax_"
	Rail         Prefix = "prl_"
	Send         Prefix = "pse_"
	Statement    Prefix = "stm_"
	StatementKey Prefix = "stk_"
	Connection   Prefix = "pco_"
	InboxEvent   Prefix = "inb_"
	Event        Prefix = "evt_"
	TestEvent    Prefix = "evt_test_"
	Delivery     Prefix = "whd_"
	Request      Prefix = "req_"
	Run          Prefix = "run_"
	Audit        Prefix = "aud_"
	Mail         Prefix = "mail_"
	Import       Prefix = "imp_"
	Problem      Prefix = "ipr_"
	OpenBalance  Prefix = "ibl_"
	Claim        Prefix = "acl_"
)

// sample marks the ids of sample rows.
const sample = "sample_"

var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// New returns a fresh id.
func New(p Prefix) string {
	u := uuid.Must(uuid.NewV7())
	return string(p) + encoding.EncodeToString(u[:])
}

// NewSample returns a fresh id of a sample row.
func NewSample(p Prefix) string { return sample + New(p) }

// IsSample reports whether id belongs to a sample row.
func IsSample(id string) bool { return strings.HasPrefix(id, sample) }

// Has reports whether id has the form of an id of p's type. It avoids useless queries; the object
// need not exist.
func Has(id string, p Prefix) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(id, sample), string(p))
	if !ok || rest == "" || len(id) > 64 {
		return false
	}
	for i := range len(rest) {
		c := rest[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// BalanceID returns the id of a partner's balance in a currency. It consists of both, so that it is
// a cursor without a look-up.
func BalanceID(partnerID, currency string) string {
	prefix := string(Balance)
	if IsSample(partnerID) {
		prefix = sample + prefix
	}
	return prefix + strings.TrimPrefix(strings.TrimPrefix(partnerID, sample), string(Partner)) + "_" +
		strings.ToLower(currency)
}
