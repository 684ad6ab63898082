package jobs

import (
	"time"

	"rail/server/inbound/inbox"
	"rail/server/money/sale"
	"rail/server/program/customer"
)

// inboxDays is how long an event of a payment processor is kept after its last work.
const inboxDays = 90

// inboxWorker returns what works events of payment processors.
func inboxWorker(m Means) inbox.Worker {
	customers := customer.Service{Mail: m.Outbox, Keeper: m.Keeper}
	return inbox.Worker{
		Pool: m.Pool, Keeper: m.Keeper, Clock: m.Clock, Sales: sale.Service{Customers: customers}, Customers: customers,
		Plan: m.Plan, Log: m.Log, API: inbox.NewAPI(m.StripeURL),
	}
}

// workInbox works the events of payment processors, often enough that each is worked within two seconds.
func workInbox(m Means) Job {
	return Job{
		Name: "work-inbox", About: "record what payment processors sent", Every: 500 * time.Millisecond,
		Run: inboxWorker(m).Run,
	}
}
