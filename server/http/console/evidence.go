package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/locale"
	"rail/server/opt"
)

// evidence describes the finding of a check.
type evidence struct {
	Summary string
	Shared  []sharer
	More    int // further partners who share something
	Facts   []fact
}

// sharer is a partner or customer that shares a value with another.
type sharer struct {
	Path, Name, Role, Email, Status string
	Same                            []string // what is the same
}

// fact is a signal of a check.
type fact struct {
	Name, Text string
	At         *clock.Time // in place of a text
}

// maxSharers bounds the partners whose names a page looks up.
const maxSharers = 12

// signs are the members of an evidence that name partners, and what these share.
var signs = map[string]string{
	"same_payout_details_as": "Payout details", "same_address_as": "Network address and browser",
}

// sameOfCustomer names the value that a customer and the partner share, by check.
var sameOfCustomer = map[string]string{
	"self_referral": "Email address", "self_referral_domain": "Domain of the email address",
	"self_referral_ip": "Network address",
}

// evidence reads a flag's evidence, whose members differ by check.
func (v *visit) evidence(flag api.RiskFlag) (out evidence, err error) {
	signals := map[string]any{}
	if err := json.Unmarshal(flag.Evidence, &signals); err != nil {
		return out, err
	}
	out.Summary = fmt.Sprint(signals["summary"])
	for _, name := range slices.Sorted(maps.Keys(signals)) {
		if _, sign := signs[name]; !sign && !strings.HasSuffix(name, "_id") && name != "check" && name != "summary" {
			out.Facts = append(out.Facts, factOf(v.Locale, name, signals[name]))
		}
	}
	same := sharedBy(signals)
	others := slices.Sorted(maps.Keys(same))
	out.More = max(len(others)-maxSharers, 0)
	for _, id := range others[:len(others)-out.More] {
		one, err := v.sharer(id, same[id])
		if err != nil {
			return out, err
		}
		out.Shared = append(out.Shared, one)
	}
	if what := sameOfCustomer[flag.Kind]; what != "" {
		out.Shared = append(out.Shared, customerSharer(flag.Customer, what))
	}
	if flag.Partner != nil && len(out.Shared) > 0 {
		own, err := v.sharer(flag.Partner.ID, allOf(out.Shared))
		if err != nil {
			return out, err
		}
		own.Role = "This partner"
		out.Shared = slices.Insert(out.Shared, 0, own)
	}
	return out, nil
}

// sharedBy returns the shared values of each other partner, by the partner's id.
func sharedBy(signals map[string]any) map[string][]string {
	same := map[string][]string{}
	for _, sign := range slices.Sorted(maps.Keys(signs)) {
		named, _ := signals[sign].(string)
		for id := range strings.SplitSeq(named, ",") {
			if id != "" {
				same[id] = append(same[id], signs[sign])
			}
		}
	}
	return same
}

// sharer returns another partner; a deleted one has no name.
func (v *visit) sharer(id string, same []string) (sharer, error) {
	p, err := v.partnerOf(id)
	if why, gone := refused(err); gone && why.Status() == http.StatusNotFound {
		return sharer{Name: "A partner who is gone", Role: "Partner", Same: same}, nil
	}
	if err != nil {
		return sharer{}, err
	}
	return sharer{
		v.at("/partners/" + p.ID), nameOf(*p), "Partner", p.Email, string(p.Status), same,
	}, nil
}

// customerSharer is the customer of a flag; without one the customer was refused.
func customerSharer(c *api.RiskFlagCustomer, same string) sharer {
	if c == nil {
		return sharer{Name: "A customer who was refused", Role: "Customer", Same: []string{same}}
	}
	return sharer{
		"", nameOr(c.Name, opt.Value(c.Email)), "Customer", opt.Value(c.Email), string(c.Status), []string{same},
	}
}

// partnerOf is a partner of the visit's program.
func (v *visit) partnerOf(id string) (*api.Partner, error) {
	reply, err := v.console.api.RetrievePartnerWithResponse(v.Ctx(), id,
		&api.RetrievePartnerParams{ProgramID: &v.program.ID})
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// allOf returns the values that any of them shares with the flagged partner.
func allOf(others []sharer) (same []string) {
	for _, other := range others {
		for _, what := range other.Same {
			if !slices.Contains(same, what) {
				same = append(same, what)
			}
		}
	}
	return same
}

// nameOr returns a name, or the email if there is none.
func nameOr(name *string, email string) string {
	if opt.Value(name) != "" {
		return *name
	}
	return email
}

// factOf is a signal in words: shares as percent, times as such.
func factOf(l *locale.Locale, name string, value any) fact {
	if short, is := strings.CutSuffix(name, "_bps"); is {
		if bps, ok := value.(float64); ok {
			return fact{Name: site.Words(short, vocabulary), Text: share(int64(bps))}
		}
	}
	if text, is := value.(string); is && strings.HasSuffix(name, "_at") {
		if at, err := clock.Parse(text); err == nil {
			return fact{Name: site.Words(name[:len(name)-len("_at")], vocabulary), At: &at}
		}
	}
	if n, is := value.(float64); is {
		return fact{Name: site.Words(name, vocabulary), Text: l.Count(int64(n))}
	}
	return fact{Name: site.Words(name, vocabulary), Text: fmt.Sprint(value)}
}
