package bench

import (
	"strings"
	"testing"
	"time"
)

// The request's own ids become variables, ids made by the server become fresh ones, and
// all other values stay.
func TestScript(t *testing.T) {
	l := loads[0]
	d := draw{Program: programBase, Partner: partnerBase, Customer: customerBase, Fresh: 1795242220498830}
	sale := "sale_06hf7r7q4pe3n9a2k5wxyz0123"
	c := captured{d, time.Now(), [][]statement{
		{{"SELECT $1, $2, $3", []any{id("cus", d.Customer), "org_bench", (*string)(nil)}}},
		{{"INSERT INTO s VALUES ($1, $2)", []any{sale, []string{sale, `a"b`}}}, {"COMMIT", nil}},
	}}
	s := newScript(c, l, newSize(partners), 8)
	for _, want := range []string{
		"SELECT (:c0::text || :customer::text), :c1, NULL;\n\\startpipeline\n",
		"INSERT INTO s VALUES ((:c2::text || :f1::text), (:c3::text || :f1::text || :c4::text));\nCOMMIT;\n\\endpipeline\n",
	} {
		if !strings.Contains(s.text, want) {
			t.Errorf("%q is not in\n%s", want, s.text)
		}
	}
	defines := strings.Join(s.defines, "\n")
	for _, want := range []string{
		"c0=cus_010000000000000000\n", "c1=org_bench\n", "c2=sale_" + s.stem + "\n", `c4=","a\"b"}`,
	} {
		if !strings.Contains(defines, want) {
			t.Errorf("%q is not in\n%s", want, defines)
		}
	}
}
