package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rail/openapi"
	"rail/server/http/docs/guides"
	"rail/server/http/docs/llms"
)

const (
	markdown = "text/markdown"
	llmsURI  = "rail://llms.txt"
)

// addResources adds the guides and llms.txt. They are texts of the server, which no partner writes.
func (s *Server) addResources(server *sdk.Server) error {
	for _, g := range guides.All() {
		add(server, &sdk.Resource{
			Name: g.Name, Title: g.Title, Description: g.About, URI: guides.URI(g.Name), MIMEType: markdown,
		}, string(g.Text))
	}
	short, err := llms.Short(openapi.Bundle)
	if err != nil {
		return err
	}
	add(server, &sdk.Resource{
		Name: "llms.txt", Title: "The API in short", Description: "Every operation in a line.", URI: llmsURI,
		MIMEType: markdown,
	}, short)
	return nil
}

// add adds a resource with a text.
func add(server *sdk.Server, r *sdk.Resource, content string) {
	r.Size = int64(len(content))
	server.AddResource(r, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{
			Contents: []*sdk.ResourceContents{{URI: r.URI, MIMEType: r.MIMEType, Text: content}},
		}, nil
	})
}
