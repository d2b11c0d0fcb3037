// Package docs holds the documents that the Guide agent answers from.
package docs

import "embed"

// Files are the documents that people who use Troupe read.
//
//go:embed from-claude-code.md
//go:embed agents.md hooks.md mcp.md permissions.md plugins.md recording.md rough-edges.md script-model.md teams.md
//go:embed operating.md server.md settings.md skills.md stream-json.md workflows.md
var Files embed.FS
