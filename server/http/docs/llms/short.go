package llms

import (
	"fmt"
	"strings"

	"rail/server/http/docs/description"
	"rail/server/http/docs/guides"
)

// changelog lists the changes that affect clients, newest first. It announces
// deprecations twelve months ahead (decisions, 16).
const changelog = `## Changelog

- 2026-08-21: first version.
`

// Short returns the overview: the service, its conventions, one line for each operation,
// and the changelog.
func Short(bundle []byte) (string, error) {
	d, err := description.Parse(bundle)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	head(&b, d)
	b.WriteString("The whole reference in plain text, with examples, is at /llms-full.txt " +
		"(a part at /llms-full.txt?tag=Sales), the OpenAPI document at /v1/openapi.json, " +
		"a page to read and try at /docs.\n\n## Guides\n\n")
	for _, g := range guides.All() {
		fmt.Fprintf(&b, "- [%s](/docs/guides/%s.md): %s\n", g.Title, g.Name, g.About)
	}
	b.WriteByte('\n')
	for _, tag := range d.Tags {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", tag.Name, tag.Description)
		d.Each(tag.Name, func(method, path string, op description.Operation) {
			fmt.Fprintf(&b, "- %s %s: %s%s\n", method, path, op.Summary, op.Notes())
		})
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "## Events\n\nSent as signed webhooks: %s.\n\n", strings.Join(d.Webhooks.Names, ", "))
	b.WriteString(changelog)
	return b.String(), nil
}

// head writes the beginning of both texts.
func head(b *strings.Builder, d *description.Document) {
	fmt.Fprintf(b, "# %s\n\n> %s\n\nVersion %s.\n\n## Conventions\n\n%s\n\n", d.Info.Title, d.Info.Summary, d.Info.Version,
		strings.TrimSpace(d.Info.Description))
}
