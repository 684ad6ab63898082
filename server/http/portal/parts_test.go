package portal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/outbound/webhook"
)

func TestMaskedNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a•••@example.com", masked("ada@example.com"))
	require.Equal(t, "•••• 3000", masked("DE89370400440532013000"))
	require.Equal(t, "•••• 3000", masked("DE89 3704 0044 0532 0130 00"))
	require.Equal(t, "É•••", masked("Édith"))
	require.Equal(t, " •••", masked(strings.Repeat(" ", 20)), "the server takes any text")
	require.Equal(t, "É•••", mask(nil, new("Édith")))
	require.Equal(t, "•••", mask(nil, new("")))
}

func TestBrand(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"Acme": "Partners", "Acme partners": "", "Partners of Acme": "Partners"} {
		require.Equal(t, want, side(program), program)
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"DE89370400440532013000": true, "de89 3704 0044 0532 0130 00": true, "GB82WEST12345698765432": true,
		"DE89370400440532013001": false, "GB82WEST12345698765431": false,
		"12345678": true, "00-1234-5678": true, "123": false, "1234567<": false, "": false,
	} {
		require.Equal(t, good, account(text) == "", text)
	}
	require.Empty(t, swift("DEUTDEFF500"))
	require.NotEmpty(t, swift("DEUT"))
	require.Empty(t, wallet("0x52908400098527886E0F7030069857D2E4169EE7"))
	require.NotEmpty(t, wallet("0x5"))
}

// TestEveryTypeHasWords: a postback's choices are explained to partners.
func TestEveryTypeHasWords(t *testing.T) {
	t.Parallel()
	n := 0
	for _, kind := range webhook.Catalogue() {
		if kind.PartnerEligible {
			require.Contains(t, meanings, kind.Type)
			n++
		}
	}
	require.Len(t, meanings, n)
}
