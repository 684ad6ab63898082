package share

const (
	// maxFailures is the number of failures in a row after which a tenant is isolated.
	maxFailures = 2
	// penalty is the number of times an isolated tenant works alone.
	penalty = 100
	// maxTenants bounds the tenants with failures or a penalty.
	maxTenants = 1000
)

// penalties isolates tenants whose errors undo the work of others. The owner guards it
// with a lock.
type penalties struct {
	failures map[string]int // by tenant, in a row
	left     map[string]int // by tenant, the times it still works alone
}

func newPenalties() penalties {
	return penalties{failures: map[string]int{}, left: map[string]int{}}
}

// isolated reports whether a tenant must work alone this time, and counts it.
func (p penalties) isolated(tenant string) bool {
	if p.left[tenant] == 0 {
		return false
	}
	if p.left[tenant]--; p.left[tenant] == 0 {
		delete(p.left, tenant)
	}
	return true
}

// penalize counts a failure of a tenant, and isolates it after maxFailures in a row.
func (p penalties) penalize(tenant string) {
	if len(p.failures)+len(p.left) > maxTenants { // start over instead of growing
		clear(p.failures)
		clear(p.left)
	}
	if p.failures[tenant]++; p.failures[tenant] >= maxFailures {
		delete(p.failures, tenant)
		p.left[tenant] = penalty
	}
}

// reset forgets the failures of a tenant whose work succeeded.
func (p penalties) reset(tenant string) { delete(p.failures, tenant) }
