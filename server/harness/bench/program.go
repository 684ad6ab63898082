package bench

import (
	"fmt"
	"math/rand/v2"

	"rail/server/harness/dataset"
)

// The numbers at the ends of the ids have fixed lengths, so that the load generator, pgbench and the rewriting of
// statements agree on them.
const (
	programBase  = dataset.FirstProgram
	partnerBase  = dataset.FirstPartner
	customerBase = dataset.FirstCustomer
	saleBase     = dataset.FirstSale

	// Enough partners that random ones seldom meet in the locks of one row, and enough customers
	// of one partner, the hot one, that only the partner is contended.
	programs           = dataset.Programs
	partnersPerProgram = 500
	partners           = programs * partnersPerProgram
	hotCustomers       = 5000
)

// size is the number of rows of the data: five sales a customer, but a customer for each partner at
// least. The hot partner's customers follow these.
type size struct{ Customers, Sales int }

func newSize(rows int) size { return size{Customers: max(rows/5, partners), Sales: rows} }

// draw has the objects of one request, by the numbers at the ends of their ids. Fresh is a number
// that no other request has.
type draw struct{ Program, Partner, Customer, Sale, Fresh int64 }

// request is one HTTP request; Key is its Idempotency-Key, or "".
type request struct{ Method, Path, Body, Key string }

// head returns the headers of a request, in the order in which they are sent.
func (r request) head(key string) [][2]string {
	h := [][2]string{{"Authorization", "Bearer " + key}}
	if r.Path == browserPath {
		h = [][2]string{{"Origin", shop}, {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}}
	}
	if r.Key != "" {
		h = append(h, [2]string{"Idempotency-Key", r.Key})
	}
	if r.Body != "" {
		h = append(h, [2]string{"Content-Type", "application/json"})
	}
	return h
}

// load is a kind of request: how to draw its objects, for HTTP and as \set commands of pgbench, and how
// to send it. pick and set must draw alike, or the two sides measure different work.
type load struct {
	name, title string
	pick        func(sz size, r *rand.Rand) draw
	set         func(sz size) string
	ask         func(d draw) request
}

// id returns the id of an object of the data, as long as real ids.
func id(prefix string, n int64) string { return dataset.ID(prefix, int(n)) }

// ofPartner returns a draw of a partner and its program; partners are dealt out in turn.
func ofPartner(partner int64) draw {
	return draw{Partner: partner, Program: programBase + (partner-partnerBase)%programs}
}

// setProgram is ofPartner for pgbench.
const setProgram = "\\set program 3100000 + (:partner - 3200000) % 20\n"

func pickCustomer(sz size, r *rand.Rand) draw {
	n := r.Int64N(int64(sz.Customers))
	d := ofPartner(partnerBase + n%partners)
	d.Customer = customerBase + n
	return d
}

func setCustomer(sz size) string {
	return fmt.Sprintf("\\set customer random(%d, %d)\n\\set partner %d + (:customer - %d) %% %d\n", customerBase,
		customerBase+sz.Customers-1,
		partnerBase, customerBase, partners) + setProgram
}

func pickHot(sz size, r *rand.Rand) draw {
	d := ofPartner(partnerBase)
	d.Customer = int64(customerBase+sz.Customers) + r.Int64N(hotCustomers)
	return d
}

func setHot(sz size) string {
	first := customerBase + sz.Customers
	return fmt.Sprintf("\\set customer random(%d, %d)\n\\set partner %d\n", first, first+hotCustomers-1, partnerBase) +
		setProgram
}

func pickPartner(_ size, r *rand.Rand) draw { return ofPartner(partnerBase + r.Int64N(partners)) }

func setPartner(size) string {
	return fmt.Sprintf("\\set partner random(%d, %d)\n", partnerBase, partnerBase+partners-1) + setProgram
}

func pickSale(sz size, r *rand.Rand) draw { return draw{Sale: saleBase + r.Int64N(int64(sz.Sales))} }

func setSale(sz size) string {
	return fmt.Sprintf("\\set sale random(%d, %d)\n", saleBase, saleBase+sz.Sales-1)
}
