package vectors

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// strange are values that languages parse differently.
var strange = []string{
	"", " ", "0", "-1", "+1", "1e9", "0x10", "1_0", "1.5", "NaN", "Infinity", "z", "é", "\xff\xfe", "١٧٦٧٢٢٥٦٠٠",
	"__proto__", "=", "==",
	strings.Repeat("9", 400), strings.Repeat("9", 5000), strings.Repeat("z", 64), strings.Repeat("é", 32), strings.Repeat("é", 64),
	strings.Repeat("\xff", 64), strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("0", 128),
}

// Hostile returns invalid values of Rail-Signature for a time: each must be refused, whatever the body. The last
// n are random, from the seed.
func Hostile(now time.Time, seed uint64, n int) []string {
	t := strconv.FormatInt(now.Unix(), 10)
	out := []string{
		"x", ",", ",,", "t", "v1", "t,v1", "t=" + t, "t=" + t + ",", "t=" + t + ",v1", "t=1,t=" + t + ",v1=,v1",
		strings.Repeat(",", 4000),
	}
	for _, s := range strange {
		out = append(out, s, "t="+s, "v1="+s, "t="+s+",v1="+s, "t="+s+",v1="+strings.Repeat("a", 64), "t="+t+",v1="+s,
			"t="+t+",v1="+s+",v1="+s)
	}
	pieces := append([]string{"t", "v1", "v0", "=", ",", "t=" + t, "v1=", ", "}, strange...)
	random := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- a failure must be reproducible
	for range n {
		var value strings.Builder
		for range 1 + random.IntN(9) {
			value.WriteString(pieces[random.IntN(len(pieces))])
		}
		out = append(out, value.String())
	}
	return out
}
