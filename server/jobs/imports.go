package jobs

import (
	"time"

	"rail/server/inbound/importer"
)

// runImports advances imports from other products.
func runImports(m Deps) Job {
	service := &importer.Service{
		Pool: m.Pool, Keeper: m.Keeper, Clock: m.Clock, Addresses: m.ImportURLs, Mail: m.Outbox,
	}
	return Job{
		Name: "run-imports", About: "read, compare, write and undo imports from other products", Every: 2 * time.Second, Sweeps: true,
		Run: service.Work,
	}
}
