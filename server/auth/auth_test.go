package auth

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const inboundKey = "rail_live_abcdefghijklmnopqrstuvwxyz0123456789"

// TestInboundVectors checks the published vectors of Rail-Signature.
func TestInboundVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		t         int64
		body, sum string
	}{
		{
			1767225600,
			`{"program_id":"prg_1","customer_id":"cus_1","external_charge_id":"ch_1","amount_minor":4999,"currency":"USD"}`,
			"da9ec5abf49445a36e665c8d93dc9f8e0f51f4ac602d70c507e4382bc95c5963",
		},
		{1767225600, "", "5dbcaa8fd68edba8e014606edb6ae19bd7c672aa1a7207c341957359719a97e9"},
		{1767225601, "{ \"a\" : 1 }\n", "7efdfd2520f5fe3fad6405955a9095404a30912227ac47b4b999036386e3887c"},
	} {
		stamp := map[int64]string{1767225600: "1767225600", 1767225601: "1767225601"}[v.t]
		require.Equal(t, v.sum, hex.EncodeToString(Sign(inboundKey, stamp, []byte(v.body))))
		header, now := "t="+stamp+",v1="+v.sum, time.Unix(v.t, 0)
		require.NoError(t, VerifySignature(header, inboundKey, []byte(v.body), now))
		require.NoError(t,
			VerifySignature("x=1, v1="+strings.ToUpper(v.sum)+", v1=00,t="+stamp, inboundKey, []byte(v.body), now),
			"order, spaces, case, strangers")
		for name, bad := range map[string]string{
			"cut": "t=" + stamp + ",v1=" + v.sum[:63], "long": "t=" + stamp + ",v1=" + v.sum + "0",
			"empty": "t=" + stamp + ",v1=", "other version": "t=" + stamp + ",v2=" + v.sum, "no t": "v1=" + v.sum,
			"two t":   "t=" + stamp + ",t=" + stamp + ",v1=" + v.sum,
			"nothing": "", "no comma": "t=" + stamp + "v1=" + v.sum, "nul": "t=" + stamp + ",v1=" + v.sum + "\x00",
			"spaced t": "t= " + stamp + ",v1=" + v.sum,
			"negative": "t=-1,v1=" + v.sum, "huge": "t=9223372036854775808,v1=" + v.sum,
		} {
			require.ErrorIs(t, VerifySignature(bad, inboundKey, []byte(v.body), now), ErrSignature, name)
		}
		require.ErrorIs(t, VerifySignature(header, inboundKey, append([]byte(v.body), '\n'), now), ErrSignature)
		require.ErrorIs(t, VerifySignature(header, inboundKey[len("rail_live_"):], []byte(v.body), now), ErrSignature)
		for _, off := range []time.Duration{0, 299 * time.Second, -299 * time.Second, 300 * time.Second, -300 * time.Second} {
			require.NoError(t, VerifySignature(header, inboundKey, []byte(v.body), now.Add(off)), off)
		}
		for _, off := range []time.Duration{301 * time.Second, -301 * time.Second, 24 * time.Hour} {
			require.ErrorIs(t, VerifySignature(header, inboundKey, []byte(v.body), now.Add(off)), ErrExpired, off)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, vector := range []string{
		"rail_live_000000000000000000000000000000003Fp0Jp", "rail_test_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef34Rzr1",
	} {
		require.Equal(t, vector[len(vector)-6:], checksum(vector[:len(vector)-6]))
	}
	seen := map[string]bool{}
	for range 1000 {
		token := NewToken(true)
		require.Regexp(t, `^rail_live_[0-9A-Za-z]{38}$`, token)
		require.False(t, seen[token])
		seen[token] = true
	}
	require.Regexp(t, `^rail_test_[0-9A-Za-z]{38}$`, NewToken(false))
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		has, needs []string
		ok         bool
	}{
		{[]string{"read"}, []string{"read", "write"}, true},
		{[]string{"write"}, []string{"read", "write"}, true},
		{[]string{"partners:write"}, []string{"read", "write"}, false},
		{[]string{"partners:write"}, []string{"partners:write", "write"}, true},
		{[]string{"read"}, []string{"partners:write", "write"}, false},
		{nil, nil, true},
		{nil, []string{"read"}, false},
	} {
		require.Equal(t, c.ok, Actor{Scopes: c.has}.Allows(c.needs), "%v %v", c.has, c.needs)
	}
	manager := Actor{Scopes: []string{"write"}, Without: []string{"payouts:write"}}
	require.True(t, manager.Allows([]string{"partners:write", "write"}))
	require.True(t, manager.Allows([]string{"write"}))
	require.False(t, manager.Allows([]string{"payouts:write", "write"}))
}

// FuzzVerifySignature searches for a header that passes without a valid signature.
func FuzzVerifySignature(f *testing.F) {
	f.Add("t=1767225600,v1=da9e")
	f.Add("t=1,v1=00,x")
	f.Fuzz(func(t *testing.T, header string) {
		if err := VerifySignature(header, "another key", []byte("x"), time.Unix(1767225600, 0)); err == nil {
			t.Fatalf("%q passes", header)
		}
	})
}
