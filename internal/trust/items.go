package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/skill"
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
		for _, key := range []string{"model", "fallback_model", "effort"} {
			for _, model := range texts(all[key]) {
				l.add(KindModel, name, key+" "+model)
			}
		}
	}
	if enabled, ok := all["enabledPlugins"].(map[string]any); ok {
		for _, id := range slices.Sorted(maps.Keys(enabled)) {
			if enabled[id] == true {
				l.add(KindPlugin, name, id)
			}
		}
	}
	if all != nil {
		for _, raw := range values(data, "hooks") {
			l.hooks(name, raw)
		}
		for _, raw := range values(data, "statusLine") {
			line, _ := hook.ReadStatus(raw, hook.Origin{Source: name, Scope: "project", Folder: l.fp.Folder})
			l.run(name, line)
		}
	}
	if servers, ok := all["mcpServers"]; ok {
		found, _ := entry.ParseServers([]byte(compact(servers)))
		l.entries(name, found, false)
	}
}

// hooks finds what would run by itself: each hook that the reader makes which they are run from, in its words.
func (l *look) hooks(name string, raw []byte) {
	// What is for no moment that there is runs with a version that has it.
	events := object(raw)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		if !slices.Contains(troupe.HookEvents(), troupe.HookEvent(event)) && events[event] != nil {
			l.add(KindHook, name, fmt.Sprintf("on %s: %s", event, compact(events[event])))
		}
	}
	found, _ := hook.Read(raw, hook.Origin{Source: name, Scope: "project", Folder: l.fp.Folder})
	l.run(name, found)
}

// run adds what hooks would run.
func (l *look) run(name string, found []hook.Hook) {
	for i := range found {
		h := &found[i]
		l.add(KindHook, name, h.Line())
		if h.Kind == hook.Command && h.Broken == "" {
			l.commands = append(l.commands, command{Item{KindHook, name, h.Run}, h.Names(l.fp.Folder)})
		}
	}
}

// values are those of a key in an object, however often it has the key.
func values(data []byte, of string) (out []json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return out
		}
		if key == of && !bytes.Equal(value, []byte("null")) {
			out = append(out, value)
		}
	}
	return out
}

// servers finds the servers that .mcp.json would have started.
func (l *look) servers(name string, data []byte) {
	found, problems := entry.Parse(data)
	l.entries(name, found, false)
	for _, p := range problems { // what cannot be used today may be tomorrow
		if p.Unusable && p.Server != "" {
			l.add(KindServer, name, p.Server+": "+p.Text)
		}
	}
}

func (l *look) entries(name string, found []entry.Entry, inline bool) {
	for _, e := range found {
		if e.Off {
			continue
		}
		if why := e.TooLong(); why != "" {
			l.add(KindServer, name, notRun(e.Name, why, e.Told()))
			continue
		}
		text := e.Name + " " + e.Told()
		switch {
		case e.Type != entry.Stdio:
		case e.Sandbox == troupe.LevelReadOnly:
			text += ", sandbox read-only"
		default: // of what a project asks for no more is given
			text += ", sandbox workspace"
		}
		text += l.beside(e.Name, inline)
		l.add(KindServer, name, text)
		if e.Type == entry.Stdio {
			c := command{Item: Item{KindServer, name, strings.Join(append([]string{e.Command}, e.Args...), " ")}}
			for _, value := range e.Env {
				c.Text += " " + value
			}
			for _, word := range words(c.Text) {
				c.names = append(c.names, path.Join(e.Cwd, word))
			}
			c.names = append(c.names, hook.Scripts(l.fp.Folder, e.Cwd, append([]string{e.Command}, e.Args...))...)
			l.commands = append(l.commands, c)
		}
	}
}

// beside says what becomes of a server of one's own that has the same tools by name. inline: a definition brings the
// other one, for its agent alone.
func (l *look) beside(name string, inline bool) string {
	if l.subject.Servers == nil {
		return ""
	}
	switch own, stays := l.subject.Servers(name); {
	case own == "":
		return ""
	case !stays || inline && own == name:
		return "; it takes the place of your own server " + own
	default:
		return "; it does not run beside your own server " + own + ", whose tools have the same names"
	}
}

// notRun is the line of what does not run.
func notRun(what, why, text string) string {
	return fmt.Sprintf("%s, does not run (%s): %s", cut(what), why, cut(text))
}

// cut is the beginning of a text that does not run.
func cut(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(data)
}

// agent finds definitions that get more than any agent would: another mode, hooks or servers of
// its own, or the place of one that is built in. They are read as they are when agents are made of them.
func (l *look) agent(name string, data []byte) {
	doc, err := front.Parse(data, func(key string) bool { return l.subject.AgentKey(key) != "" })
	if err != nil {
		return // no agent can be made of it
	}
	base := path.Base(name)
	id, tools := strings.TrimSuffix(base, path.Ext(base)), "all"
	var why []string
	for _, f := range doc.Fields {
		switch key := l.subject.AgentKey(f.Key); key {
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
			if key == "hooks" && f.Value.Kind == front.Tree {
				l.hooks(name, f.Value.JSON)
			}
			if key == "mcpservers" && f.Value.Kind == front.Tree {
				l.inline(name, f.Value.JSON)
			}
		case "memory": // it writes there unasked, where agents of other folders read, or other people
			if scope := strings.TrimSpace(f.Value.Text); f.Value.Kind != front.Nothing &&
				!strings.EqualFold(scope, string(troupe.MemoryLocal)) {
				why = append(why, "memory: "+scope)
			}
		case "tools":
			tools = strings.Join(f.Value.Words(), ", ")
		}
	}
	if known := l.subject.Agents; known != nil && slices.ContainsFunc(known(),
		func(known string) bool { return strings.EqualFold(known, id) }) {
		why = append(why, "takes the place of an agent that is built in or yours, tools: "+tools)
	}
	if len(why) > 0 {
		l.add(KindAgent, name, id+": "+strings.Join(why, "; "))
	}
}

// inline finds the servers that a definition brings itself.
func (l *look) inline(name string, data []byte) {
	refs, _ := entry.Refs(data)
	for _, r := range refs {
		if r.Inline != nil {
			l.entries(name, []entry.Entry{*r.Inline}, true)
		}
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

// skill finds skills and commands that run something when a person uses them, or take the place of one of the
// user's. What they say of tools only takes away.
func (l *look) skill(name string, data []byte) {
	if l.subject.Skills != nil {
		if names := l.skillNames(name, data); slices.ContainsFunc(names, l.subject.Skills) {
			l.add(KindSkill, name, names[len(names)-1]+" takes the place of one of yours")
		}
	}
	doc, err := front.Parse(data, skill.KeyInUse)
	if err != nil {
		return // no skill can be made of it
	}
	l.skillFields(name, doc)
	commands, why := skill.Commands(doc.Body)
	if why != "" {
		l.add(KindSkill, name, notRun(fmt.Sprintf("%d commands", len(commands)), why, strings.Join(commands, "; ")))
		return
	}
	here := "${PWD}/" + path.Dir(name)
	for _, text := range commands {
		l.add(KindSkill, name, "runs "+text)
		l.commands = append(l.commands, command{Item: Item{KindSkill, name, strings.NewReplacer("${CLAUDE_SKILL_DIR}",
			here, "${TROUPE_SKILL_DIR}", here).Replace(text)}})
	}
}

// skillFields finds what a skill asks for besides its text: another model or effort for the session that follows it,
// and hooks, which run in the session that has used it.
func (l *look) skillFields(name string, doc front.Document) {
	for _, f := range doc.Fields {
		text := strings.TrimSpace(f.Value.Text)
		switch key := plainKey(f.Key); {
		case f.Value.Kind == front.Nothing:
		case key == "hooks":
			l.add(KindSkill, name, "has hooks")
			if f.Value.Kind == front.Tree {
				l.hooks(name, f.Value.JSON)
			}
		case (key == "model" || key == "effort") && !strings.EqualFold(text, "inherit"):
			l.add(KindSkill, name, "wants the "+key+" "+text)
		}
	}
}

// skillNames are the names that a file may have as a skill or command, read as it is when one is made of it.
func (l *look) skillNames(name string, data []byte) []string {
	out := []string{path.Base(path.Dir(name))}
	if _, below, ok := strings.Cut(name, "/commands/"); ok {
		out = []string{strings.ReplaceAll(strings.TrimSuffix(below, path.Ext(below)), "/", ":")}
	}
	doc, err := front.Parse(data, skill.KeyInUse)
	if err != nil {
		return out
	}
	for _, f := range doc.Fields {
		if plainKey(f.Key) == "name" {
			out = append(out, strings.TrimSpace(f.Value.Text))
		}
	}
	return out
}
