package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// object reads JSON that is one object. What cannot be read has no items: it does not count
// elsewhere either.
func object(data []byte) map[string]any {
	var out map[string]any
	if json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &out) != nil {
		return nil
	}
	return out
}

// texts are a text, or the texts of a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			out = append(out, texts(item)...)
		}
		return out
	default:
		return nil
	}
}

// settings finds what a file of settings would allow. What it forbids needs no trust.
func (l *look) settings(name string, data []byte) {
	all := object(data)
	permissions, _ := all["permissions"].(map[string]any)
	for _, rule := range texts(permissions["allow"]) {
		l.add(KindRule, name, rule)
	}
	for _, dir := range texts(permissions["additionalDirectories"]) {
		l.add(KindDirectory, name, dir)
	}
	// A project cannot choose the mode that never asks, so that one takes no effect; the closer
	// ones count without trust too, but only as far as they are closer than the user's own.
	for _, mode := range texts(permissions["defaultMode"]) {
		if mode != "bypassPermissions" && mode != "plan" {
			l.add(KindMode, name, mode)
		}
	}
	if strings.HasPrefix(name, ".troupe/") {
		for _, key := range []string{"model", "fallback_model"} {
			for _, model := range texts(all[key]) {
				l.add(KindModel, name, key+" "+model)
			}
		}
	}
	l.hooks(name, all["hooks"])
}

// hooks finds what would run by itself.
func (l *look) hooks(name string, v any) {
	events, _ := v.(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		found := len(l.commands)
		l.hook(name, event, "", events[event], 0)
		if len(l.commands) == found && events[event] != nil {
			l.add(KindHook, name, fmt.Sprintf("on %s: %s", event, compact(events[event])))
		}
	}
}

func (l *look) hook(name, event, matcher string, v any, depth int) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if depth < 8 {
				l.hook(name, event, matcher, item, depth+1)
			}
		}
	case map[string]any:
		if m, ok := v["matcher"].(string); ok && m != "" {
			matcher = " (" + m + ")"
		}
		for _, key := range []string{"command", "url", "prompt"} {
			if text, ok := v[key].(string); ok {
				l.run(KindHook, name, fmt.Sprintf("on %s%s: %s", event, matcher, text), text)
			}
		}
		if depth < 8 {
			l.hook(name, event, matcher, v["hooks"], depth+1)
		}
	}
}

// run adds an item that runs a command.
func (l *look) run(kind Kind, name, text, command string) {
	l.add(kind, name, text)
	l.commands = append(l.commands, Item{kind, name, command})
}

// servers finds the servers that .mcp.json would have started.
func (l *look) servers(name string, data []byte) {
	all := object(data)
	servers, _ := all["mcpServers"].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		server, _ := servers[id].(map[string]any)
		command, _ := server["command"].(string)
		line := strings.TrimSpace(command + " " + strings.Join(texts(server["args"]), " "))
		url, _ := server["url"].(string)
		switch {
		case line != "":
			if env, ok := server["env"].(map[string]any); ok && len(env) > 0 {
				line += " (with " + strings.Join(slices.Sorted(maps.Keys(env)), ", ") + ")"
			}
			l.run(KindServer, name, id+" runs "+line, line)
		case url != "":
			l.add(KindServer, name, id+" connects to "+url)
		default:
			l.add(KindServer, name, id+": "+compact(servers[id]))
		}
	}
}

func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(data)
}

// head is the front matter of a Markdown file.
func head(data []byte) string {
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\xef\xbb\xbf"), "\r\n", "\n")
	text = strings.TrimLeft(text, " \t\n")
	text, ok := strings.CutPrefix(text, "---")
	if !ok {
		return ""
	}
	if end := strings.Index(text, "\n---"); end >= 0 {
		return text[:end]
	}
	return text
}

// agent finds definitions that get more than any agent would: another mode, hooks or servers of
// its own, or the place of one that is built in. They are read as they are when agents are made of them.
func (l *look) agent(name string, data []byte) {
	doc, err := front.Parse(data, l.subject.AgentKey)
	if err != nil {
		return // no agent can be made of it
	}
	base := path.Base(name)
	id, tools := strings.TrimSuffix(base, path.Ext(base)), "all"
	var why []string
	for _, f := range doc.Fields {
		switch key := plainKey(f.Key); key {
		case "name":
			if text := strings.TrimSpace(f.Value.Text); text != "" {
				id = text
			}
		case "permissionmode":
			if !bindsOnly(strings.TrimSpace(f.Value.Text)) && f.Value.Kind != front.Nothing {
				why = append(why, "permissionMode: "+f.Value.Text)
			}
		case "hooks", "mcpservers":
			if f.Value.Kind != front.Nothing {
				why = append(why, f.Key)
			}
		case "tools", "allowedtools":
			tools = strings.Join(f.Value.Words(), ", ")
		}
	}
	if slices.ContainsFunc(l.subject.Agents, func(known string) bool { return strings.EqualFold(known, id) }) {
		why = append(why, "takes the place of an agent that is built in or yours, tools: "+tools)
	}
	if len(why) > 0 {
		l.add(KindAgent, name, id+": "+strings.Join(why, "; "))
	}
}

// bindsOnly: in this mode an agent may do no more than in any that it is started from.
func bindsOnly(mode string) bool {
	return slices.ContainsFunc([]troupe.Mode{troupe.ModePlan, troupe.ModeDefault, troupe.ModeDontAsk, "inherit", ""},
		func(m troupe.Mode) bool { return strings.EqualFold(string(m), mode) })
}

// plainKey is a key in the one spelling of the several that count.
func plainKey(key string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key))
}

// value is what stands after a key at the beginning of a line.
func value(text, key string) (string, bool) {
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(line, ":")
		if ok && plainKey(strings.Trim(k, `"' `)) == plainKey(key) && !strings.HasPrefix(line, " ") {
			return strings.Trim(strings.TrimSpace(v), `"'`), true
		}
	}
	return "", false
}

// skill finds skills and commands that run something when they are read, or bring permissions.
func (l *look) skill(name string, data []byte) {
	text := string(data)
	if tools, ok := value(head(data), "allowed-tools"); ok {
		if tools == "" {
			tools = "a list"
		}
		l.add(KindSkill, name, "may use without asking: "+tools)
	} else if strings.Contains(strings.ToLower(head(data)), "allowed-tools") ||
		strings.Contains(strings.ToLower(head(data)), "hooks") {
		l.add(KindSkill, name, "brings permissions or hooks")
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "!`")
		if !ok {
			break
		}
		command, tail, _ := strings.Cut(after, "`")
		l.run(KindSkill, name, "runs "+command, command)
		rest = tail
	}
	if _, after, ok := strings.Cut(text, "```!"); ok {
		block, _, _ := strings.Cut(after, "```")
		l.run(KindSkill, name, "runs "+strings.TrimSpace(block), block)
	}
}

// maxText is more than anybody reads; what comes after it is counted, and in the hash.
const maxText = 4000

// visible makes one line of a stranger's text: what would not be seen is written out, so that
// nothing can hide behind it, and a long run of blanks is told by its length.
func visible(s string) string {
	var b strings.Builder
	blanks, n := 0, 0
	flush := func() {
		if blanks > 8 {
			fmt.Fprintf(&b, " ‹%d blanks› ", blanks)
		} else {
			b.WriteString(strings.Repeat(" ", blanks))
		}
		blanks = 0
	}
	for i, r := range s {
		if r == ' ' {
			blanks++
			continue
		}
		flush()
		if n++; n > maxText {
			fmt.Fprintf(&b, "‹and %d more›", utf8.RuneCountInString(s[i:]))
			return b.String()
		}
		if troupe.Unseen(r) || r == utf8.RuneError {
			fmt.Fprintf(&b, "‹U+%04X›", r)
		} else {
			b.WriteRune(r)
		}
	}
	flush()
	return b.String()
}
