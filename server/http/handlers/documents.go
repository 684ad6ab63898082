package handlers

import (
	"context"
	"net/http"
	"sync"

	"rail/gen/api"
	"rail/openapi"
	"rail/server/http/docs/llms"
	"rail/server/http/docs/static"
	"rail/server/opt"
)

// The documents are made once, at the first request.
var (
	openAPIDocument  = newDocument("application/json", func([]byte) (string, error) { return string(openapi.Bundle), nil })
	llmsDocument     = newDocument("text/plain; charset=utf-8", llms.Short)
	llmsFullDocument = newDocument("text/plain; charset=utf-8", llms.Full)
)

// llmsParts holds the parts of the reference, by tag.
var llmsParts = sync.OnceValues(func() (map[string]*static.Text, error) {
	parts, err := llms.Parts(openapi.Bundle)
	out := map[string]*static.Text{}
	for tag, text := range parts {
		out[tag] = newDocument("text/plain; charset=utf-8", func([]byte) (string, error) { return text, nil })
	}
	return out, err
})

// newDocument returns a document that write makes from the bundle. Clients may cache it for five
// minutes: it changes only with the binary.
func newDocument(kind string, write func(bundle []byte) (string, error)) *static.Text {
	return static.New(kind, "public, max-age=300", func() ([]byte, error) {
		text, err := write(openapi.Bundle)
		return []byte(text), err
	})
}

// delivery is the answer to a request for a document. The generated answers would encode it again
// and have neither ETag nor 304.
type delivery struct {
	*static.Text
	accept, ifNoneMatch string
}

// deliver returns the answer with a document, in an encoding that the client
// accepts.
func deliver(ctx context.Context, text *static.Text, ifNoneMatch *string) delivery {
	return delivery{text, static.Accepted(ctx), opt.Value(ifNoneMatch)}
}

func (d delivery) write(w http.ResponseWriter) error { return d.Serve(w, d.accept, d.ifNoneMatch) }

// VisitRetrieveOpenAPIDocumentResponse writes the answer.
func (d delivery) VisitRetrieveOpenAPIDocumentResponse(w http.ResponseWriter) error {
	return d.write(w)
}

// VisitRetrieveLLMsTextResponse writes the answer.
func (d delivery) VisitRetrieveLLMsTextResponse(w http.ResponseWriter) error { return d.write(w) }

// VisitRetrieveLLMsFullTextResponse writes the answer.
func (d delivery) VisitRetrieveLLMsFullTextResponse(w http.ResponseWriter) error { return d.write(w) }

// RetrieveOpenAPIDocument returns the bundled description.
func (s *Server) RetrieveOpenAPIDocument(ctx context.Context,
	r api.RetrieveOpenAPIDocumentRequestObject) (api.RetrieveOpenAPIDocumentResponseObject, error) {
	return deliver(ctx, openAPIDocument, r.Params.IfNoneMatch), nil
}

// RetrieveLLMsText returns the overview in plain text.
func (s *Server) RetrieveLLMsText(ctx context.Context,
	r api.RetrieveLLMsTextRequestObject) (api.RetrieveLLMsTextResponseObject, error) {
	return deliver(ctx, llmsDocument, r.Params.IfNoneMatch), nil
}

// RetrieveLLMsFullText returns the whole reference in plain text, or the part
// of a tag.
func (s *Server) RetrieveLLMsFullText(ctx context.Context,
	r api.RetrieveLLMsFullTextRequestObject) (api.RetrieveLLMsFullTextResponseObject, error) {
	if r.Params.Tag == nil {
		return deliver(ctx, llmsFullDocument, r.Params.IfNoneMatch), nil
	}
	parts, err := llmsParts()
	if err != nil {
		return nil, err
	}
	return deliver(ctx, parts[string(*r.Params.Tag)], r.Params.IfNoneMatch), nil
}
