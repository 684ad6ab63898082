package plain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesKeepVisible(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"علی\u200cرضا", "می\u200cخواهم", "خانه\u200cهای سبز", "مُ\u200cح", // Persian, with a mark before the joiner
		"क्\u200dष", "क्\u200cष", "ශ්\u200dරී", "രാജന്\u200d", "র\u200d্য", // Hindi, Sinhala, Malayalam, Bengali
		"👨\u200d👩\u200d👧\u200d👦", "👩🏽\u200d🚀", "🏳\ufe0f\u200d🌈", "🏴\u200d☠\ufe0f", "❤\ufe0f\u200d🔥", "🐦\u200d⬛", "🙂\u200d↔\ufe0f",
		"☎\ufe0e", "1\ufe0f\u20e3", "©\ufe0f",
		"🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f Isla", "葛\U000e0100城", "邉\ufe00",
		"ᠠ\u180b", "\u0600١٢",
	} {
		require.Equal(t, name, Name(name), "%+q", name)
		require.True(t, Named(name), "%+q", name)
		require.True(t, Lined(name+"\r\n\t"+name), "%+q", name)
	}
}

func TestNamesDropInvisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A\u200da": "Aa", "\u200dAda": "Ada", "Ada\u200c": "Ada", "Ada \u200d Lovelace": "Ada  Lovelace",
		"علی\u200c": "علی", "\u200cعلی": "علی", "علی\u200c\u200cرضا": "علی\u200cرضا", "می\u200c\u200b\u200cخ": "می\u200cخ",
		"دارا\u200cب": "داراب", "علی\u200c رضا": "علی رضا", "ع\u200cA": "عA", "山\u200d田": "山田",
		"👨\u200d\u200d👩": "👨\u200d👩", "👨\u200d": "👨", "👨\u200dA": "👨A", "👨\u200c👩": "👨👩",
		"क\u200dष": "कष", "क्\u200d\u200dष": "क्\u200dष",
		"Ada\ufe0f": "Ada", "1\ufe0f": "1", "葛\U000e0100\U000e0100": "葛\U000e0100", "☎\ufe0f\ufe0f": "☎\ufe0f", "\ufe0f": "",
		"🏴\U000e0067\U000e0062": "🏴", "🏴\U000e0061\U000e0061\U000e007f": "🏴", "Ada\U000e0041": "Ada",
		"\u3164": "", "A\u115f\u1160\uffa0d\u034fa": "Ada", "\u2800": " ", "Ada\u2800L": "Ada L", "A\u180bda": "Ada",
	} {
		require.Equal(t, want, Name(text), "%+q", text)
		require.False(t, Named(text), "%+q", text)
		require.True(t, Named(want), "%+q", want)
		require.False(t, Lined(text), "%+q", text)
	}
}

func TestAddressesHaveNoBlank(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{0x2800, 0x200c, 0x180b, 0xffa0, 0xe0100} {
		require.False(t, Addressed("ada"+string(r)+"@example.com"), "%U", r)
	}
}

func FuzzName(f *testing.F) {
	f.Add("علی\u200cرضا")
	f.Fuzz(func(t *testing.T, text string) {
		once := Name(text)
		if Name(once) != once || !Named(once) {
			t.Errorf("%+q becomes %+q, then %+q", text, once, Name(once))
		}
	})
}
