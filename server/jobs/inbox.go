package jobs

import (
	"time"

	"rail/server/inbound/inbox"
	"rail/server/money/sale"
	"rail/server/program/customer"
)

// inboxDays is how long an event of a payment processor is kept after its last work.
const inboxDays = 90

// workInbox works the events of payment processors, often enough that each is worked within two seconds.
func workInbox(m Means) Job {
	customers := customer.Service{Mail: m.Outbox}
	w := inbox.Worker{
		Pool: m.Pool, Keeper: m.Keeper, Clock: m.Clock, Sales: sale.Service{Customers: customers}, Customers: customers,
		Plan: m.Plan, Log: m.Log,
	}
	return Job{
		Name: "work-inbox", About: "record what payment processors sent", Every: 500 * time.Millisecond,
		Run: w.Run,
	}
}
