package console

import (
	"net/http"
	"net/url"
	"slices"

	"rail/gen/api"
	"rail/server/problem"
)

// changePartners applies a bulk action to several partners, with one request each.
func changePartners(v *visit) error {
	if v.value("do") == "mail" {
		return mailPartners(v)
	}
	how, err := v.partnerChange()
	if err != nil {
		return v.again(err, partners)
	}
	notice, err := v.each("partner is "+how.says, "partners are "+how.says, how.do)
	if err != nil {
		return v.again(err, partners)
	}
	return v.done(v.at("/partners"), notice)
}

// mailPartners leads to a mail to the ticked partners alone.
func mailPartners(v *visit) error {
	ids, err := v.ticked()
	if err != nil {
		return v.again(err, partners)
	}
	return v.Redirect(http.StatusSeeOther, v.at("/mails/new?")+url.Values{"partner_id": ids}.Encode())
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
	case "suspend":
		return change{set("status", string(api.PartnerStatusSuspended)), "suspended"}, nil
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
