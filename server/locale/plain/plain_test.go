package plain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", "Łukasz Żółć": "Łukasz Żółć", "山田 太郎": "山田 太郎", "": "",
		"A\u200bd\u202ea\u00ad": "Ada", "\ufeffAda\u2066\u2069": "Ada", "Ada\u2028Bcc": "Ada Bcc", "Ada\r\nBcc\tX": "Ada  Bcc X",
		"Ada\x00\x1b\u0085": "Ada ", "Ada\ue000\U000f0000": "Ada", "\u200b": "",
	} {
		require.Equal(t, want, Name(text), "%q", text)
		require.True(t, Named(Name(text)))
	}
	name, none := new("A\u200bda"), (*string)(nil)
	Names(&name, &none)
	require.Equal(t, "Ada", *name)
	require.Nil(t, none)
}

func TestCutAndShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text       string
		most       int
		cut, short string
	}{
		{"", 3, "", ""}, {"abc", 3, "abc", "abc"}, {"abcd", 3, "abc", "ab…"}, {"a bcd", 3, "a b", "a…"},
		{"łżćó", 3, "łżć", "łż…"}, {"łżć", 3, "łżć", "łżć"}, {"山田太郎", 2, "山田", "山…"}, {"\xff\xffa", 2, "\xff\xff", "\xff…"},
	} {
		require.Equal(t, c.cut, Cut(c.text, c.most), "%q", c.text)
		require.Equal(t, c.short, Short(c.text, c.most), "%q", c.text)
	}
}

func TestLined(t *testing.T) {
	t.Parallel()
	require.True(t, Lined("Ada\r\n\tLovelace"))
	for _, bad := range []string{"Ada\u200b", "\x00", "Ada\n\u202e", "\x7f", "\v"} {
		require.False(t, Lined(bad), "%q", bad)
	}
}

func TestAddressed(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"ada@example.com", "zoë@exämple.com", "用户@例子.公司", ""} {
		require.True(t, Addressed(good), good)
	}
	for _, r := range []rune{
		0, '\t', '\n', ' ', 0x7f, 0x85, 0xa0, 0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200b, 0x200d, 0x200e, 0x2028, 0x2029, 0x202e, 0x2060, 0x2066,
		0x3000, 0x3164, 0xe000, 0xfe0f, 0xfeff, 0xfff9, 0xfffd, 0xe0001, 0xf0000, 0x10fffd,
	} {
		require.False(t, Addressed("ada"+string(r)+"@example.com"), "%U", r)
	}
}
