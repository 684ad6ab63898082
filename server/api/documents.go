package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"rail/gen/api"
	"rail/openapi"
	"rail/server/llms"
)

// document is a text that stays the same while the server runs.
type document struct {
	kind, etag string
	body       []byte
}

func newDocument(kind string, body []byte) document {
	sum := sha256.Sum256(body)
	return document{kind: kind, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
}

// The documents are made once, when the first of them is asked for.
var (
	openAPIDocument = sync.OnceValues(func() (document, error) {
		return newDocument("application/json", openapi.Bundle), nil
	})
	llmsDocument     = sync.OnceValues(func() (document, error) { return textDocument(llms.Short) })
	llmsFullDocument = sync.OnceValues(func() (document, error) { return textDocument(llms.Full) })
)

func textDocument(write func([]byte) (string, error)) (document, error) {
	text, err := write(openapi.Bundle)
	return newDocument("text/plain; charset=utf-8", []byte(text)), err
}

// delivery is the answer to a request for a document. The generated answers
// would encode the document anew and know neither ETag nor 304.
type delivery struct {
	document
	current bool // the client's copy is
}

func deliver(make func() (document, error), ifNoneMatch *string) (delivery, error) {
	d, err := make()
	return delivery{d, matches(deref(ifNoneMatch), d.etag)}, err
}

// matches tells whether an If-None-Match header names the ETag. The comparison
// is weak, as RFC 9110 asks for here.
func matches(header, etag string) bool {
	for _, tag := range strings.Split(header, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

func (d delivery) write(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("ETag", d.etag)
	h.Set("Cache-Control", "public, max-age=300")
	if d.current {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", d.kind)
	h.Set("Content-Length", strconv.Itoa(len(d.body)))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(d.body)
	return err
}

// VisitRetrieveOpenAPIDocumentResponse writes the answer.
func (d delivery) VisitRetrieveOpenAPIDocumentResponse(w http.ResponseWriter) error {
	return d.write(w)
}

// VisitRetrieveLLMsTextResponse writes the answer.
func (d delivery) VisitRetrieveLLMsTextResponse(w http.ResponseWriter) error { return d.write(w) }

// VisitRetrieveLLMsFullTextResponse writes the answer.
func (d delivery) VisitRetrieveLLMsFullTextResponse(w http.ResponseWriter) error { return d.write(w) }

// RetrieveOpenAPIDocument returns the description as it was bundled.
func (s *Server) RetrieveOpenAPIDocument(_ context.Context, r api.RetrieveOpenAPIDocumentRequestObject) (api.RetrieveOpenAPIDocumentResponseObject, error) {
	return deliver(openAPIDocument, r.Params.IfNoneMatch)
}

// RetrieveLLMsText returns the overview in plain text.
func (s *Server) RetrieveLLMsText(_ context.Context, r api.RetrieveLLMsTextRequestObject) (api.RetrieveLLMsTextResponseObject, error) {
	return deliver(llmsDocument, r.Params.IfNoneMatch)
}

// RetrieveLLMsFullText returns the whole reference in plain text.
func (s *Server) RetrieveLLMsFullText(_ context.Context, r api.RetrieveLLMsFullTextRequestObject) (api.RetrieveLLMsFullTextResponseObject, error) {
	return deliver(llmsFullDocument, r.Params.IfNoneMatch)
}
