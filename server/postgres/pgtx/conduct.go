package pgtx

const (
	// strikes is how often in a row a tenant may undo what it shares with others.
	strikes = 2
	// penalty is how often such a tenant goes alone then.
	penalty = 100
	// mostTenants bounds the tenants that are kept in mind for that.
	mostTenants = 1000
)

// conduct keeps in mind whose work was undone together with that of others: the
// errors of a tenant must not cost its neighbours their time. Whoever has it has a
// lock for it.
type conduct struct {
	failed map[string]int // by tenant, how often in a row
	apart  map[string]int // by tenant, how often it still goes alone
}

func newConduct() conduct {
	return conduct{failed: map[string]int{}, apart: map[string]int{}}
}

// alone reports whether a tenant goes alone this time.
func (c conduct) alone(tenant string) bool {
	if c.apart[tenant] == 0 {
		return false
	}
	if c.apart[tenant]--; c.apart[tenant] == 0 {
		delete(c.apart, tenant)
	}
	return true
}

// blame notes a failure. If that happens twice in a row, the tenant goes alone for
// a while.
func (c conduct) blame(tenant string) {
	if len(c.failed)+len(c.apart) > mostTenants { // all begin anew
		clear(c.failed)
		clear(c.apart)
	}
	if c.failed[tenant]++; c.failed[tenant] >= strikes {
		delete(c.failed, tenant)
		c.apart[tenant] = penalty
	}
}

// forgive forgets the failures of a tenant whose work went well.
func (c conduct) forgive(tenant string) { delete(c.failed, tenant) }
