package bar

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
)

// proxy is between a server and the database. Armed with n, it forwards the nth
// COMMIT from then on and cuts the connection before the answer. It reads just enough of the protocol
// to find the end of a message.
type proxy struct {
	listener net.Listener
	dir, to  string
	armed    atomic.Int64 // 0 or less for not
	cuts     atomic.Int64
}

// newProxy returns a proxy and the DSN of the database through it.
func newProxy(dsn string) (*proxy, string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, "", err
	}
	dir, err := temporary()
	if err != nil {
		return nil, "", err
	}
	q := u.Query()
	name := ".s.PGSQL." + q.Get("port")
	p := &proxy{dir: dir, to: filepath.Join(q.Get("host"), name)}
	if p.listener, err = net.Listen("unix", filepath.Join(dir, name)); err != nil {
		return nil, "", err
	}
	go p.serve()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return p, u.String(), nil
}

// close stops listening. Connections end with the server that uses them.
func (p *proxy) close() error { return errors.Join(p.listener.Close(), os.RemoveAll(p.dir)) }

// serve copies what the server sends as it comes, and the database's messages one by one.
func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		database, err := (&net.Dialer{}).DialContext(context.Background(), "unix", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() { _, _ = io.Copy(database, client); _ = database.Close() }()
		go func() { p.answers(database, client); _ = client.Close(); _ = database.Close() }()
	}
}

// committed is the text of the answer to a COMMIT, behind a type and a length.
const committed = "COMMIT\x00"

// answers forwards the database's messages, and returns where it must cut.
func (p *proxy) answers(database io.Reader, client io.Writer) {
	in, out := bufio.NewReader(database), bufio.NewWriter(client)
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		body := make([]byte, max(binary.BigEndian.Uint32(head[1:]), 4)-4)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if head[0] == 'C' && string(body) == committed && p.armed.Load() > 0 && p.armed.Add(-1) == 0 {
			p.cuts.Add(1)
			return
		}
		_, _ = out.Write(append(head, body...)) // Flush returns the error
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}
