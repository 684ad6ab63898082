package mcp

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rail/openapi"
	"rail/server/http/docs/guides"
	"rail/server/http/docs/llms"
)

const (
	markdown = "text/markdown"
	llmsURI  = "rail://llms.txt"
)

// shortText is llms.txt. It is written for the first client that reads it.
var shortText = sync.OnceValues(func() (string, error) { return llms.Short(openapi.Bundle) })

// addResources adds the guides and llms.txt. They are texts of the server, which no partner writes.
func addResources(server *sdk.Server) {
	for _, g := range guides.All() {
		add(server, &sdk.Resource{
			Name: g.Name, Title: g.Title, Description: g.About, URI: guides.URI(g.Name), MIMEType: markdown,
			Size: int64(len(g.Text)),
		}, func() (string, error) { return string(g.Text), nil })
	}
	add(server, &sdk.Resource{
		Name: "llms.txt", Title: "The API in short", Description: "Every operation in a line.", URI: llmsURI,
		MIMEType: markdown,
	}, shortText)
}

// add adds a resource with a text.
func add(server *sdk.Server, r *sdk.Resource, text func() (string, error)) {
	server.AddResource(r, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		content, err := text()
		if err != nil {
			return nil, err
		}
		return &sdk.ReadResourceResult{
			Contents: []*sdk.ResourceContents{{URI: r.URI, MIMEType: r.MIMEType, Text: content}},
		}, nil
	})
}
