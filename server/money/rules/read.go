package rules

import "strings"

// The readers return nil for a missing value, else a bool, string, int64, clock.Time or idSet.

// deref returns the value at p, or nil. The readers do not return p itself, since a nil *T in an interface is
// not nil.
func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// inProgramCurrency makes a money value missing if the sale is in another currency, since the two cannot be
// compared (decisions, 3.4).
func inProgramCurrency(read func(*Facts) any) func(*Facts) any {
	return func(f *Facts) any {
		if f.Sale != nil && !strings.EqualFold(f.Sale.Currency, f.ProgramCurrency) {
			return nil
		}
		return read(f)
	}
}

// fromSale reads a fact of the sale; nil at a sign-up.
func fromSale(f *Facts, read func(*SaleFacts) any) any {
	if f.Sale == nil {
		return nil
	}
	return read(f.Sale)
}

func saleAmount(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return s.AmountMinor })
}

func saleNet(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return s.NetAmountMinor })
}

func saleCurrency(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return s.Currency })
}

func saleProductID(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return deref(s.ProductID) })
}

func saleProductName(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return deref(s.ProductName) })
}

func saleBillingType(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return s.BillingType })
}

func saleInterval(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return deref(s.Interval) })
}

func saleIsFirst(f *Facts) any {
	return fromSale(f, func(s *SaleFacts) any { return s.IsFirstSale })
}

// customerCount reads a counter. Counters are nil if no condition needs them.
func customerCount(f *Facts, read func(*CustomerCounters) int64) any {
	if f.Customer.Counters == nil {
		return nil
	}
	return read(f.Customer.Counters)
}

func customerSales(f *Facts) any {
	return customerCount(f, func(c *CustomerCounters) int64 { return c.SalesCount })
}

func customerPaid(f *Facts) any {
	return customerCount(f, func(c *CustomerCounters) int64 { return c.TotalPaidMinor })
}

func monthsSinceConversion(f *Facts) any { return sinceConversion(f, monthsBetween) }
func daysSinceConversion(f *Facts) any   { return sinceConversion(f, daysBetween) }

// partnerCount reads a counter of the partner, as customerCount does.
func partnerCount(f *Facts, read func(*PartnerCounters) int64) any {
	if f.Partner.Counters == nil {
		return nil
	}
	return read(f.Partner.Counters)
}

func partnerLeads(f *Facts) any {
	return partnerCount(f, func(c *PartnerCounters) int64 { return c.LeadsCount })
}

func partnerCustomers(f *Facts) any {
	return partnerCount(f, func(c *PartnerCounters) int64 { return c.CustomersCount })
}

func partnerSales(f *Facts) any {
	return partnerCount(f, func(c *PartnerCounters) int64 { return c.SalesCount })
}

func partnerRevenue(f *Facts) any {
	return partnerCount(f, func(c *PartnerCounters) int64 { return c.RevenueMinor })
}

func partnerCommissions(f *Facts) any {
	return partnerCount(f, func(c *PartnerCounters) int64 { return c.CommissionsMinor })
}

// partnerTags returns nil for a partner without tags, so that `exists` matches tagged partners only.
func partnerTags(f *Facts) any {
	if len(f.Partner.TagIDs) == 0 {
		return nil
	}
	set := idSet{}
	for _, id := range f.Partner.TagIDs {
		set[id] = true
	}
	return set
}
