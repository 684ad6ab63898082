package jobs

import (
	"time"

	"rail/server/inbound/inbox"
	"rail/server/postgres/pgtx/share"
	"rail/server/program/customer"
)

// inboxDays is the retention of a processor's event after it was processed last.
const inboxDays = 90

// sharedInbox is the number of shared transactions of events at once: the server works for one while the database works
// for the other.
const sharedInbox = 2

// inboxWorker returns a worker for events of payment processors.
func inboxWorker(m Deps) inbox.Worker {
	return inbox.Worker{
		Pool: m.Pool, Keeper: m.Keeper, Clock: m.Clock, Plan: m.Plan, Log: m.Log, API: inbox.NewAPI(m.StripeURL),
		Customers: customer.Service{Mail: m.Outbox, Keeper: m.Keeper},
		Commits:   share.NewGroupCommit(m.Pool, 0, sharedInbox),
	}
}

// workInbox processes events of payment processors, each within two seconds.
func workInbox(m Deps) Job {
	return Job{
		Name: "work-inbox", About: "process events of payment processors", Every: 500 * time.Millisecond,
		Run: inboxWorker(m).Run,
	}
}
