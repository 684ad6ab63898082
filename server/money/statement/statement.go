// Package statement has the document about a paid payout: its number, its contents, its lines and the words of a
// self-billing invoice. It needs no database. Package proof signs the canonical bytes of a document.
package statement

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/proof"
)

// Version is the version of the document. Members may be added to it; another meaning of a member needs another
// version.
const Version = 1

// Document is the statement of a paid payout. It never changes once it is issued.
type Document struct {
	Version      int          `json:"version"`
	Number       string       `json:"number"`
	IssuedAt     clock.Time   `json:"issued_at"`
	Seller       Seller       `json:"seller"`
	Program      Program      `json:"program"`
	Partner      Partner      `json:"partner"`
	Payout       Payout       `json:"payout"`
	LinesCount   int64        `json:"lines_count"`
	LinesHash    string       `json:"lines_hash"`
	Salt         string       `json:"salt"`
	PreviousHash *string      `json:"previous_hash"`
	Corrects     *string      `json:"corrects"`
	SelfBilling  *SelfBilling `json:"self_billing"`
}

// Seller is the company that pays the commissions.
type Seller struct {
	Name    string   `json:"name"`
	Address *string  `json:"address"`
	TaxIDs  []string `json:"tax_ids"`
}

// Program is the program of a payout. TimeZone is that of the document's days.
type Program struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	TimeZone string `json:"time_zone"`
}

// Partner is the receiver of a payout.
type Partner struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Company     *string  `json:"company"`
	CountryCode *string  `json:"country_code"`
	Address     *string  `json:"address"`
	TaxIDs      []string `json:"tax_ids"`
}

// Payout is the payment. PeriodMonth has the form 2026-09.
type Payout struct {
	ID          string     `json:"id"`
	PeriodMonth string     `json:"period_month"`
	PeriodEnd   clock.Time `json:"period_end"`
	PaidAt      clock.Time `json:"paid_at"`
	Method      *string    `json:"method"`
	ExternalID  *string    `json:"external_id"`
	AmountMinor int64      `json:"amount_minor"`
	Currency    string     `json:"currency"`
}

// Line is a commission of the payout. OrderHash is nil for a commission without a sale.
type Line struct {
	CommissionID string     `json:"commission_id"`
	Kind         string     `json:"kind"`
	SaleID       *string    `json:"sale_id"`
	OccurredAt   clock.Time `json:"occurred_at"`
	OrderHash    *string    `json:"order_hash"`
	AmountMinor  int64      `json:"amount_minor"`
	Currency     string     `json:"currency"`
}

// Subject is a paid payout with everything that its statement depends on. Name is the name under which the partner is
// paid.
type Subject struct {
	Program db.Program
	Partner db.Partner
	Name    string
	Payout  db.Payout
	Lines   []db.StatementLinesRow
}

// New returns the statement of a payout without its number and its place among the partner's statements.
func New(of Subject, issuedAt clock.Time) (Document, error) {
	seller, err := SellerOf(of.Program)
	if err != nil {
		return Document{}, err
	}
	p := of.Payout
	d := Document{
		Version:  Version,
		IssuedAt: issuedAt,
		Seller:   seller,
		Program:  Program{ID: of.Program.ID, Name: of.Program.Name, TimeZone: of.Program.TimeZone},
		Partner: Partner{
			ID: of.Partner.ID, Name: of.Name, Company: of.Partner.CompanyName, CountryCode: of.Partner.CountryCode,
			Address: of.Partner.Address, TaxIDs: []string{},
		},
		Payout: Payout{
			ID: p.ID, PeriodMonth: p.PeriodMonth.Format("2006-01"), PeriodEnd: p.PeriodEnd, PaidAt: *p.PaidAt,
			Method: p.Method, ExternalID: p.ExternalID, AmountMinor: p.AmountMinor, Currency: p.Currency,
		},
		Salt: salt(),
	}
	if of.Partner.TaxID != nil {
		d.Partner.TaxIDs = append(d.Partner.TaxIDs, *of.Partner.TaxID)
	}
	if of.Program.SelfBilling {
		d.SelfBilling = selfBilling(d, of.Partner.LanguageCode, of.Program.VatRateBps)
	}
	sum := proof.NewDigest()
	for _, row := range of.Lines {
		if err := sum.AddLine(LineOf(row, d.Salt)); err != nil {
			return d, err
		}
	}
	d.LinesCount, d.LinesHash = int64(sum.Count()), sum.Sum()
	return d, nil
}

// LineOf returns the line of a commission in a statement with a salt.
func LineOf(row db.StatementLinesRow, salt string) Line {
	line := Line{
		CommissionID: row.ID, Kind: string(row.Kind), SaleID: row.SaleID, OccurredAt: row.OccurredAt,
		AmountMinor: row.AmountMinor, Currency: row.Currency,
	}
	if row.ExternalChargeID != nil {
		line.OrderHash = new(proof.OrderHash(salt, *row.ExternalChargeID))
	}
	return line
}

// SellerOf returns the company that pays the commissions of a program: the one of its settings, or the program's name.
func SellerOf(p db.Program) (Seller, error) {
	s := Seller{Name: p.Name, TaxIDs: []string{}}
	if p.StatementSeller == nil {
		return s, nil
	}
	err := json.Unmarshal(p.StatementSeller, &s)
	return s, err
}

// saltBytes make the hash of an order id unpredictable.
const saltBytes = 16

func salt() string {
	b := make([]byte, saltBytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Number returns the number of a statement.
func Number(prefix string, year, sequence int64) string {
	return fmt.Sprintf("%s-%d-%06d", prefix, year, sequence)
}

// Year returns the year of a time in a program's time zone.
func Year(at clock.Time, p db.Program) int64 {
	return int64(at.In(clock.StoredZone(p.TimeZone)).Year())
}

// Month returns the month of a time in a program's time zone, such as 2026-10.
func Month(at clock.Time, p db.Program) string {
	return at.In(clock.StoredZone(p.TimeZone)).Format("2006-01")
}

// Series returns the series of a program's numbers: one for an organization, another for each sample program.
func Series(programID string) string {
	if ident.IsSample(programID) {
		return programID
	}
	return ""
}

// maxPrefix is the length of the longest prefix of numbers.
const maxPrefix = 12

// PrefixOf derives a prefix of numbers from a program's subdomain: its first words that are short enough.
func PrefixOf(subdomain string) string {
	p := strings.ToUpper(subdomain)
	if len(p) > maxPrefix {
		if p = p[:maxPrefix+1]; strings.LastIndexByte(p, '-') > 0 {
			p = p[:strings.LastIndexByte(p, '-')]
		}
		p = p[:min(len(p), maxPrefix)]
	}
	if p = strings.Trim(p, "-"); p == "" {
		return "R"
	}
	return p
}

// Read parses the stored bytes of a document.
func Read(document []byte) (d Document, err error) {
	err = json.Unmarshal(document, &d)
	return d, err
}

// Month returns the first day of the payout's period.
func (p Payout) Month() time.Time {
	t, _ := time.Parse("2006-01", p.PeriodMonth) // the zero time for a document that New has not made
	return t
}
