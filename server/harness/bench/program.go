package bench

import (
	"fmt"
	"math/rand/v2"
)

// The data's ids end in numbers of fixed length that tell their kind, so that
// the load generator, pgbench and the rewriting of statements agree on them.
const (
	programBase  = 31_00000
	partnerBase  = 32_00000
	customerBase = 40_000000
	hotBase      = 46_000000
	saleBase     = 5_00000000

	programs           = 20
	partnersPerProgram = 500
	partners           = programs * partnersPerProgram
	hotCustomers       = 5000
)

// world is how much data there is.
type world struct{ Customers, Sales int }

func newWorld(rows int) world { return world{Customers: max(rows/5, partners), Sales: rows} }

// draw is what one request is about; the numbers are those at the ends of ids.
type draw struct{ Program, Partner, Customer, Sale, Fresh int64 }

// request is one HTTP request.
type request struct{ Method, Path, Body, Key string }

// load is one kind of request: how to draw it, for HTTP and as pgbench's \set
// commands, and how to ask.
type load struct {
	name, title, goal string
	pick              func(w world, r *rand.Rand) draw
	set               func(w world) string
	ask               func(d draw) request
}

func id(prefix string, n int64) string { return fmt.Sprintf("%s_%026d", prefix, n) }

func ofPartner(partner int64) draw {
	return draw{Partner: partner, Program: programBase + (partner-partnerBase)%programs}
}

const setProgram = "\\set program 3100000 + (:partner - 3200000) % 20\n"

func pickCustomer(w world, r *rand.Rand) draw {
	n := r.Int64N(int64(w.Customers))
	d := ofPartner(partnerBase + n%partners)
	d.Customer = customerBase + n
	return d
}

func setCustomer(w world) string {
	return fmt.Sprintf("\\set customer random(%d, %d)\n\\set partner %d + (:customer - %d) %% %d\n", customerBase,
		customerBase+w.Customers-1,
		partnerBase, customerBase, partners) + setProgram
}

func pickHot(_ world, r *rand.Rand) draw {
	d := ofPartner(partnerBase)
	d.Customer = hotBase + r.Int64N(hotCustomers)
	return d
}

func setHot(world) string {
	return fmt.Sprintf("\\set customer random(%d, %d)\n\\set partner %d\n", hotBase, hotBase+hotCustomers-1, partnerBase) +
		setProgram
}

func pickPartner(_ world, r *rand.Rand) draw { return ofPartner(partnerBase + r.Int64N(partners)) }

func setPartner(world) string {
	return fmt.Sprintf("\\set partner random(%d, %d)\n", partnerBase, partnerBase+partners-1) + setProgram
}

func pickSale(w world, r *rand.Rand) draw { return draw{Sale: saleBase + r.Int64N(int64(w.Sales))} }

func setSale(w world) string {
	return fmt.Sprintf("\\set sale random(%d, %d)\n", saleBase, saleBase+w.Sales-1)
}
