package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
)

const (
	// maxLine bounds a message of the client, in bytes, as the server does.
	maxLine = 1 << 20
	// atOnce is the number of the client's requests that wait for the server at the same time.
	atOnce = 8
	// newProtocol is the first protocol version whose requests have the client's name and need their method in a header.
	newProtocol = "2026-07-28"
	// noAnswer is the JSON-RPC code of an answer that is not the server's.
	noAnswer = -32000
)

// serveMCP connects an MCP client to a server. The client starts this command and uses its standard input and output.
func serveMCP(fs *pflag.FlagSet) action {
	from := remoteFlags(fs)
	file := fs.String("key-file", "", "`FILE` with the API key")
	write := toggle(fs, "write", "offer operations that write, if the key has a scope for them")
	return func(ctx context.Context, env *Env, _ []string) error {
		if *from.key == "-" {
			return usagef("--key - is not possible: standard input is the client's; use --key-file or %s", keyVariable)
		}
		if *file != "" {
			raw, err := os.ReadFile(*file)
			if err != nil {
				return err
			}
			*from.key = strings.TrimSpace(string(raw))
		}
		c, err := from.caller(env)
		if err != nil {
			return err
		}
		address := c.base + "/mcp"
		if *write {
			address += "?write=true"
		}
		in := env.In
		if in == nil {
			in = os.Stdin
		}
		if closer, ok := in.(io.Closer); ok {
			defer context.AfterFunc(ctx, func() { _ = closer.Close() })() // ends the wait for a line
		}
		p := &mcpProxy{caller: c, address: address, out: env.Out}
		return p.run(ctx, in)
	}
}

// mcpHelp describes how to name the key, and that nothing else is needed.
func mcpHelp() string {
	return `MCP clients start this command. It passes their messages on to the server's /mcp with the API key, and needs no
database. Without --write it only reads. Operations that move money answer a link to the console, where a person
confirms them.
`
}

// mcpProxy passes the messages of a client on to a server.
type mcpProxy struct {
	*caller

	address string

	mu      sync.Mutex
	out     io.Writer
	session string // that the server gave
	version string // of the protocol, as the server chose it
}

// message is a message of a client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// run passes on messages, one per line, until the input ends.
func (p *mcpProxy) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	var all errgroup.Group
	all.SetLimit(atOnce)
	for ctx.Err() == nil && lines.Scan() {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		var m message
		_ = json.Unmarshal(line, &m) // the server refuses it
		if m.Method == "initialize" {
			if err := p.pass(ctx, line, m); err != nil { // the others need its session
				return err
			}
			continue
		}
		all.Go(func() error { return p.pass(ctx, line, m) })
	}
	return cmp.Or(all.Wait(), lines.Err())
}

// pass sends a message to the server and its answer to the client. It returns an error if the client is gone.
func (p *mcpProxy) pass(ctx context.Context, line []byte, m message) error {
	answer, err := p.send(ctx, line, m)
	if err != nil {
		if len(m.ID) == 0 {
			return nil // no client waits for the answer to a notification
		}
		answer, err = json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": noAnswer, "message": err.Error()},
		})
		if err != nil {
			return err
		}
	}
	if len(answer) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.out.Write(append(answer, '\n'))
	return err
}

// send sends a message to the server and returns the answer in one line; nil for none.
func (p *mcpProxy) send(ctx context.Context, line []byte, m message) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	p.mark(r.Header, m)
	res, err := p.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.base, errors.Unwrap(err))
	}
	defer res.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	var answer struct {
		JSONRPC string `json:"jsonrpc"`
		Result  struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	if len(body) == 0 && res.StatusCode < http.StatusBadRequest {
		return nil, nil //nolint:nilnil // a notification has no answer
	}
	if json.Unmarshal(body, &answer) != nil || answer.JSONRPC == "" {
		return nil, refusal(res, body)
	}
	if m.Method == "initialize" {
		p.mu.Lock()
		p.session, p.version = res.Header.Get("Mcp-Session-Id"), answer.Result.Version
		p.mu.Unlock()
	}
	var one bytes.Buffer
	err = json.Compact(&one, body)
	return one.Bytes(), err
}

// mark sets the headers of a message.
func (p *mcpProxy) mark(h http.Header, m message) {
	p.mu.Lock()
	session, version := p.session, cmp.Or(m.Params.Meta.Version, p.version)
	p.mu.Unlock()
	h.Set("Authorization", "Bearer "+p.key)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if version != "" {
		h.Set("Mcp-Protocol-Version", version)
	}
	if version >= newProtocol {
		h.Set("Mcp-Method", m.Method)
		if name := cmp.Or(m.Params.Name, m.Params.URI); name != "" {
			h.Set("Mcp-Name", name)
		}
	}
}
