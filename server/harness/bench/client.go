package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// client is a keep-alive HTTP connection of little cost, since it shares the machine with the
// server that is measured. It knows just what the server's answers need: HTTP/1.1, a length or
// chunks. It is for one goroutine.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	out  bytes.Buffer
	head string
	key  string // the API key
}

// dial connects to the server; key authorizes all requests.
func dial(addr, key string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	// 32 KiB is more than most answers, so that one read takes a whole one.
	return &client{
		conn: conn, in: bufio.NewReaderSize(conn, 32<<10),
		head: " HTTP/1.1\r\nHost: " + addr + "\r\n", key: key,
	}, nil
}

func (c *client) close() { _ = c.conn.Close() } // no request is in flight

// do sends a request and reads the whole answer. Any other than a success is an error.
func (c *client) do(r request) error {
	// The buffer is used again: the collector of the generator must not disturb the figures.
	b := &c.out
	b.Reset()
	b.WriteString(r.Method + " " + r.Path + c.head)
	for _, line := range r.head(c.key) {
		b.WriteString(line[0] + ": " + line[1] + "\r\n")
	}
	if r.Body != "" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(r.Body)) + "\r\n")
	}
	b.WriteString("\r\n" + r.Body)
	// One write, so one packet, as real clients send.
	if _, err := c.conn.Write(b.Bytes()); err != nil {
		return err
	}
	return c.answer()
}

// answer reads one answer to its end, so that the connection can take the next request.
func (c *client) answer() error {
	status, err := c.line()
	if err != nil {
		return err
	}
	length, chunked := 0, false
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ": ")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		case "transfer-encoding":
			chunked = true
		}
	}
	if !strings.HasPrefix(status, "HTTP/1.1 2") {
		text, _ := io.ReadAll(io.LimitReader(c.in, int64(min(length, 500)))) // for the error only
		return fmt.Errorf("%s %s", status, text)
	}
	if chunked {
		return c.chunks()
	}
	_, err = c.in.Discard(length)
	return err
}

// chunks reads a chunked body: chunks with their length in front, the last of length 0.
func (c *client) chunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(line, 16, 32)
		if err != nil {
			return err
		}
		// Each chunk ends with CR and LF.
		if _, err := c.in.Discard(int(n) + 2); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// line returns the next line without its end.
func (c *client) line() (string, error) {
	line, err := c.in.ReadSlice('\n')
	return strings.TrimRight(string(line), "\r\n"), err
}
