package handlers

import (
	"cmp"
	"strings"

	"rail/gen/api"
	"rail/server/locale"
	"rail/server/money/report"
	"rail/server/problem"
)

// reportOrigin returns the values of a report's filters by origin, normalized as those of clicks are.
func reportOrigin(p api.RetrieveReportParams) (map[report.By]string, error) {
	same := func(text string) string { return text }
	only := map[report.By]string{}
	for _, f := range []struct {
		by    report.By
		value *string
		clean func(string) string
	}{
		{report.Source, p.Source, report.Value},
		{report.Medium, p.Medium, report.Value},
		{report.Campaign, p.Campaign, report.Value},
		{report.Referrer, p.Referrer, report.Host},
		{report.Country, p.Country, strings.ToUpper},
		{report.Device, p.Device, same},
		{report.TrackedBy, (*string)(p.TrackedBy), same},
	} {
		switch {
		case f.value == nil:
		case *f.value == report.None:
			only[f.by] = ""
		case cmp.Or(f.clean(*f.value), report.None) == report.None:
			return nil, problem.Invalid(string(f.by), "%s has no value to compare with; none selects figures without one.", f.by)
		default:
			only[f.by] = f.clean(*f.value)
		}
	}
	return only, nil
}

// words holds the labels of ways of attribution and usual devices.
var words = map[string]string{
	"link": "Link", "coupon": "Coupon", "manual": "Manual", "api": "API", "agent": "AI assistant",
	"desktop": "Desktop", "mobile": "Mobile", "tablet": "Tablet",
}

// originLabel returns the label of a value of an origin.
func originLabel(by report.By, key string) string {
	switch {
	case key == report.None:
		return "None"
	case by == report.Country:
		return locale.English.Country(key)
	case by == report.TrackedBy || by == report.Device:
		return cmp.Or(words[key], key)
	case key == report.Other:
		return "Other"
	}
	return key
}
