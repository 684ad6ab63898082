// Package rail has the repository's pages that rail docs export writes.
package rail

import "embed"

// Pages are Markdown files with their pictures, by their paths in the repository.
//
//go:embed README.md CHANGELOG.md SECURITY.md SUPPORT.md
//go:embed cmd/rail/install.md cmd/rail/going-live.md cmd/rail/troubleshooting.md cmd/rail/upgrade.md
//go:embed cmd/rail/README.md cmd/rail/ops/README.md cmd/ha/README.md
//go:embed cmd/example/README.md cmd/example/bridge/README.md
//go:embed server/outbound/webhook/README.md server/http/README.md server/http/docs/script/README.md
//go:embed server/http/console/README.md server/http/console/console.png server/http/console/setup.png
//go:embed server/http/portal/README.md server/http/portal/portal.png
//go:embed server/money/README.md server/money/way.svg server/harness/ceiling.md
var Pages embed.FS
