package problem

import (
	"fmt"
	"strings"
)

// maxNamed bounds the known names in a message.
const maxNamed = 50

// UnknownName refuses an unknown name and lists the known ones. what is the predicate of the message,
// as in "is not known here"; param is the name with the path to it.
func UnknownName(param, what, name string, known []string) *Error {
	message := param + " " + what + "."
	if meant := Nearest(name, known); meant != "" {
		message += " Did you mean " + meant + "?"
	}
	if len(known) > 0 {
		message += " Known: " + listed(known) + "."
	}
	return On(param, ParameterUnknown, "%s", message)
}

// NotOneOf refuses a value of param that is not among the allowed ones.
func NotOneOf(param, given string, allowed []string) *Error {
	message := fmt.Sprintf("%s must be one of %s.", param, listed(allowed))
	if len(allowed) == 1 {
		message = fmt.Sprintf("%s must be %s.", param, allowed[0])
	}
	if meant := Nearest(given, allowed); meant != "" {
		message += " Did you mean " + meant + "?"
	}
	return Invalid(param, "%s", message)
}

// listed returns the names with commas between, the first of them where there are many.
func listed(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// Nearest returns the known name that was probably meant, or "". It is at most
// two typing errors away, ignoring case and punctuation, or is the only known
// name with name as whole words at an end, as amount_minor with amount.
func Nearest(name string, known []string) string {
	// The bound keeps a long name from costing time: a request may have thousands of them.
	given := letters(name)
	if given == "" || len(name) > 128 {
		return ""
	}
	best, least := "", slips(len(given))+1
	for _, k := range known {
		other := letters(k)
		if max(len(given)-len(other), len(other)-len(given)) >= least {
			// The lengths alone differ by as many mistakes.
			continue // so many mistakes at least
		}
		if d := distance(given, other); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return best
	}
	for _, k := range known {
		if !strings.HasPrefix(k, name+"_") && !strings.HasSuffix(k, "_"+name) {
			continue
		}
		// Two names with the same end: which was meant is unclear.
		if best != "" {
			return ""
		}
		best = k
	}
	return best
}

// slips is how many mistakes are likely in a name of a length; none in a single letter.
func slips(length int) int {
	switch {
	case length < 2:
		return 0
	case length < 5:
		return 1
	case length < 9:
		return 2
	}
	return 3
}

// letters is a name by its letters and digits alone.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// distance counts the letters to add, drop, change or swap with their neighbour that make a of b. It is the distance of
// optimal string alignment, in which a swapped pair stays as it is.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
