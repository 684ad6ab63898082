package portal

import (
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/problem"
)

// calendarEntry answers with a scheduled payout as a calendar's entry of a day (RFC 5545).
func calendarEntry(v *visit) error {
	data, err := v.payoutPage(site.Turn{}, 1)
	if err != nil {
		return err
	}
	if data.Status != db.PayoutStatusPending {
		return problem.NotFound("")
	}
	const day = "20060102"
	due := data.DueAt.DayIn(v.Locale.Zone())
	summary := v.Locale.T("Payout from %s: %s", v.program.Name, v.Locale.Money(data.AmountMinor, data.Currency))
	lines := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Rail//Portal//EN",
		"BEGIN:VEVENT", "UID:" + data.ID, "DTSTAMP:" + v.Now.UTC().Format(day+"T150405Z"),
		"DTSTART;VALUE=DATE:" + due.Format(day), "DTEND;VALUE=DATE:" + due.Add(24*time.Hour).Format(day),
		"SUMMARY:" + escaped(summary), "END:VEVENT", "END:VCALENDAR", "",
	}
	for i, line := range lines {
		lines[i] = folded(line)
	}
	return site.SendFile(v, "payout-"+due.Format(time.DateOnly)+".ics", "text/calendar; charset=utf-8",
		[]byte(strings.Join(lines, "\r\n")))
}

// escaped escapes the characters that separate values of a calendar.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r", "", "\n", `\n`).Replace(text)
}

// maxOctets is the longest line of a calendar, in bytes.
const maxOctets = 75

// folded breaks a long line between characters; the rest begins with a space.
func folded(line string) string {
	var b strings.Builder
	room := maxOctets
	for _, r := range line {
		if n := len(string(r)); n > room {
			b.WriteString("\r\n ")
			room = maxOctets - 1
		}
		room -= len(string(r))
		b.WriteRune(r)
	}
	return b.String()
}
