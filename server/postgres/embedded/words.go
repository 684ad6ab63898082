package embedded

import (
	"io"
	"os"
	"regexp"
	"strings"
)

// fatal matches a log line with the reason of a server process's end.
var fatal = regexp.MustCompile(`(?:FATAL|PANIC):  .*`)

// passing lists the messages of a starting or stopping server to clients, which are no reason of
// its end.
var passing = regexp.MustCompile(`FATAL:  (?:the database system is |terminating |sorry, too many clients)`)

// lastWords returns the last line of a log with the reason of the server's end, or "".
func lastWords(log string) string {
	last := ""
	for line := range strings.Lines(log) {
		if words := fatal.FindString(line); words != "" && !passing.MatchString(words) {
			last = strings.TrimSpace(words)
		}
	}
	return last
}

// quiet returns a log without the messages to clients that connect too early.
func quiet(log string) string {
	var lines strings.Builder
	for line := range strings.Lines(log) {
		if !passing.MatchString(line) {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// lastWordsOf returns lastWords of the end of a file.
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
