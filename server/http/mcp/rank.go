package mcp

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"rail/server/http/agent"
)

// index ranks operations for a task in words. A word of an operation's name counts most; the words of its summary,
// arguments and description count less, and each word of the name that the task does not have costs a little, so that
// createSale comes before createSaleBatch.
type index struct{ entries []indexed }

// indexed is an operation with its words.
type indexed struct {
	agent.Operation

	verb                           string
	nouns, summary, further, names []string
}

// Weights of a word, by the place where it stands.
const (
	inName    = 8
	inSummary = 4
	inNames   = 2
	inFurther = 1
	unasked   = 3 // the cost of a word of the name that is not asked
)

// usual is the verb of a task that names none, so it costs nothing.
const usual = "list"

// newIndex returns the index of the operations that a client may call.
func newIndex(all agent.Catalogue, write bool) *index {
	out := &index{}
	for _, o := range all {
		if !write && !o.Reads() {
			continue
		}
		parts := wordsOf(spaced(o.ID))
		out.entries = append(out.entries, indexed{
			Operation: o, verb: parts[0], nouns: parts[1:], summary: wordsOf(o.Summary() + " " + o.Tag()),
			further: wordsOf(o.Description()), names: wordsOf(strings.Join(slices.Concat(o.Required, o.Optional), " ")),
		})
	}
	slices.SortFunc(out.entries, func(a, b indexed) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// spaced puts spaces between the words of a name: createSale is create Sale.
func spaced(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		ends := i > 0 && unicode.IsLower(letters[i-1])
		begins := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if unicode.IsUpper(r) && (ends || begins) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fillers are words of a task that say nothing about it.
var fillers = map[string]bool{
	"a": true, "an": true, "the": true, "of": true, "for": true, "to": true, "from": true, "in": true, "on": true,
	"by": true, "my": true, "our": true, "me": true, "i": true, "we": true, "is": true, "are": true, "was": true,
	"were": true, "do": true, "does": true, "did": true, "how": true, "what": true, "which": true, "who": true,
	"with": true, "and": true, "all": true, "this": true, "that": true, "it": true, "its": true, "their": true,
	"his": true, "her": true, "can": true, "please": true, "want": true, "has": true, "have": true, "be": true,
	"as": true, "at": true, "much": true, "many": true, "so": true, "some": true, "one": true, "last": true,
	"someone": true, "out": true, "up": true, "new": true, "not": true, "exist": true, "there": true, "any": true,
	"every": true, "each": true, "two": true, "us": true, "you": true,
}

// meaningful returns the words of a task that say something about it.
func meaningful(task string) []string {
	var out []string
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, w := range strings.FieldsFunc(strings.ToLower(task), between) {
		if !fillers[w] {
			out = append(out, w)
		}
	}
	return out
}

// wordsOf returns the stems of the words of a text.
func wordsOf(text string) []string {
	var out []string
	for _, w := range meaningful(text) {
		out = append(out, stem(w))
	}
	return out
}

// stem removes the usual endings of a word.
func stem(w string) string {
	for _, end := range []string{"ies", "ing", "es", "ed", "s", "e"} {
		if rest, ok := strings.CutSuffix(w, end); ok && len(rest) > 2 {
			if end == "ies" {
				return rest + "y"
			}
			return rest
		}
	}
	return w
}

// similar are the words of the API for words that people use. The first fits best.
var similar = map[string][]string{
	"record": {"create"}, "add": {"create", "attach"}, "make": {"create"}, "register": {"create"},
	"invite": {"create"}, "give": {"create"}, "grant": {"create"}, "log": {"create", "audit"},
	"track": {"create"}, "show": {"list", "retrieve"}, "get": {"retrieve", "list"}, "see": {"list", "retrieve"},
	"look": {"list", "retrieve"}, "read": {"retrieve", "list"}, "search": {"list"}, "find": {"list"},
	"fetch": {"retrieve"}, "display": {"list"}, "recent": {"list"}, "latest": {"list"}, "count": {"list"},
	"change": {"update"}, "edit": {"update"}, "modify": {"update"}, "set": {"update"}, "rename": {"update"},
	"move": {"update"}, "fix": {"correct"}, "adjust": {"correct"}, "remove": {"delete"}, "erase": {"delete"},
	"drop": {"delete"}, "suspend": {"ban", "update"}, "block": {"ban"}, "deny": {"reject"}, "decline": {"reject"},
	"accept": {"approve"}, "affiliate": {"partner"}, "influencer": {"partner"}, "creator": {"partner"},
	"order": {"sale"}, "purchase": {"sale"}, "payment": {"sale", "payout"}, "charge": {"sale"},
	"revenue": {"report", "sale"}, "buyer": {"customer"}, "client": {"customer"}, "user": {"customer"},
	"lead": {"customer"}, "signup": {"customer"}, "money": {"payout", "balance"},
	"earn": {"commission", "balance"}, "owe": {"balance"}, "bonus": {"commission"}, "reward": {"commission"},
	"rule": {"flow"}, "rate": {"flow"}, "percentage": {"flow"}, "pay": {"payout"}, "paid": {"paid", "payout"},
	"code": {"coupon"}, "discount": {"coupon"}, "voucher": {"coupon"}, "promo": {"coupon"}, "url": {"link"},
	"email": {"campaign", "mail"}, "newsletter": {"campaign"}, "write": {"campaign", "create"}, "fraud": {"risk"},
	"suspicious": {"risk"}, "applicant": {"application"}, "apply": {"application"}, "applied": {"application"},
	"visit": {"click"}, "traffic": {"click", "report"}, "stripe": {"processor"}, "invoice": {"statement"},
	"statistic": {"report"}, "performance": {"report"}, "hook": {"webhook"}, "retry": {"replay"},
	"resend": {"replay"}, "test": {"ping", "test"}, "duplicate": {"merge"}, "combine": {"merge"},
	"history": {"audit"}, "change_log": {"audit"}, "run": {"create", "run"}, "settings": {"program"},
	"chargeback": {"refund"}, "back": {"refund"},
}

// stems are the similar words by stem, with the stems of the API's words.
var stems = func() map[string][]string {
	out := map[string][]string{}
	for word, of := range similar {
		for _, w := range of {
			out[stem(word)] = append(out[stem(word)], stem(w))
		}
	}
	return out
}()

// search returns the best operations for a task.
func (x *index) search(task string, most int) []agent.Operation {
	words := wordsOf(task)
	type hit struct {
		agent.Operation
		score int
	}
	var hits []hit
	for _, e := range x.entries {
		if score := e.score(words); score > 0 {
			hits = append(hits, hit{e.Operation, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	out := []agent.Operation{}
	for _, h := range hits[:min(len(hits), most)] {
		out = append(out, h.Operation)
	}
	return out
}

// score is how well an operation fits a task.
func (e indexed) score(words []string) (total int) {
	met := map[string]bool{}
	for _, word := range words {
		best := e.weight(word, met) * 2 // a word of the API itself
		for i, other := range stems[word] {
			best = max(best, e.weight(other, met)*2-1-i)
		}
		total += best
	}
	if total == 0 {
		return 0
	}
	for _, word := range append([]string{e.verb}, e.nouns...) {
		if !met[word] && word != usual {
			total -= unasked
		}
	}
	return max(total, 1)
}

// weight returns the weight of a word, and notes the words of the name that it meets.
func (e indexed) weight(word string, met map[string]bool) int {
	switch {
	case slices.Contains(e.nouns, word):
		met[word] = true
		return inName
	case e.verb == word:
		met[word] = true
		return inName
	case slices.Contains(e.summary, word):
		return inSummary
	case slices.Contains(e.names, word):
		return inNames
	case slices.Contains(e.further, word):
		return inFurther
	}
	return 0
}
