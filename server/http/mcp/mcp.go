// Package mcp serves MCP clients, programs that let a language model use the API.
//
// Each tool has the operations of one tag; find and explain answer questions. A call is sent to the API within this
// process, with the client's own key: scopes, limits, validation and the audit log are those of any request. Without
// ?write the server only reads. Operations on money are only prepared: the answer has a link to a page of the console
// on which a person confirms (prepare.go). The server keeps nothing between requests, so that any replica answers any
// of them.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/http/agent"
	"rail/server/http/middleware"
	"rail/server/problem"
	"rail/server/secret"
)

// Path is the address of the server.
const Path = "/mcp"

// maxMessages is the number of messages of one request; only the oldest protocol sends several.
const maxMessages = 20

// Options holds the dependencies of the server.
type Options struct {
	Handler  http.Handler // the whole server, whose API the tools call
	Document *middleware.Document
	Keeper   *secret.Keeper
	Clock    clock.Clock
	// Admit authenticates a request by its API key and charges it.
	Admit   func(echo.Context) (auth.Key, error)
	Console string // where the console is reached
	Service string // the product's name
}

// Server serves MCP clients.
type Server struct {
	Options
	catalogue agent.Catalogue
	reading   http.Handler
	writing   http.Handler
}

// New returns the server.
func New(o Options) *Server {
	s := &Server{Options: o, catalogue: agent.NewCatalogue(o.Document.All())}
	s.reading, s.writing = s.handler(false), s.handler(true)
	return s
}

// Register adds the server to e.
func (s *Server) Register(e *echo.Echo) { e.POST(Path, s.serve) }

// handler returns the handler of clients that may write, or only read. A browser cannot send another site's API key, so
// the library's check of the host, which refuses proxies on the same machine, is not needed.
func (s *Server) handler(write bool) http.Handler {
	server := s.tools(write)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: middleware.MaxBody,
	})
}

// session has the caller of a request.
type session struct {
	api    agent.API
	key    auth.Key
	client string
	write  bool
}

// sessionKey is the context's key of the session.
type sessionKey struct{}

// of returns the session of a call, under the name that the client gives itself.
func of(ctx context.Context, info *sdk.Implementation) session {
	s, _ := ctx.Value(sessionKey{}).(session)
	if info != nil {
		s.client = nameOf(info.Name, info.Version)
	}
	return s
}

// serve answers one request.
func (s *Server) serve(c echo.Context) error {
	key, err := s.Admit(c)
	if err != nil {
		return err
	}
	write, err := asksToWrite(c)
	if err != nil {
		return err
	}
	r := c.Request()
	body, err := io.ReadAll(io.LimitReader(r.Body, middleware.MaxBody+1))
	if err != nil {
		return problem.New(problem.InvalidJSON, "The body could not be read to its end.")
	}
	if len(body) > middleware.MaxBody {
		return problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", middleware.MaxBody)
	}
	if several(body) > maxMessages {
		return problem.New(problem.PayloadTooLarge, "One request has at most %d messages.", maxMessages)
	}
	here := session{api: s.api(r), key: key, client: clientOf(r.Header), write: write && writes(key)}
	if name, begins := beginning(body); begins {
		c.Response().Header().Set(sessionHeader, sessionOf(name))
	}
	r = r.WithContext(context.WithValue(r.Context(), sessionKey{}, here))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del(sessionHeader)
	handler := s.reading
	if here.write {
		handler = s.writing
	}
	handler.ServeHTTP(c.Response(), r)
	return nil
}

// api returns the API with the caller's key and address.
func (s *Server) api(r *http.Request) agent.API {
	header := http.Header{}
	for _, name := range []string{echo.HeaderAuthorization, echo.HeaderXForwardedFor} {
		if values := r.Header.Values(name); len(values) > 0 {
			header[name] = values
		}
	}
	return agent.API{Handler: s.Handler, Catalogue: s.catalogue, Header: header, Address: r.RemoteAddr}
}

// asksToWrite reports whether the address asks for tools that write: /mcp?write or /mcp?write=true.
func asksToWrite(c echo.Context) (bool, error) {
	write := false
	for name, values := range c.QueryParams() {
		if name != "write" {
			return false, problem.UnknownName(name, "is not known here", name, []string{"write"})
		}
		switch {
		case len(values) == 1 && (values[0] == "" || values[0] == "true" || values[0] == "1"):
			write = true
		case len(values) == 1 && (values[0] == "false" || values[0] == "0"):
		default:
			return false, problem.Invalid("write", "write must be true or false.")
		}
	}
	return write, nil
}

// writes reports whether a key has a scope that writes.
func writes(key auth.Key) bool {
	return slices.ContainsFunc(key.Scopes, func(scope string) bool { return scope != "read" })
}

// several returns the number of messages in a body.
func several(body []byte) int {
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '[' {
		return 1
	}
	d := json.NewDecoder(bytes.NewReader(body))
	_, err := d.Token()
	n := 0
	for ; err == nil && n <= maxMessages && d.More(); n++ {
		var skipped json.RawMessage
		err = d.Decode(&skipped)
	}
	return n
}

// text is a text of a result.
func text(of string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: of}} }

// problemOf returns an error as a refusal.
func problemOf(err error) *problem.Error {
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return p
	}
	return middleware.Problem(err)
}
