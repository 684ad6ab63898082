package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"rail/server/locale/plain"
)

// sessionHeader is the header in which clients of older protocols repeat the answer to their first request.
const sessionHeader = "Mcp-Session-Id"

// sessionPrefix begins the sessions of this server.
const sessionPrefix = "rail-"

const (
	// maxName bounds the name of a client, in characters.
	maxName = 100
	// unnamed is the name of a client that gives none.
	unnamed = "an MCP client"
)

// Clients of the newest protocol name themselves in every request. Older ones do so only in the first, and repeat its
// session id in the others. The server stores no session: the id contains the name. A client can change it, as it can
// call itself anything.

// nameOf returns the name of a client without invisible characters.
func nameOf(name, version string) string {
	name = strings.TrimSpace(strings.TrimSpace(plain.Name(name)) + " " + strings.TrimSpace(plain.Name(version)))
	if name = strings.TrimSpace(plain.Cut(name, maxName)); name == "" {
		return unnamed
	}
	return name
}

// beginning returns the name of a client whose request opens a session.
func beginning(body []byte) (name string, ok bool) {
	var m struct {
		Method string
		Params struct {
			ClientInfo struct{ Name, Version string }
		}
	}
	if json.Unmarshal(body, &m) != nil || m.Method != "initialize" {
		return "", false
	}
	return nameOf(m.Params.ClientInfo.Name, m.Params.ClientInfo.Version), true
}

// sessionOf returns the id of a session of a client.
func sessionOf(name string) string {
	return sessionPrefix + base64.RawURLEncoding.EncodeToString([]byte(name))
}

// clientOf returns the client that a session id names.
func clientOf(h http.Header) string {
	encoded, ok := strings.CutPrefix(h.Get(sessionHeader), sessionPrefix)
	if name, err := base64.RawURLEncoding.DecodeString(encoded); ok && err == nil {
		return nameOf(string(name), "")
	}
	return unnamed
}
