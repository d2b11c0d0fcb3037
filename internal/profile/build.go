package profile

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// builder makes a definition of fields.
type builder struct {
	*loader
	at        origin
	def       *Definition
	seen      map[string]front.Field // by key, the last one
	nameLine  int
	noTools   bool // a line about tools could not be read
	styleLine int
	mergeLine int // where it says that their work is merged; 0: nowhere
	loose     []front.Field
	unused    []string
	firstLine int // of the unused
}

// field reads one key. Of one that stands twice the last counts for what is shown, and the stricter for what
// the agent may do.
func (b *builder) field(f front.Field) {
	key := canonicalKey(f.Key)
	if f.Key == "<<" || f.Key == "?" {
		b.noTools = true
		b.problem(b.at.problem(f.Line, "a reference, or a key that is not a word, may bring any field, so these "+
			"agents get no "+
			"tools; write the fields out"))
		return
	}
	before, twice := b.seen[key]
	if twice {
		b.problem(b.at.problem(f.Line, "%s stands in line %d already; %s", f.Key, before.Line, twiceCounts(key)))
	}
	b.seen[key] = f
	if (b.plugin != "" || b.scope == ScopeStored) && b.notForPlugins(f, key) {
		return
	}
	switch key {
	case keyName:
		b.nameLine = f.Line
		if name := b.text(f); name != "" {
			b.def.Name = name
		} else {
			b.problem(b.at.problem(f.Line, "the name is empty, so it is %q", b.at.name))
		}
	case keyDescription:
		b.def.Description = b.text(f)
	case keyWhen:
		b.def.WhenToUse = b.text(f)
	case keyModel:
		b.def.Model = b.text(f)
	case keyEffort:
		b.effort(f)
	case keyTools:
		b.toolsLine(f, twice)
	case keyWithout:
		list := readWithout(f.Value, b.tools)
		b.def.Without = sorted(slices.Concat(b.def.Without, list.names, list.missing))
		b.toolProblems(f, list)
		b.noTools = b.noTools || list.all
	case keyPrompt:
		if b.at.path == FlagName {
			b.def.Prompt = b.text(f)
			return
		}
		b.notUsed(f)
	case keyMode:
		b.mode(f, twice)
	case keySandbox:
		b.sandbox(f, twice)
	case keyTurns:
		b.def.MaxTurns = int(b.bound(f, int64(b.def.MaxTurns), "model replies"))
	case keyTokens:
		b.def.MaxTokens = b.bound(f, b.def.MaxTokens, "tokens")
	case keyInitial:
		b.def.InitialPrompt = b.text(f)
	case keyBackground:
		b.truth(f, &b.def.Background)
	case keyOmit:
		b.truth(f, &b.def.OmitInstructions)
	case keyHooks:
		b.hooks(f, twice)
	case keySkills:
		b.def.Skills = f.Value.Words()
	case keyColor:
		b.color(f)
	case keyServers:
		b.servers(f, twice)
	case keyMemory:
		b.memory(f, twice)
	case keyIsolation, keyFiles:
		b.place(f, key)
	case keyMerge:
		b.merge(f)
	case keySchema:
		b.outputSchema(f)
	case keyVocabulary:
		b.vocabulary(f)
	case keyStyle:
		b.def.Style = b.text(f)
		b.styleLine = f.Line
	case keyNeeds:
		b.def.Servers.Needs = append(b.def.Servers.Needs, f.Value.Words()...)
	default:
		if slices.Contains(keys(), key) {
			b.notUsed(f)
		} else {
			b.unknown(f, key)
		}
	}
}

// place reads where agents of this type work. A word that cannot be read is a wish to be kept apart: they only read
// then.
func (b *builder) place(f front.Field, key string) {
	parse := troupe.ParseIsolation
	if key == keyFiles {
		parse = troupe.ParseFilesystem
	}
	kind, err := parse(b.text(f))
	switch {
	case err != nil:
		kind = troupe.WorkspaceReadOnly
		b.problem(b.at.problem(f.Line, "%s %v; until that is clear, these agents change nothing in the folder", f.Key,
			err))
	case kind == "":
		return
	case b.def.Workspace != "" && b.def.Workspace != kind && b.def.Workspace != troupe.WorkspaceIsolated:
		b.problem(b.at.problem(f.Line, "%s says %s, and a line before it %s; the first counts", f.Key, kind,
			b.def.Workspace))
		return
	}
	b.def.Workspace = kind
}

// vocabulary reads in which words they deal with agents of their own. Of one that is not known they have none.
func (b *builder) vocabulary(f front.Field) {
	switch v := troupe.Vocabulary(strings.ToLower(b.text(f))); v {
	case "", troupe.VocabularyAgents, troupe.VocabularySubagents:
		b.def.Vocabulary = v
	default:
		b.def.Vocabulary = v
		b.problem(b.at.problem(f.Line, "there is no vocabulary %q, so these agents start no others; there are %s and "+
			"%s", v, troupe.VocabularyAgents, troupe.VocabularySubagents))
	}
}

// merge reads what becomes of their work in a folder of their own. A word that cannot be read merges nothing.
func (b *builder) merge(f front.Field) {
	m, err := troupe.ParseMerge(b.text(f))
	if err != nil {
		m = troupe.MergeKeep
		b.problem(b.at.problem(f.Line, "%s %v; until that is clear, the work of these agents is kept and not merged",
			f.Key, err))
	}
	if b.def.Merge = m; m == "" || m == troupe.MergeKeep {
		return
	}
	b.mergeLine = f.Line
}

// unknown says that a key means nothing here. One that is nearly that of a restriction was meant to be one.
func (b *builder) unknown(f front.Field, key string) {
	if below := restriction(f.Value); below != "" {
		b.noTools = true
		b.problem(b.at.problem(f.Line, "%s means nothing here, and %s below it may be meant for these agents, so they "+
			"get no tools; write the fields of an agent at the top", f.Key, below))
		return
	}
	switch near := troupe.Nearest(key, keys()); near {
	case keyTools, keyWithout:
		b.noTools = true
		b.problem(b.at.problem(f.Line, "%s is no field of an agent; did you mean %s? Until that is clear, these "+
			"agents get "+
			"no tools", f.Key, near))
	case keyMode, keySandbox:
		b.def.Sandbox = troupe.LevelReadOnly
		b.def.Mode = troupe.ModePlan
		b.problem(b.at.problem(f.Line, "%s is no field of an agent; did you mean %s? Until that is clear, these "+
			"agents "+
			"only read", f.Key, near))
	case "":
		p := b.at.problem(f.Line, "%s means nothing here", f.Key)
		p.Note = true
		b.problem(p)
	default:
		b.problem(b.at.problem(f.Line, "%s means nothing here; did you mean %s?", f.Key, near))
	}
}

// restriction is a field below a value that would take something from an agent at the top; "" if there is none.
func restriction(v front.Value) string {
	if v.Kind != front.Tree {
		return ""
	}
	var tree any
	if json.Unmarshal(v.JSON, &tree) != nil {
		return ""
	}
	var find func(any) string
	find = func(at any) string {
		switch at := at.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(at)) {
				switch canonicalKey(key) {
				case keyTools, keyWithout, keyMode, keySandbox:
					return key
				}
				if below := find(at[key]); below != "" {
					return below
				}
			}
		case []any:
			for _, v := range at {
				if below := find(v); below != "" {
					return below
				}
			}
		}
		return ""
	}
	return find(tree)
}

// twiceCounts says which of two lines holds.
func twiceCounts(key string) string {
	switch key {
	case keyTools:
		return "only tools that stand in both count"
	case keyWithout:
		return "both count"
	case keyMode, keySandbox, keyTurns, keyTokens:
		return "the stricter counts"
	default:
		return "this one counts"
	}
}

// toolsLine reads which tools agents of this type get.
func (b *builder) toolsLine(f front.Field, twice bool) {
	list := readTools(f.Value, b.tools)
	b.toolProblems(f, list)
	d := b.def
	switch {
	case list.starts == nil:
	case d.Starts == nil:
		d.Starts = list.starts
	default:
		d.Starts = slices.DeleteFunc(d.Starts, func(name string) bool {
			return !slices.ContainsFunc(list.starts, func(s string) bool { return strings.EqualFold(s, name) })
		})
	}
	if !twice {
		d.All, d.Tools, d.Missing = list.all, list.names, list.missing
		return
	}
	both := slices.DeleteFunc(list.names, func(name string) bool { return !d.All && !slices.Contains(d.Tools, name) })
	if list.all {
		both = d.Tools
	}
	d.All, d.Tools = d.All && list.all, both
}

// bound reads a limit; of two the lower holds.
func (b *builder) bound(f front.Field, before int64, what string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(f.Value.Text), "_", ""), 10, 64)
	switch {
	case err != nil || n <= 0:
		b.problem(b.at.problem(f.Line, "%s must be a number of %s from 1; it is left out", f.Key, what))
		return before
	case before > 0:
		return min(before, n)
	default:
		return n
	}
}

// hooks keeps what is written. Guards that cannot be read are not taken for none.
func (b *builder) hooks(f front.Field, twice bool) {
	switch {
	case f.Value.Kind == front.Nothing && !twice:
	case f.Value.Kind == front.Tree && !twice:
		b.def.Hooks = f.Value.JSON
	default:
		b.def.Hooks = json.RawMessage(`"unreadable"`)
		b.problem(b.at.problem(f.Line, "the hooks cannot be read, so each call of these agents is refused; they are "+
			"written as in settings, a moment with its hooks below it"))
	}
}

// effort reads how much work the model puts into a reply. Of one that is not known the parent's holds.
func (b *builder) effort(f front.Field) {
	b.def.Effort = ""
	name := b.text(f)
	if name == "" || strings.EqualFold(name, "inherit") || strings.EqualFold(name, "auto") {
		return
	}
	var err error
	if b.def.Effort, err = troupe.ParseEffort(name); err != nil {
		b.problem(b.at.problem(f.Line, "there is no effort %q, so these agents have their parent's; there are %s", name,
			troupe.EffortNames()))
	}
}

// color reads what agents of this type are shown in. It changes nothing that they do, so that only a check tells of one
// that is not known.
func (b *builder) color(f front.Field) {
	b.def.Color = ""
	switch name := strings.ToLower(b.text(f)); {
	case slices.Contains(troupe.Colors(), name):
		b.def.Color = name
	case name != "":
		p := b.at.problem(f.Line, "there is no color %q, so these agents are shown in any; there are %s", name,
			strings.Join(troupe.Colors(), ", "))
		p.Note = true
		b.problem(p)
	}
}

func (b *builder) truth(f front.Field, to *bool) {
	on, err := strconv.ParseBool(strings.ToLower(b.text(f)))
	if err != nil {
		b.problem(b.at.problem(f.Line, "%s must be true or false; it is left out", f.Key))
		return
	}
	*to = on
}

// mode reads a permission mode. Without one the parent's holds, and it bounds each other one.
func (b *builder) mode(f front.Field, twice bool) {
	if f.Value.Kind == front.List || f.Value.Kind == front.Tree || f.Value.Kind == front.Unreadable {
		b.def.Mode = troupe.ModePlan
		b.problem(b.at.problem(f.Line, "%s is not one of %v, so these agents only read", f.Key, troupe.Modes()))
		return
	}
	name := b.text(f)
	if name == "" || strings.EqualFold(name, "inherit") {
		return
	}
	mode, err := troupe.ParseMode(name)
	if err != nil {
		for _, m := range troupe.Modes() {
			if strings.EqualFold(string(m), name) {
				mode, err = m, nil
			}
		}
	}
	if err != nil {
		b.problem(b.at.problem(f.Line, "there is no permission mode %q, so these agents have their parent's; there "+
			"are %v", name, troupe.Modes()))
		return
	}
	if twice && b.def.Mode != "" && b.def.Mode != mode {
		mode = troupe.ModePlan // the closest of all: which one was meant is not known
	}
	b.def.Mode = mode
}

// sandbox reads how far commands are confined. What is not known is taken for the closest.
func (b *builder) sandbox(f front.Field, twice bool) {
	level := troupe.Level(strings.ToLower(f.Value.Text))
	if level = troupe.Level(strings.TrimSpace(string(level))); level == "" && f.Value.Kind != front.Nothing &&
		f.Value.Kind != front.Text {
		level = "of this form"
	}
	switch level {
	case "", troupe.LevelNone:
		return
	case troupe.LevelReadOnly, troupe.LevelWorkspace:
	default:
		b.problem(b.at.problem(f.Line, "there is no sandbox %q, so their commands only read; there are read-only, "+
			"workspace and none", level))
		level = troupe.LevelReadOnly
	}
	if twice && b.def.Sandbox == troupe.LevelReadOnly {
		level = b.def.Sandbox
	}
	b.def.Sandbox = level
}

func (b *builder) toolProblems(f front.Field, list toolList) {
	b.noTools = b.noTools || list.broken
	for _, text := range list.problems {
		b.problem(b.at.problem(f.Line, "%s %s", f.Key, text))
	}
	for _, text := range list.notes {
		p := b.at.problem(f.Line, "%s %s", f.Key, text)
		p.Note = true
		b.problem(p)
	}
}

// text is the value of a field that has to be a text.
func (b *builder) text(f front.Field) string {
	switch f.Value.Kind {
	case front.Text:
		return strings.TrimSpace(f.Value.Text)
	case front.Nothing:
		return ""
	default:
	}
	b.problem(b.at.problem(f.Line, "%s is not a text, so it counts as missing", f.Key))
	return ""
}

func (b *builder) notUsed(f front.Field) {
	if len(b.unused) == 0 {
		b.firstLine = f.Line
	}
	b.unused = append(b.unused, f.Key)
}

func (b *builder) finish() {
	d := b.def
	if b.nameLine == 0 {
		b.nameLine = b.at.line
	}
	for _, f := range b.loose {
		b.looseField(f)
	}
	if b.noTools {
		d.All, d.Tools, d.Missing = false, nil, nil
	}
	if d.Description == "" && d.WhenToUse == "" {
		d.Description = front.Opening(d.Prompt)
		p := b.at.problem(b.at.line, "there is no description; a parent is shown how the prompt begins")
		if d.Description == "" {
			p.Text = "there is no description, so a parent cannot tell when to start agents of this type"
		}
		b.problem(p)
	}
	if b.mergeLine > 0 && !d.Workspace.Made() && d.Workspace != troupe.WorkspaceIsolated {
		b.problem(b.at.problem(b.mergeLine, "merge is for work in a folder of its own, and these agents have one only "+
			"if the call says so; add isolation: worktree"))
	}
	if len(b.unused) > 0 {
		p := b.at.problem(b.firstLine, "not used yet: %s", strings.Join(b.unused, ", "))
		p.Note = true
		b.problem(p)
	}
}

// looseField is a line that may be a field, or part of a text, in what is not YAML. One that may be a restriction is
// taken for one that cannot be read.
func (b *builder) looseField(f front.Field) {
	key := canonicalKey(f.Key)
	if _, there := b.seen[key]; there {
		return
	}
	switch key {
	case keyTools, keyWithout:
		b.noTools = true
	case keyMode, keySandbox:
		b.def.Mode, b.def.Sandbox = troupe.ModePlan, troupe.LevelReadOnly
	case keyHooks:
		if b.plugin == "" {
			b.def.Hooks = json.RawMessage(`"unreadable"`)
		}
	default:
		return
	}
	b.problem(b.at.problem(f.Line, "%s stands here within what is not valid YAML, so whether it is a field is not "+
		"certain: "+
		"these agents may do less. Put it at the beginning of its line, or texts between quotes", f.Key))
}

// jsonValue is a value of --agents as front matter would have it.
func jsonValue(raw string) front.Value {
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		return front.Value{}
	}
	switch v := v.(type) {
	case nil:
		return front.Value{Kind: front.Nothing}
	case string:
		return front.Value{Kind: front.Text, Text: v}
	case float64, bool:
		return front.Value{Kind: front.Text, Text: raw}
	case []any:
		out := front.Value{Kind: front.List, List: []string{}}
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return front.Value{Kind: front.Tree, JSON: json.RawMessage(raw)}
			}
			out.List = append(out.List, s)
		}
		return out
	default:
		return front.Value{Kind: front.Tree, JSON: json.RawMessage(raw)}
	}
}
