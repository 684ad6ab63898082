package handlers

import (
	"sync"

	"rail/gen/db"
)

// How many receivers are pinged at once: each may take ten seconds and, with an
// Idempotency-Key, a connection to the database. Those of one organization leave
// places to others, those to postbacks some to the organization's own endpoints.
const (
	maxPings         = 8
	maxPingsOfOrg    = 3
	maxPostbackPings = 2
)

// pings counts those at work, by whom they are bounded for.
type pings struct {
	mu     sync.Mutex
	atWork map[string]int
}

// begin takes a place for a ping of an endpoint; done gives it back.
func (p *pings) begin(e db.WebhookEndpoint) (done func(), ok bool) {
	bounds := map[string]int{"": maxPings, e.OrgID: maxPingsOfOrg}
	if e.PartnerID != nil {
		bounds[e.OrgID+"/postbacks"], bounds[*e.PartnerID] = maxPostbackPings, 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, most := range bounds {
		if p.atWork[of] >= most {
			return nil, false
		}
	}
	for of := range bounds {
		p.atWork[of]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for of := range bounds {
			if p.atWork[of]--; p.atWork[of] == 0 {
				delete(p.atWork, of)
			}
		}
	}, true
}
