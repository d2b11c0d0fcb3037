package wire

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// What some verbs are asked to do takes more than the right that the verb needs. An empty right is no more than that.

// Needs is the right to begin a run so.
func (b Begin) Needs() troupe.Right {
	if b.Agents != "" || NamesFile(b.Model) || NamesFile(b.Fallback) {
		return troupe.RightAdmin // definitions may bring hooks and MCP servers, which no sandbox confines
	}
	return b.Permissions.Needs()
}

// Needs is the right to give agents so much.
func (p Permissions) Needs() troupe.Right {
	if p.Trust || p.Mode == troupe.ModeBypass || slices.ContainsFunc(p.Allow, opens) {
		return troupe.RightAdmin
	}
	return ""
}

// opens reports whether a rule may allow more than work in the folder of a run: it names files by an absolute path, or
// such as begin with a dot, which may be files that hold for later sessions. Commands are confined whatever rules say.
func opens(rule string) bool {
	tool, files, narrow := strings.Cut(rule, "(")
	switch tool = strings.TrimSpace(tool); {
	case !narrow, tool == "Bash", tool == "WebFetch", tool == "WebSearch", tool == "Agent", tool == "Skill",
		tool == "SendMessage", strings.HasPrefix(tool, "mcp__"):
		return false
	}
	files = strings.TrimPrefix(strings.TrimSpace(files), "./")
	return strings.HasPrefix(files, "/") || strings.HasPrefix(files, "~") || strings.HasPrefix(files, ".") ||
		strings.Contains(files, "/.")
}

// Needs is the right to ask about a run at a place: what would be allowed there may be asked by those who may look.
func (p Place) Needs() troupe.Right {
	if NamesFile(p.Model) {
		return troupe.RightAdmin
	}
	return ""
}

// Needs is the right to choose a mode.
func (m ModeChoice) Needs() troupe.Right { return Permissions{Mode: troupe.Mode(m.Mode)}.Needs() }

// Needs is the right to choose a model.
func (m ModelChoice) Needs() troupe.Right {
	if NamesFile(m.Model) {
		return troupe.RightAdmin
	}
	return ""
}

// Needs is the right to answer so: what is written down holds for all who come after.
func (a Answer) Needs() troupe.Right {
	if a.Always {
		return troupe.RightAdmin
	}
	return Permissions{Mode: a.Mode}.Needs()
}

// NamesFile reports whether a model is a file of the machine that answers.
func NamesFile(model string) bool {
	model = strings.TrimPrefix(strings.TrimSpace(model), "workflow/")
	return strings.HasPrefix(model, "script:") || strings.HasPrefix(model, "script/")
}
