package console

import (
	"net/http"
	"net/url"
	"slices"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/problem"
)

// changePartners applies a bulk action to several partners, with one request each.
func changePartners(v *visit) error {
	switch v.value("do") {
	case "mail":
		return v.leadTicked("/mails/new", "partner_id")
	case "ban":
		return v.leadTicked("/partners/ban", "id")
	case "suspend":
		return suspendPartners(v)
	}
	how, err := v.partnerChange()
	if err != nil {
		return v.againAt(v.at("/partners"), err, partners)
	}
	notice, err := v.each("partner is "+how.says, "partners are "+how.says, how.do)
	if err != nil {
		return v.againAt(v.at("/partners"), err, partners)
	}
	return v.done(v.at("/partners"), notice)
}

// leadTicked leads to the form of a change of the ticked partners, such as a mail to them alone.
func (v *visit) leadTicked(form, name string) error {
	ids, err := v.ticked()
	if err != nil {
		return v.againAt(v.at("/partners"), err, partners)
	}
	return v.Redirect(http.StatusSeeOther, v.at(form+"?")+url.Values{name: ids}.Encode())
}

// suspendPartners suspends partners. The notice reinstates the partners that were active.
func suspendPartners(v *visit) error {
	var suspended []string
	notice, err := v.each("partner is suspended", "partners are suspended", func(id string) error {
		before, err := v.partner(id)
		if err == nil {
			err = v.updatePartner(id, map[string]any{"status": string(api.PartnerStatusSuspended)})
		}
		if err == nil && before.Status == api.PartnerStatusActive {
			suspended = append(suspended, id)
		}
		return err
	})
	if err != nil {
		return v.againAt(v.at("/partners"), err, partners)
	}
	if len(suspended) == 0 {
		return v.done(v.at("/partners"), notice)
	}
	return v.undoable(v.at("/partners"), notice, site.Undo{
		Path: v.at("/partners/bulk"), Fields: url.Values{"do": {"reinstate"}, "id": suspended},
	})
}

// change is a bulk action on a row, with the words for its success.
type change struct {
	do   func(id string) error
	says string
}

// partnerChange is the change that the form asks for.
func (v *visit) partnerChange() (change, error) {
	set := func(member, value string) func(string) error {
		return func(id string) error { return v.updatePartner(id, map[string]any{member: value}) }
	}
	what := v.value("do")
	switch what {
	case "group":
		group := v.value("group_id")
		if group == "" {
			return change{}, problem.New(problem.ParameterMissing, "Choose a group first.")
		}
		return change{set("group_id", group), "put into the group"}, nil
	case "tag", "untag":
		tag := v.value("tag_id")
		if tag == "" {
			return change{}, problem.New(problem.ParameterMissing, "Choose a tag first.")
		}
		says := map[string]string{"tag": "tagged", "untag": "without the tag"}[what]
		return change{func(id string) error { return v.retag(id, tag, what == "tag") }, says}, nil
	case "reinstate":
		return change{set("status", string(api.PartnerStatusActive)), "active"}, nil
	}
	return change{}, problem.New(problem.ParameterMissing, "Choose an action for the selected rows.")
}

// updatePartner changes members of a partner of this program.
func (v *visit) updatePartner(id string, body map[string]any) error {
	body["program_id"] = v.program.ID
	return v.send("updatePartner", body, nil, id)
}

// retag adds a tag to a partner's own, or takes it away.
func (v *visit) retag(id, tag string, add bool) error {
	p, err := v.partner(id)
	if err != nil {
		return err
	}
	tags := []string{}
	for _, t := range *p.Tags {
		tags = append(tags, t.ID)
	}
	tags = slices.DeleteFunc(tags, func(t string) bool { return t == tag })
	if add {
		tags = append(tags, tag)
	}
	return v.updatePartner(id, map[string]any{"tag_ids": tags})
}
