package model

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// initialisms are words that Pascal writes in capitals, by their lower case.
var initialisms = map[string]string{
	"api": "API", "csv": "CSV", "faq": "FAQ", "id": "ID", "ids": "IDs", "ip": "IP", "json": "JSON", "llms": "LLMs",
	"openapi": "OpenAPI", "pdf": "PDF", "sso": "SSO", "tls": "TLS", "ui": "UI", "url": "URL", "urls": "URLs", "utm": "UTM",
	"vat": "VAT",
}

// Words splits a name of any style into its words in lower case: createPartnerSSO is three words, and
// expand[] is expand.
func Words(name string) []string {
	// One word with a capital inside, which the rule below would split.
	name = strings.NewReplacer("OpenAPI", "Openapi", "LLMs", "Llms", "IDs", "Ids", "URLs", "Urls").Replace(name)
	var words []string
	runes := []rune(name)
	begin := 0
	end := func(i int) {
		if word := strings.ToLower(string(runes[begin:i])); word != "" {
			words = append(words, word)
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
			begin = i + 1
		case i > begin && unicode.IsUpper(r) && startsWord(runes, i):
			end(i)
			begin = i
		}
	}
	end(len(runes))
	return words
}

// startsWord reports whether the capital at i begins a word: after a small letter, or before one.
func startsWord(runes []rune, i int) bool {
	return !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// Snake writes a name in snake case: payout_batches.
func Snake(name string) string { return strings.Join(Words(name), "_") }

// Pascal writes a name as Go exports it: PayoutBatches, and CreateSSO, ExternalIDs with their capitals.
func Pascal(name string) string {
	var b strings.Builder
	for _, word := range Words(name) {
		b.WriteString(capital(word))
	}
	return b.String()
}

// Camel writes a name as JavaScript does: payoutBatches, createSSO, idCard.
func Camel(name string) string {
	words := Words(name)
	if len(words) == 0 {
		return ""
	}
	return words[0] + Pascal(strings.Join(words[1:], "_"))
}

// capital writes a word with a capital, or all of an initialism.
func capital(word string) string {
	if initialism, ok := initialisms[word]; ok {
		return initialism
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// plurals are endings of words with their singular, the first that fits.
var plurals = [][2]string{{"ies", "y"}, {"ches", "ch"}, {"uses", "us"}, {"s", ""}}

// singular returns the singular of the last word of a name in snake case: payout_batches is payout_batch.
func singular(name string) string {
	for _, p := range plurals {
		if stem, ok := strings.CutSuffix(name, p[0]); ok {
			return stem + p[1]
		}
	}
	return name
}

// methodName returns the name of an operation in its resource: its id without the resource's noun. createPartner of
// partners is create, undoPartnerBan is undo_ban, and listMaturingCommissions of commissions is list_maturing. The id
// may have only the first words of the noun: reportPayoutResults of payout_batches is report_results. A plural before
// other words means several objects, so that markPayoutsPaid is mark_many_paid beside mark_paid.
func methodName(resource, operationID string) (string, error) {
	words, many := Words(operationID), strings.Split(resource, "_")
	one := strings.Split(singular(resource), "_")
	name := words
	if rest, ok := without(words, many); ok {
		name = rest
		if at := index(words, many); words[0] != "list" && at+len(many) < len(words) {
			name = slices.Insert(slices.Clone(rest), at, "many")
		}
	}
	for n := len(one); n > 0 && len(name) == len(words); n-- {
		if rest, ok := without(words, one[:n]); ok && (n == len(one) || index(words, one[:n]) == 1) {
			name = rest
		}
	}
	if len(name) == 0 {
		return "", fmt.Errorf("%s leaves no name in %s", operationID, resource)
	}
	return strings.Join(name, "_"), nil
}

// without returns words less the run of other words in them, and whether it is there after the verb.
func without(words, run []string) ([]string, bool) {
	at := index(words, run)
	if at < 1 {
		return nil, false
	}
	return slices.Concat(words[:at], words[at+len(run):]), true
}

// index returns where a run of words begins, or -1.
func index(words, run []string) int {
	for i := range words {
		if i+len(run) <= len(words) && slices.Equal(words[i:i+len(run)], run) {
			return i
		}
	}
	return -1
}
