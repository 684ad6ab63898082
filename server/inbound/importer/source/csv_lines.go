package source

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
)

// lines splits a text into the lines of CSV, each of which may have line feeds in quotes.
type lines struct {
	in     *bufio.Reader
	held   []byte // comes before in
	comma  byte
	number int    // of the last line feed
	buf    []byte // of the line
	text   *bufio.Reader
}

// newLines returns the lines of a file after its mark of UTF-8 or UTF-16, and finds the delimiter in the first one.
func newLines(file io.Reader) (*lines, error) {
	in := bufio.NewReaderSize(file, maxLine)
	mark, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
		in = bufio.NewReaderSize(decoder.Reader(in), maxLine)
	}
	l := &lines{in: in, comma: ',', text: bufio.NewReader(nil)}
	begin, err := in.Peek(maxLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	// A spreadsheet may name the delimiter in a line before the header.
	if bytes.HasPrefix(begin, []byte("sep=")) && len(begin) > 5 {
		l.comma = begin[4]
		_, _, err := l.next()
		return l, err
	}
	l.comma = delimiter(begin)
	return l, nil
}

// delimiter returns the most frequent delimiter in the first line that is not empty, outside of quotes.
func delimiter(text []byte) byte {
	found, quoted := map[byte]int{}, false
	for _, b := range bytes.TrimLeft(text, "\r\n") {
		if b == '"' {
			quoted = !quoted
		}
		if b == '\n' && !quoted {
			break
		}
		if !quoted {
			found[b]++
		}
	}
	most := byte(',')
	for _, b := range []byte(";\t") {
		if found[b] > found[most] {
			most = b
		}
	}
	return most
}

// next returns the next line and its number. A line that is too long or has a quote that is not closed ends at its
// first line feed, and is returned as tooLong; the lines after it are read.
func (l *lines) next() (text string, number int, err error) {
	l.buf, number = l.buf[:0], l.number+1
	quoted, begin, feed := false, true, 0 // begin: of a cell; feed: after the first line feed in quotes
	for {
		b, err := l.read()
		switch {
		case errors.Is(err, io.EOF) && quoted && feed > 0:
			return l.cut(feed, number), number, nil
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return string(l.buf), number, nil
		case err != nil:
			return "", number, err
		case b == '\n' && !quoted:
			l.number++
			return strings.TrimSuffix(string(l.buf), "\r"), number, nil
		}
		if len(l.buf) <= maxLine {
			l.buf = append(l.buf, b)
		}
		// A single quote inside of a cell, after a line feed, is likely the first one of a later line.
		stray := false
		switch {
		case b == '\n':
			l.number++
			feed = cmp.Or(feed, len(l.buf))
		case b == '"' && !quoted:
			quoted = begin
		case b == '"' && l.paired():
		case b == '"':
			quoted = !l.ends()
			stray = quoted
		}
		if feed > 0 && (stray || len(l.buf) > maxLine) {
			return l.cut(feed, number), number, nil
		}
		begin = b == l.comma && !quoted
	}
}

// tooLong replaces a line of more than maxLine bytes.
var tooLong = strings.Repeat(" ", maxLine+1)

// read returns the next byte.
func (l *lines) read() (byte, error) {
	if len(l.held) > 0 {
		b := l.held[0]
		l.held = l.held[1:]
		return b, nil
	}
	return l.in.ReadByte()
}

// peek returns the byte that read returns next, a line feed at the end.
func (l *lines) peek() byte {
	if len(l.held) > 0 {
		return l.held[0]
	}
	if ahead, err := l.in.Peek(1); err == nil {
		return ahead[0]
	}
	return '\n'
}

// paired reads the second of two quotes, which mean one.
func (l *lines) paired() bool {
	if l.peek() != '"' {
		return false
	}
	b, _ := l.read()
	l.buf = append(l.buf, b)
	return true
}

// ends reports whether the cell ends before the next byte.
func (l *lines) ends() bool {
	b := l.peek()
	return b == l.comma || b == '\n' || b == '\r'
}

// cut ends a line at its first line feed, so that the rest is read again.
func (l *lines) cut(feed, number int) string {
	l.held = append(bytes.Clone(l.buf[feed:]), l.held...)
	l.number = number
	return tooLong
}

// cells returns the cells of a line. Quotes inside of cells are allowed.
func (l *lines) cells(text string) ([]string, error) {
	l.text.Reset(strings.NewReader(text))
	r := csv.NewReader(l.text)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = rune(l.comma), true, -1
	return r.Read()
}
