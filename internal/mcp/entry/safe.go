package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Names of tools are bound by what the providers' APIs take: 64 letters, digits, _ and -.
const (
	maxToolName   = 64
	maxServerName = 32
	prefix        = "mcp__"
)

// Safe is the name of a server as it stands in the names of its tools; "" if nothing of it is left. It has no two
// underscores beside each other and none at an end: a rule about one server would else cover another's tools.
func Safe(server string) string {
	out := clean(server)
	for strings.Contains(out, "__") {
		out = strings.ReplaceAll(out, "__", "_")
	}
	out = strings.Trim(out, "_")
	if len(out) > maxServerName {
		out = strings.Trim(out[:maxServerName-9], "_") + "-" + short(server)
	}
	if strings.Trim(out, "-") == "" {
		return ""
	}
	return out
}

// Head is how the names of all tools of a server begin.
func Head(server string) string { return prefix + Safe(server) + "__" }

// ToolNames are the names of the tools of a server as models and rules know them, in the order of tools. No two
// are alike, and each stays what it is when others come or go.
func ToolNames(server string, tools []string) []string {
	out := make([]string, len(tools))
	count := map[string]int{}
	for i, t := range tools {
		out[i] = clean(t)
		count[strings.ToLower(out[i])]++
	}
	head := Head(server)
	for i, t := range tools {
		if out[i] != t && count[strings.ToLower(out[i])] > 1 || out[i] == "" || len(head)+len(out[i]) > maxToolName {
			room := maxToolName - len(head) - 9
			out[i] = out[i][:min(len(out[i]), room)] + "-" + short(t)
		}
		out[i] = head + out[i]
	}
	return out
}

// clean keeps the characters that the names of tools may have.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
