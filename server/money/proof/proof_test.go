package proof_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/money/proof"
)

// TestCanonicalVectors has the examples of RFC 8785 (3.2.2 and 3.2.3) and the cases of its reference
// implementation.
func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],` +
			`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`: `{"literals":` +
			`[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
			`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: `{` +
			`"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
			`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		` [ 56 , {"d": true, "10": null, "1": [ ] } ] `: `[56,{"1":[],"10":null,"d":true}]`,
		`{"peach":1,"péché":2,"pêche":3,"sin":4}`:       `{"peach":1,"péché":2,"pêche":3,"sin":4}`,
		`-0`: `0`, `9007199254740991`: `9007199254740991`, `-9007199254740991`: `-9007199254740991`,
	} {
		got, err := proof.Canonicalize([]byte(in))
		require.NoError(t, err, in)
		require.Equal(t, want, string(got))
	}
}

// TestCanonicalNumbers has the samples of appendix B of RFC 8785.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4430000000000000: "295147905179352830000", 0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21", 0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333", 0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343", 0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		text := strconv.FormatFloat(math.Float64frombits(bits), 'e', 20, 64)
		got, err := proof.Canonicalize([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, string(got), "%x", bits)
	}
}

// TestCanonicalRefusals: parsers disagree on these texts, so that a signature over them would prove nothing.
func TestCanonicalRefusals(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `{`, `{} {}`, `{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, "\"\xff\"", `"\ud800"`, `01`, `NaN`, `{"a":1,}`,
		`9007199254740992`, `-9007199254740992`, `[1,{"amount_minor":12345678901234567890}]`,
	} {
		_, err := proof.Canonicalize([]byte(bad))
		require.Error(t, err, bad)
	}
}

// TestCanonicalIsStable: the order of members, spaces and escapes change nothing, and the canonical form keeps the
// value.
func TestCanonicalIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOfN(rapid.String(), rapid.OneOf(
			rapid.String().AsAny(), rapid.Int64Range(-1<<53+1, 1<<53-1).AsAny(), rapid.Bool().AsAny(),
		), 0, 8).Draw(t, "members")
		want, err := proof.Canonical(members)
		require.NoError(t, err)
		names := rapid.Permutation(keysOf(members)).Draw(t, "order")
		var parts []string
		for _, n := range names {
			name, _ := json.Marshal(n)
			value, _ := json.Marshal(members[n])
			parts = append(parts, string(name)+" :\t"+string(value))
		}
		got, err := proof.Canonicalize([]byte("{\n" + strings.Join(parts, " ,\n") + " }"))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		again, err := proof.Canonicalize(got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again))
		plain, err := json.Marshal(members)
		require.NoError(t, err)
		require.JSONEq(t, string(plain), string(got))
	})
}

func keysOf(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestSignVector has the third test of RFC 8032, 7.1.
func TestSignVector(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed([]byte{
		0xc5, 0xaa, 0x8d, 0xf4, 0x3f, 0x9f, 0x83, 0x7b, 0xed, 0xb7, 0x44, 0x2f, 0x31, 0xdc, 0xb7, 0xb1,
		0x66, 0xd3, 0x85, 0x35, 0x07, 0x6f, 0x09, 0x4b, 0x85, 0xce, 0x3a, 0x2e, 0x0b, 0x44, 0x58, 0xf7,
	})
	public, message := proof.PublicKey(key), []byte{0xaf, 0x82}
	require.Equal(t, "/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU=", public)
	signature := proof.Sign(key, message)
	require.Equal(t, "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"+
		"18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a", hexOf(t, signature))
	require.True(t, proof.Verify(public, message, signature))
	require.False(t, proof.Verify(public, []byte{0xaf, 0x83}, signature))
	require.False(t, proof.Verify(public[:40], message, signature), "a shortened key")
	require.False(t, proof.Verify(public, message, signature[:80]), "a shortened signature")
	require.False(t, proof.Verify(public, message, signature+"\n"), "a signature with other text")
}

func hexOf(t *testing.T, text string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return hex.EncodeToString(b)
}

func TestHashes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", proof.Root(nil))
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", proof.Hash([]byte("abc")))
	require.Equal(t, proof.Hash([]byte("a:b")), proof.OrderHash("a", "b"))
	require.Equal(t, proof.Hash([]byte("x\ny\n")), proof.Root([]string{"x", "y"}))
	require.NotEqual(t, proof.Root([]string{"x", "y"}), proof.Root([]string{"y", "x"}))
	d := proof.NewDigest()
	require.NoError(t, d.AddLine(map[string]any{"b": 1, "a": "<&>"}))
	require.Equal(t, proof.Hash([]byte("{\"a\":\"<&>\",\"b\":1}\n")), d.Sum())
	require.Equal(t, 1, d.Count())
	require.Error(t, d.AddLine(math.NaN()))
}
