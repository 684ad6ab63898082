package embedded

import (
	"io"
	"os"
	"regexp"
	"strings"
)

// fatal matches a line of the log by which a process of the server says why it ended.
var fatal = regexp.MustCompile(`(?:FATAL|PANIC):  .*`)

// passing are what a server says to those who connect before or after it serves: they say
// nothing of why it ended.
var passing = regexp.MustCompile(`FATAL:  (?:the database system is |terminating |sorry, too many clients)`)

// lastWords is the last line of a log by which a server said why it ended; "" for none.
func lastWords(log string) string {
	last := ""
	for line := range strings.Lines(log) {
		if words := fatal.FindString(line); words != "" && !passing.MatchString(words) {
			last = strings.TrimSpace(words)
		}
	}
	return last
}

// quiet is a log without what the server says to those who connect too early.
func quiet(log string) string {
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if !passing.MatchString(line) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// lastWordsOf is lastWords of the end of a file.
func lastWordsOf(path string) string {
	const most = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, st.Size()-most), most))
	if err != nil {
		return ""
	}
	return lastWords(string(text))
}
