package secret

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	k, err := New([32]byte{1})
	require.NoError(t, err)
	other, err := New([32]byte{2})
	require.NoError(t, err)
	noise := make([]byte, 2*packFrom)
	_, _ = rand.Read(noise)
	for _, plain := range []string{
		"", "x", "whsec_secret", strings.Repeat("one and the same ", packFrom/17),
		strings.Repeat("one and the same ", packFrom), string(noise),
	} {
		sealed, err := k.Seal([]byte(plain), "here")
		require.NoError(t, err)
		again, err := k.Seal([]byte(plain), "here")
		require.NoError(t, err)
		require.NotEqual(t, sealed, again, "a fresh nonce each time")
		opened, err := k.Open(sealed, "here")
		require.NoError(t, err)
		require.Equal(t, plain, string(opened))
		_, err = k.Open(sealed, "there")
		require.ErrorIs(t, err, ErrSealed)
		_, err = other.Open(sealed, "here")
		require.ErrorIs(t, err, ErrSealed)
		for i := range min(len(sealed), 200) {
			broken := append([]byte(nil), sealed...)
			broken[i] ^= 1
			_, err = k.Open(broken, "here")
			require.ErrorIs(t, err, ErrSealed, i)
		}
		_, err = k.Open(sealed[:len(sealed)-1], "here")
		require.ErrorIs(t, err, ErrSealed)
	}
	packed, err := k.Seal([]byte(strings.Repeat("one and the same ", packFrom)), "here")
	require.NoError(t, err)
	require.Less(t, len(packed), packFrom, "what is large is compressed before it is sealed")
	require.True(t, k.Current(packed))
	require.False(t, other.Current(packed))
	_, err = k.Open(nil, "here")
	require.ErrorIs(t, err, ErrSealed)
}

func TestHashes(t *testing.T) {
	t.Parallel()
	a, err := New([32]byte{1})
	require.NoError(t, err)
	b, err := New([32]byte{2})
	require.NoError(t, err)
	require.Equal(t, a.HashAPIKey("k"), a.HashAPIKey("k"))
	require.NotEqual(t, a.HashAPIKey("k"), b.HashAPIKey("k"))
	require.Len(t, a.HashIP("prg_1", "192.0.2.1"), 16)
	require.NotEqual(t, a.HashIP("prg_1", "192.0.2.1"), a.HashIP("prg_2", "192.0.2.1"),
		"programs cannot be joined by address")
	for _, same := range []string{"2001:0DB8::0001", "2001:db8:0:0::1", "2001:db8::1%eth0"} {
		require.Equal(t, a.HashIP("prg_1", "2001:db8::1"), a.HashIP("prg_1", same), same)
	}
	require.Equal(t, a.HashIP("prg_1", "192.0.2.1"), a.HashIP("prg_1", "::ffff:192.0.2.1"))
	require.NotEqual(t, a.HashIP("prg_1", "x"), a.HashDevice("prg_1", "x"))
	require.NotEqual(t, a.HashDetails("prg_1", "x"), b.HashDetails("prg_1", "x"))
	require.Len(t, HashToken("t"), 32)
}
