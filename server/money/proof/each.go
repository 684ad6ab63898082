package proof

import (
	"cmp"
	"slices"
	"strings"
)

// Result is the check of one of several documents.
type Result struct {
	Head
	// Earlier is the number of the partner's statement before it among the documents, or "".
	Earlier string
	Faults  []error
}

// CheckEach checks documents in any order, and that the documents of each partner follow one another without a gap.
// The results have the order of the documents.
func CheckEach(docs []Document, keys []Key) []Result {
	results := make([]Result, len(docs))
	partners := map[string][]int{}
	for i, d := range docs {
		head, err := d.Head()
		if err != nil {
			results[i].Faults = []error{err}
			continue
		}
		results[i].Head = head
		partners[head.Partner.ID] = append(partners[head.Partner.ID], i)
	}
	for _, of := range partners {
		slices.SortStableFunc(of, func(i, j int) int { return results[i].compare(results[j].Head) })
		for _, i := range of {
			var earlier *Document
			// The first document with this number, since a document may be given twice.
			at := slices.IndexFunc(of, func(j int) bool { return results[j].Number == results[i].Number })
			if at > 0 {
				earlier, results[i].Earlier = &docs[of[at-1]], results[of[at-1]].Number
			}
			results[i].Faults = Check(docs[i], keys, earlier)
		}
	}
	return results
}

// compare returns the order of two statements of a partner. Statements that were issued at one time have the order of
// their numbers, whatever the prefix.
func (h Head) compare(other Head) int {
	return cmp.Or(h.IssuedAt.Compare(other.IssuedAt), strings.Compare(sequence(h.Number), sequence(other.Number)))
}

// sequence returns the year and the sequence of a number.
func sequence(number string) string {
	parts := strings.Split(number, "-")
	return strings.Join(parts[max(len(parts)-2, 0):], "-")
}
