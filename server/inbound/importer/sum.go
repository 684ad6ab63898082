package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/inbound/importer/source"
	"rail/server/locale/currency"
	"rail/server/money/commission"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// sum ends the comparison: it compares balances and groups. A dry run is then ready; else the import is written.
func (s *Service) sum(ctx context.Context, u *work.Unit, m db.Import) error {
	if _, err := u.Tx.Exec(ctx, pgtx.Unhurried); err != nil {
		return err
	}
	b := &batch{u: u, m: &m, counts: CountsOf(m), kind: commissions}
	for _, step := range []func(context.Context) error{
		b.settleDebts, b.compareBalances, b.noteUnlisted, b.comparePayments, b.compareGroups, b.record,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	m.Counts = encode(b.counts)
	if m.DryRun {
		n, err := queries.ImportsVersion(ctx, u.Tx, db.ImportsVersionParams{ProgramID: m.ProgramID, OrgID: m.OrgID})
		if err != nil {
			return err
		}
		m.Status = db.ImportStatusReady
		return save(ctx, u, m, place{Phase: summing, Version: n})
	}
	m.Status = db.ImportStatusWriting
	return save(ctx, u, m, place{Phase: writing, Began: u.Now})
}

// settleDebts settles the commissions that were paid together with deductions of at least their sum: Rail has only
// positive payouts.
func (b *batch) settleDebts(ctx context.Context) error {
	rows, err := queries.ImportPayoutsSettled(ctx, b.u.Tx, db.ImportPayoutsSettledParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID,
	})
	if err != nil {
		return err
	}
	for _, id := range rows {
		b.found = append(b.found, finding{source.KindCommission, id, "out_of_bounds",
			"The source paid it together with deductions that used up the payout. Rail marks it as void."})
	}
	empty, err := queries.ImportPaymentsEmpty(ctx, b.u.Tx, db.ImportPaymentsEmptyParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Kind: payments,
	})
	b.counts.of(source.KindPayout).New -= int64(len(empty))
	return err
}

// compareBalances compares unpaid money by partner and currency.
func (b *batch) compareBalances(ctx context.Context) error {
	rows, err := queries.ImportOpen(ctx, b.u.Tx, db.ImportOpenParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID, Source: family(*b.m), Whole: b.m.Source != CSV,
	})
	if err != nil {
		return err
	}
	sums, of := balances{}, partnerBalances{}
	for _, r := range rows {
		if !currency.Valid(r.Currency) {
			continue // its commissions are refused
		}
		sum := sums.of(r.Currency)
		sum.SourceMinor += r.SourceMinor
		sum.RailMinor += r.RailMinor
		of.add(r.PartnerID, r.Currency, r.SourceMinor, r.RailMinor)
		b.noteDifference("balance_differs", r.PartnerID, r.Currency, r.SourceMinor, r.RailMinor,
			"The source owes %s. Rail imports %s of it.")
	}
	b.m.Balances = encode(sums.sorted())
	if err := of.put(ctx, b.u, *b.m); err != nil {
		return err
	}
	stated, err := queries.ImportBalanceDifferences(ctx, b.u.Tx, db.ImportBalanceDifferencesParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID,
	})
	if err != nil {
		return err
	}
	for _, r := range stated {
		b.noteDifference("stated_balance_differs", r.PartnerID, r.Currency, r.StatedMinor, r.CommissionsMinor,
			"The source states %s as unpaid, but its commissions sum to %s.")
	}
	return nil
}

// maxUnlisted bounds the problems about commissions that the source no longer lists.
const maxUnlisted = 10_000

// noteUnlisted notes unpaid commissions that the source listed before. Files may have new rows only, so they are not
// compared.
func (b *batch) noteUnlisted(ctx context.Context) error {
	if b.m.Source == CSV {
		return nil
	}
	rows, err := queries.ImportMissingCommissions(ctx, b.u.Tx, db.ImportMissingCommissionsParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID, Source: family(*b.m), Lim: maxUnlisted,
	})
	for _, k := range rows {
		b.found = append(b.found, finding{source.KindCommission, k.SourceID, "gone_at_source",
			fmt.Sprintf("The source no longer lists it. The commission %s is %s in Rail, and stays so.", k.ID, k.Status)})
	}
	return err
}

// noteDifference adds a problem of two sums of a partner that are not equal.
func (b *batch) noteDifference(code, partner, code3 string, one, other int64, format string) {
	if one == other {
		return
	}
	b.found = append(b.found, finding{source.KindPartner, partner, code,
		fmt.Sprintf(format, commission.Money(one, code3), commission.Money(other, code3))})
}

// balances are sums of money by currency.
type balances map[string]*Balance

// of returns the balance of a currency.
func (s balances) of(code string) *Balance {
	if s[code] == nil {
		s[code] = &Balance{Currency: code}
	}
	return s[code]
}

// sorted returns the balances in the order of their currencies.
func (s balances) sorted() []Balance {
	all := []Balance{}
	for _, code := range slices.Sorted(maps.Keys(s)) {
		all = append(all, *s[code])
	}
	return all
}

// partnerBalances are the sums of one partner and currency each.
type partnerBalances db.ImportBalancesPutParams

// add adds the sums of a partner of the source, in minor units. No partner has an id that is longer than maxID.
func (p *partnerBalances) add(sourceID, code string, source, rail int64) {
	if len(sourceID) > maxID {
		return
	}
	p.Ids = append(p.Ids, ident.New(ident.OpenBalance))
	p.SourceIds, p.Currencies = append(p.SourceIds, sourceID), append(p.Currencies, code)
	p.SourceMinors, p.RailMinors = append(p.SourceMinors, source), append(p.RailMinors, rail)
}

// put stores the sums for an import.
func (p *partnerBalances) put(ctx context.Context, u *work.Unit, m db.Import) error {
	p.OrgID, p.ProgramID, p.ImportID, p.CreatedAt = m.OrgID, m.ProgramID, m.ID, u.Now
	return queries.ImportBalancesPut(ctx, u.Tx, db.ImportBalancesPutParams(*p))
}

// comparePayments compares the payouts that the source lists with its paid commissions.
func (b *batch) comparePayments(ctx context.Context) error {
	rows, err := queries.ImportPaidSums(ctx, b.u.Tx, db.ImportPaidSumsParams{ImportID: b.m.ID, OrgID: b.m.OrgID})
	for _, r := range rows {
		b.noteDifference("paid_differs", r.PartnerID, r.Currency, r.ListedMinor, r.PaidMinor,
			"The source lists payouts of %s, but its paid commissions add up to %s. Rail records the second sum as paid. "+
				"No money is sent.")
	}
	return err
}

// compareGroups notes groups without a counterpart in Rail.
func (b *batch) compareGroups(ctx context.Context) error {
	rows, err := queries.ImportGroups(ctx, b.u.Tx, db.ImportGroupsParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID,
	})
	groups := []Group{}
	for _, r := range rows {
		groups = append(groups, Group{Name: r.Name, Partners: r.Partners, GroupID: r.GroupID, Rate: r.Rate})
		if r.GroupID == "" {
			b.found = append(b.found, finding{source.KindPartner, r.Name, "group_missing", fmt.Sprintf(
				"The program has no group %q; its %d partners join the default group.", r.Name, r.Partners)})
		}
	}
	b.m.Groups = encode(groups)
	return err
}

// finish compares the balances again after writing, with the commissions that Rail has.
func (s *Service) finish(ctx context.Context, u *work.Unit, m *db.Import) error {
	if _, err := u.Tx.Exec(ctx, pgtx.Unhurried); err != nil {
		return err
	}
	rows, err := queries.ImportUnpaidSums(ctx, u.Tx, db.ImportUnpaidSumsParams{
		OrgID: m.OrgID, ProgramID: m.ProgramID, Source: family(*m),
	})
	if err != nil {
		return err
	}
	var before []Balance
	if err := json.Unmarshal(m.Balances, &before); err != nil {
		return err
	}
	sums, of := balances{}, partnerBalances{}
	for _, s := range before {
		sums.of(s.Currency).SourceMinor = s.SourceMinor
	}
	for _, r := range rows {
		sums.of(r.Currency).RailMinor += r.RailMinor
		of.add(r.PartnerID, r.Currency, 0, r.RailMinor)
	}
	m.Balances = encode(sums.sorted())
	if err := queries.ImportBalancesEmpty(ctx, u.Tx, db.ImportBalancesEmptyParams{
		ImportID: m.ID, OrgID: m.OrgID,
	}); err != nil {
		return err
	}
	return of.put(ctx, u, *m)
}
