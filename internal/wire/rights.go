package wire

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Demand is what something takes beyond the right that the verb needs: a right, and what of it takes that, in words
// that go on with "needs the right". The zero one is no more than the verb needs.
type Demand struct {
	Right troupe.Right
	What  string
}

func admins(what string) Demand { return Demand{troupe.RightAdmin, what} }

// Needs is what it takes to begin a run so.
func (b Begin) Needs() Demand {
	switch {
	case b.Agents != "":
		return admins("--agents, which may bring hooks and MCP servers that no sandbox confines,")
	case NamesFile(b.Model):
		return fileAsModel("--model", b.Model)
	case NamesFile(b.Fallback):
		return fileAsModel("--fallback-model", b.Fallback)
	}
	return b.Permissions.Needs()
}

// fileAsModel is what a model takes that is a file.
func fileAsModel(flag, name string) Demand {
	return admins(flag + " " + troupe.VisibleLine(Cut(name)) + ", which has the server read a file of its machine,")
}

// Needs is what it takes to give agents so much.
func (p Permissions) Needs() Demand {
	i := slices.IndexFunc(p.Allow, opens)
	switch {
	case p.Trust:
		return admins("to trust a folder")
	case p.Mode == troupe.ModeBypass:
		return admins("the mode " + string(p.Mode))
	case i >= 0:
		return admins("the rule " + troupe.VisibleLine(Cut(p.Allow[i])) +
			", which may allow more than work in the folder,")
	}
	return Demand{}
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

// Needs is what it takes to ask about a run at a place: what would be allowed there may be asked by those who may look.
func (p Place) Needs() Demand { return ModelChoice{Model: p.Model}.Needs() }

// Needs is what it takes to choose a mode.
func (m ModeChoice) Needs() Demand { return Permissions{Mode: troupe.Mode(m.Mode)}.Needs() }

// Needs is what it takes to choose a model.
func (m ModelChoice) Needs() Demand {
	if NamesFile(m.Model) {
		return fileAsModel("--model", m.Model)
	}
	return Demand{}
}

// Needs is what it takes to answer so: what is written down holds for all who come after.
func (a Answer) Needs() Demand {
	if a.Always {
		return admins("the answer \"always\", which is kept for later sessions,")
	}
	return Permissions{Mode: a.Mode}.Needs()
}

// NamesFile reports whether a model is a file of the machine that answers.
func NamesFile(model string) bool {
	model = strings.TrimPrefix(strings.TrimSpace(model), "workflow/")
	return strings.HasPrefix(model, "script:") || strings.HasPrefix(model, "script/")
}
