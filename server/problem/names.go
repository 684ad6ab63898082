package problem

import (
	"fmt"
	"strings"
)

// maxNamed bounds the known names in a message.
const maxNamed = 50

// UnknownName refuses an unknown name, and lists the known ones. what is the predicate of the
// message, such as "is not known here"; param is the name with its path.
func UnknownName(param, what, name string, candidates []string) *Error {
	message := param + " " + what + "."
	if nearest := Nearest(name, candidates); nearest != "" {
		message += " Did you mean " + nearest + "?"
	}
	if len(candidates) > 0 {
		message += " Known: " + listed(candidates) + "."
	}
	return On(param, ParameterUnknown, "%s", message)
}

// NotOneOf refuses a value of param that is not among the allowed ones.
func NotOneOf(param, value string, allowed []string) *Error {
	message := fmt.Sprintf("%s must be one of %s.", param, listed(allowed))
	if len(allowed) == 1 {
		message = fmt.Sprintf("%s must be %s.", param, allowed[0])
	}
	if nearest := Nearest(value, allowed); nearest != "" {
		message += " Did you mean " + nearest + "?"
	}
	return Invalid(param, "%s", message)
}

// listed joins the first maxNamed names with commas.
func listed(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// Nearest returns the known name that was probably meant, or "". The known name differs by one
// or two typing mistakes, ignoring case and punctuation, or it is the only known name that begins or
// ends with the name as whole words, as amount_minor begins with amount.
func Nearest(name string, candidates []string) string {
	// The bound limits the cost of long names: a request may have thousands of them.
	own := letters(name)
	if own == "" || len(name) > 128 {
		return ""
	}
	best, least := "", slips(len(own))+1
	for _, k := range candidates {
		other := letters(k)
		if max(len(own)-len(other), len(other)-len(own)) >= least {
			// The difference of the lengths is a lower bound of the mistakes.
			continue // too many mistakes
		}
		if d := distance(own, other); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return best
	}
	for _, k := range candidates {
		if !strings.HasPrefix(k, name+"_") && !strings.HasSuffix(k, "_"+name) {
			continue
		}
		// Two names match, so the meant one is unclear.
		if best != "" {
			return ""
		}
		best = k
	}
	return best
}

// slips returns the number of likely mistakes in a name of a length; 0 for a single letter.
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

// letters returns the letters and digits of a name.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// distance returns the optimal string alignment distance: the number of letters to add, drop,
// change or swap with their neighbour to make a of b.
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
