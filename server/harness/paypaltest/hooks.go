package paypaltest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A hook is a registered address.
type hook struct {
	ID         string      `json:"id"`
	URL        string      `json:"url"`
	EventTypes []eventType `json:"event_types"`
	Links      []link      `json:"links"`
}

type eventType struct {
	Name string `json:"name"`
}

func (h *hook) wants(name string) bool {
	return slices.ContainsFunc(h.EventTypes, func(e eventType) bool { return e.Name == "*" || e.Name == name })
}

// Register registers an address for all events, or for the named ones, and returns the id of the webhook.
func (s *Server) Register(address string, eventTypes ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if eventTypes == nil {
		eventTypes = []string{"*"}
	}
	types := make([]eventType, len(eventTypes))
	for i, name := range eventTypes {
		types[i].Name = name
	}
	return s.register(address, types).ID
}

func (s *Server) register(address string, types []eventType) *hook {
	h := &hook{ID: s.next(17, "webhook"), URL: address, EventTypes: types}
	h.Links = []link{s.link("self", "/v1/notifications/webhooks/"+h.ID)}
	s.hooks = append(s.hooks, h)
	return h
}

// verify reports whether the fake signed a webhook, with a certificate that is to be trusted.
func (s *Server) verify(_ *http.Request, body []byte) answer {
	var v struct {
		Algo    string          `json:"auth_algo"`
		CertURL string          `json:"cert_url"`
		ID      string          `json:"transmission_id"`
		Sig     string          `json:"transmission_sig"`
		Time    string          `json:"transmission_time"`
		HookID  string          `json:"webhook_id"`
		Event   json.RawMessage `json:"webhook_event"`
	}
	if json.Unmarshal(body, &v) != nil {
		return fail(http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	if slices.Contains([]string{v.Algo, v.CertURL, v.ID, v.Sig, v.Time, v.HookID, string(v.Event)}, "") {
		return invalid(detail{Field: "webhook_event", Location: "body", Issue: "Required field missing"})
	}
	status := "FAILURE"
	l := s.authority.leaves[v.CertURL[strings.LastIndexByte(v.CertURL, '/')+1:]]
	ours := slices.ContainsFunc(s.hooks, func(h *hook) bool { return h.ID == v.HookID })
	signature, err := base64.StdEncoding.DecodeString(v.Sig)
	if l != nil && l.kind == CertValid && ours && err == nil && v.Algo == "SHA256withRSA" {
		digest := sha256.Sum256(message(v.ID, v.Time, v.HookID, v.Event))
		if rsa.VerifyPKCS1v15(&l.key.PublicKey, crypto.SHA256, digest[:], signature) == nil {
			status = "SUCCESS"
		}
	}
	return answer{status: http.StatusOK, body: map[string]string{"verification_status": status}}
}

// createHook registers an address.
func (s *Server) createHook(_ *http.Request, body []byte) answer {
	var h hook
	if json.Unmarshal(body, &h) != nil {
		return fail(http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	address, err := url.Parse(h.URL)
	if err != nil || address.Host == "" || len(h.URL) > 2048 {
		return invalid(detail{Field: "url", Location: "body", Issue: "Not a valid webhook URL"})
	}
	if len(h.EventTypes) == 0 || len(h.EventTypes) > 500 {
		return invalid(detail{Field: "event_types", Location: "body", Issue: "Must have 1 to 500 elements"})
	}
	if slices.ContainsFunc(s.hooks, func(other *hook) bool { return other.URL == h.URL }) {
		return fail(http.StatusBadRequest, "WEBHOOK_URL_ALREADY_EXISTS")
	}
	return answer{status: http.StatusCreated, body: s.register(h.URL, h.EventTypes)}
}

func (s *Server) listHooks(*http.Request, []byte) answer {
	return answer{status: http.StatusOK, body: map[string]any{"webhooks": append([]*hook{}, s.hooks...)}}
}

func (s *Server) showHook(r *http.Request, _ []byte) answer {
	n := s.findHook(r)
	if n < 0 {
		return unknownID()
	}
	return answer{status: http.StatusOK, body: s.hooks[n]}
}

func (s *Server) deleteHook(r *http.Request, _ []byte) answer {
	n := s.findHook(r)
	if n < 0 {
		return unknownID()
	}
	s.hooks = slices.Delete(s.hooks, n, n+1)
	return answer{status: http.StatusNoContent}
}

func (s *Server) findHook(r *http.Request) int {
	return slices.IndexFunc(s.hooks, func(h *hook) bool { return h.ID == r.PathValue("id") })
}
