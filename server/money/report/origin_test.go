package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Newsletter": "newsletter", "  Spring\tSALE ": "spring sale", "none": "", "None": "", "": "", " ": "", "a\x00b": "ab",
		"\u200bads": "ads", "ÜBER": "über", strings.Repeat("é", 300): strings.Repeat("é", 100), "other": "other",
	} {
		require.Equal(t, want, Value(text), "%q", text)
	}
}

func FuzzValue(f *testing.F) {
	f.Add(strings.Repeat("a", 99) + "👩\u200d🚀")
	f.Add("a \u200b b")
	f.Add("x\u2800")
	f.Fuzz(func(t *testing.T, text string) {
		once := Value(text)
		if Value(once) != once || len([]rune(once)) > maxValue {
			t.Errorf("%+q becomes %+q, then %+q", text, once, Value(once))
		}
	})
}

func TestHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://Blog.Example/post?a=1": "blog.example", "http://blog.example:8080/": "blog.example", "blog.example": "blog.example",
		"https://www.google.com.": "www.google.com", "android-app://com.google.android.gm/": "com.google.android.gm",
		"https://[2001:db8::1]/": "2001:db8::1", "": "", "https://a b/": "", "https://blog!example/": "", "://": "",
		"https://" + strings.Repeat("a", 300) + ".example/": "", "about:blank": "",
	} {
		require.Equal(t, want, Host(text), "%q", text)
	}
}
