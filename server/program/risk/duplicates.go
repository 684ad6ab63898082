package risk

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// The signs that two partners are the same person; they are members of the evidence.
const (
	sameDetails = "same_payout_details_as"
	sameAddress = "same_address_as"
)

// maxOthers bounds the partners that a flag names for a sign.
const maxOthers = 50

// sharing is a partner with a hashed value that other partners share.
type sharing struct{ partner, value string }

// duplicatePartners finds partners of a program with the same payout details, or seen at the same address with
// the same browser within 90 days (duplicate_partner). Each gets a flag that names the others. A closed flag
// settles its sign between these partners: only another sign, another partner, or payout details entered later
// open a new one.
func duplicatePartners(ctx context.Context, tx pgtx.DBTX, p snapshot) ([]Finding, error) {
	details, err := queries.RiskSharedDetails(ctx, tx, db.RiskSharedDetailsParams{ProgramID: p.program, OrgID: p.org})
	if err != nil {
		return nil, err
	}
	addresses, err := queries.RiskSharedAddresses(ctx, tx, db.RiskSharedAddressesParams{
		ProgramID: p.program, OrgID: p.org, Since: p.now.Days(-AddressDays),
	})
	if err != nil || len(details)+len(addresses) == 0 {
		return nil, err
	}
	flags, err := queries.RiskFlagsOfKind(ctx, tx, db.RiskFlagsOfKindParams{
		ProgramID: p.program, OrgID: p.org, Kind: "duplicate_partner",
	})
	if err != nil {
		return nil, err
	}
	history, err := readHistory(flags)
	if err != nil {
		return nil, err
	}
	signs := map[string][]sharing{}
	for _, r := range details {
		signs[sameDetails] = append(signs[sameDetails], sharing{r.PartnerID, string(r.PayoutDetailsHash)})
		if r.PayoutDetailsChangedAt != nil {
			history.changed[r.PartnerID] = *r.PayoutDetailsChangedAt
		}
	}
	for _, r := range addresses {
		signs[sameAddress] = append(signs[sameAddress], sharing{r.PartnerID, string(r.IPHash) + string(r.Device)})
	}
	return history.duplicates(p.program, signs), nil
}

// history holds earlier flags: which partners have an open one, when closed ones settled which pairs, and when a
// partner's payout details last changed.
type history struct {
	open    map[string]bool
	settled map[pair]clock.Time
	changed map[string]clock.Time
}

// pair is a sign that a flag of partner has named for other.
type pair struct{ sign, partner, other string }

// readHistory reads the settled pairs from the evidence of closed flags; the last flag to be closed counts.
func readHistory(flags []db.RiskFlagsOfKindRow) (history, error) {
	out := history{map[string]bool{}, map[pair]clock.Time{}, map[string]clock.Time{}}
	for _, f := range flags {
		if f.ResolvedAt == nil {
			out.open[*f.PartnerID] = true
			continue
		}
		var evidence map[string]any
		if err := json.Unmarshal(f.Evidence, &evidence); err != nil {
			return out, err
		}
		for _, sign := range []string{sameDetails, sameAddress} {
			named, _ := evidence[sign].(string)
			for other := range strings.SplitSeq(named, ",") {
				if of := (pair{sign, *f.PartnerID, other}); f.ResolvedAt.After(out.settled[of].Time) {
					out.settled[of] = *f.ResolvedAt
				}
			}
		}
	}
	return out, nil
}

// duplicates returns one finding for each partner with something new. A partner with an open flag gets no second
// one.
func (h history) duplicates(program string, signs map[string][]sharing) []Finding {
	others := map[string]map[string][]string{} // by partner and sign
	for sign, all := range signs {
		for _, group := range groups(all) {
			for _, one := range group {
				if h.open[one] {
					continue
				}
				if others[one] == nil {
					others[one] = map[string][]string{}
				}
				others[one][sign] = h.addNew(others[one][sign], sign, one, group)
			}
		}
	}
	var out []Finding
	for _, one := range slices.Sorted(maps.Keys(others)) {
		if len(others[one][sameDetails])+len(others[one][sameAddress]) > 0 {
			out = append(out, duplicate(program, one, others[one]))
		}
	}
	return out
}

// groups gathers the partners that share a value, in the order of their ids.
func groups(all []sharing) [][]string {
	of := map[string][]string{}
	for _, s := range all {
		of[s.value] = append(of[s.value], s.partner)
	}
	out := slices.Collect(maps.Values(of))
	for _, group := range out {
		slices.Sort(group)
	}
	slices.SortFunc(out, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// addNew adds to named the members of a group that are not yet settled with partner one, up to maxOthers.
func (h history) addNew(named []string, sign, one string, group []string) []string {
	for _, other := range group {
		if len(named) >= maxOthers {
			break
		}
		if other != one && !slices.Contains(named, other) && !h.closed(sign, one, other) {
			named = append(named, other)
		}
	}
	return named
}

// closed reports whether a sign that two partners share is settled. Payout details that either changed
// afterwards are new.
func (h history) closed(sign, one, other string) bool {
	at, settled := h.settled[pair{sign, one, other}]
	if sign == sameDetails && settled {
		return !h.changed[one].After(at.Time) && !h.changed[other].After(at.Time)
	}
	return settled
}

// duplicate returns the finding for a partner; others are by sign.
func duplicate(program, one string, others map[string][]string) Finding {
	f := Finding{
		ProgramID: program, PartnerID: one, Kind: "duplicate_partner", Severity: "high", Signals: map[string]any{},
	}
	for _, sign := range []string{sameAddress, sameDetails} { // payout details win if both signs match
		if named := others[sign]; len(named) > 0 {
			slices.Sort(named)
			f.Signals["other_partner_id"], f.Signals[sign] = named[0], strings.Join(named, ",")
			f.Summary = map[string]string{
				sameDetails: "Another partner of the program has the same payout destination.",
				sameAddress: "Another partner of the program uses the same address and browser.",
			}[sign]
		}
	}
	return f
}
