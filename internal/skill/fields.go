package skill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/front"
)

// What a key is for.
const (
	keyName        = "name"
	keyDescription = "description"
	keyWhen        = "whentouse"
	keyHint        = "argumenthint"
	keyArguments   = "arguments"
	keyTools       = "allowedtools"
	keyWithout     = "disallowedtools"
	keyModelOff    = "disablemodelinvocation"
	keyUser        = "userinvocable"
	keyContext     = "context"
	keyAgent       = "agent"
	keyPaths       = "paths"
	keyModel       = "model"
	keyEffort      = "effort"
	keyHooks       = "hooks"
)

// refused are fields that other programs follow and Troupe does not, and why.
func refused() map[string]string {
	return map[string]string{
		"background": "whether an agent that does it is waited for is for the model to say that starts it",
		"shell":      "commands run in the shell that all commands run in",
	}
}

// quiet are fields that say something to people or to other programs, and nothing to do.
func quiet() []string {
	return []string{"license", "version", "author", "tags", "category", "metadata", "compatibility", "title", "icon",
		"color", "mode", "homepage", "repository", "keywords", "created", "updated", "source", "id"}
}

// canonicalKey takes the spellings in use for one.
func canonicalKey(key string) string {
	switch k := front.PlainKey(key); k {
	case "tools", "tool", "allowedtool":
		return keyTools
	case "disallowedtool":
		return keyWithout
	case "argumentshint", "arghint":
		return keyHint
	case "userinvokable":
		return keyUser
	default:
		return k
	}
}

func keys() []string {
	out := []string{keyName, keyDescription, keyWhen, keyHint, keyArguments, keyTools, keyWithout, keyModelOff, keyUser,
		keyContext, keyAgent, keyPaths, keyModel, keyEffort, keyHooks}
	for k := range refused() {
		out = append(out, k)
	}
	return append(out, quiet()...)
}

// KeyInUse reports whether a key of front matter has a meaning for skills or commands, here or elsewhere.
func KeyInUse(key string) bool { return slices.Contains(keys(), canonicalKey(key)) }

// unreadable is what hooks are that cannot be read.
const unreadable = `"unreadable"`

// builder makes a skill of fields.
type builder struct {
	file, name  string
	nameProblem string // what is wrong with the name that it has by its place
	line        int
	tools       []troupe.ToolFacts
	skill       *Skill
	seen        map[string]front.Field
	problems    []front.Finding
	nameLine    int
	when        string
	noTools     bool // what it says of tools could not be read
}

func (b *builder) say(note bool, line int, format string, args ...any) {
	b.problems = append(b.problems, front.Finding{Path: b.file, Line: line, Text: fmt.Sprintf(format, args...),
		Note: note})
}

func (b *builder) build(doc front.Document) {
	b.skill.Name, b.nameLine = b.name, doc.Line
	for _, f := range doc.Fields {
		b.field(f)
	}
	for _, f := range doc.Loose {
		b.loose(f)
	}
	k := b.skill
	if b.noTools {
		k.Uses = &Uses{Tools: []string{}}
	}
	b.takesAway()
	k.Described = k.Description != "" || b.when != ""
	if k.Description = strings.TrimSpace(k.Description + " " + b.when); k.Description == "" {
		k.Description = front.Opening(k.Body)
		b.say(k.Command, doc.Line, "there is no description; it is listed with how its text begins")
	}
	if k.Agent != "" && !k.Fork {
		b.say(true, b.seen[keyAgent].Line, "agent counts only with context: fork")
		k.Agent = ""
	}
}

// takesAway says what a line about tools comes to, which elsewhere allows what it names.
func (b *builder) takesAway() {
	line := b.seen[keyTools].Line
	if line == 0 || b.skill.Uses == nil || len(b.skill.Uses.Tools) == 0 {
		return
	}
	b.say(true, line, "%s takes away and allows nothing: until a person's next prompt there is only what it names, "+
		"and that is asked about as ever", b.seen[keyTools].Key)
	if !strings.ContainsAny(b.skill.Body, "@!") || b.skill.Uses.leaves("Read") && b.skill.Uses.leaves("Bash") {
		return // what reading hundreds of skills costs lies in the pieces
	}
	var files, commands []string
	for _, p := range b.skill.Pieces("") {
		if p.File != "" && !b.skill.Uses.leaves("Read") {
			files = append(files, p.Text)
		}
		if p.Run != "" && !b.skill.Uses.leaves("Bash") {
			commands = append(commands, "`"+p.Run+"`")
		}
	}
	if files != nil {
		b.say(true, line, "%s names no Read, so these are not read where they are files: %s", b.seen[keyTools].Key,
			strings.Join(files, ", "))
	}
	if commands != nil {
		b.say(true, line, "%s names no Bash, so these are not run: %s", b.seen[keyTools].Key,
			strings.Join(commands, ", "))
	}
}

// leaves reports whether a tool may be used, or some of its calls.
func (u *Uses) leaves(tool string) bool {
	return !slices.Contains(u.Without, tool) && (u.Tools == nil || slices.ContainsFunc(u.Tools, func(t string) bool {
		name, _, _ := strings.Cut(t, "(")
		return name == tool
	}))
}

// field reads one key. Of one that stands twice the last counts for what is shown, and both for what is taken away.
func (b *builder) field(f front.Field) {
	key := canonicalKey(f.Key)
	if f.Key == "<<" || f.Key == "?" {
		b.noTools = true
		b.say(false, f.Line, "a reference, or a key that is not a word, may bring any field, so no tool may be used "+
			"with this; write the fields out")
		return
	}
	if before, twice := b.seen[key]; twice {
		b.say(false, f.Line, "%s stands in line %d already; the stricter counts, or else this one", f.Key, before.Line)
	}
	b.seen[key] = f
	k := b.skill
	switch key {
	case keyName:
		b.named(f)
	case keyDescription:
		k.Description = b.text(f)
	case keyWhen:
		b.when = b.text(f)
	case keyHint:
		if k.Hint = strings.TrimSpace(f.Value.Text); f.Value.Kind == front.List { // [base] is a list in YAML
			k.Hint = "[" + strings.Join(f.Value.List, ", ") + "]"
		}
	case keyArguments:
		k.Arguments = front.Names(strings.Join(f.Value.Words(), " "))
	case keyTools:
		b.allowed(f)
	case keyWithout:
		b.without(f)
	case keyModelOff:
		k.ModelOff = b.truth(f, true) || k.ModelOff
	case keyUser:
		k.UserOff = !b.truth(f, false) || k.UserOff
	case keyContext:
		if k.Fork = strings.EqualFold(b.text(f), "fork"); !k.Fork {
			b.say(true, f.Line, "context %q is not followed; there is fork", b.text(f))
		}
	case keyAgent:
		k.Agent = b.text(f)
	case keyPaths:
		b.paths(f)
	case keyModel:
		if k.Model = b.text(f); strings.EqualFold(k.Model, "inherit") {
			k.Model = ""
		}
	case keyEffort:
		b.effort(f)
	case keyHooks:
		b.hooks(f)
	default:
		b.other(f, key)
	}
}

// hooks keeps what is written. Guards that cannot be read are not taken for none.
func (b *builder) hooks(f front.Field) {
	switch {
	case f.Value.Kind == front.Nothing && b.skill.Hooks == nil:
	case f.Value.Kind == front.Tree && b.skill.Hooks == nil:
		b.skill.Hooks = f.Value.JSON
	default:
		b.skill.Hooks = json.RawMessage(unreadable)
		b.say(false, f.Line, "the hooks cannot be read, so each call of an agent that has used it is refused; they "+
			"are "+
			"written as in settings, a moment with its hooks below it")
	}
}

func (b *builder) effort(f front.Field) {
	name, err := b.text(f), error(nil)
	if b.skill.Effort = ""; name == "" || strings.EqualFold(name, "inherit") || strings.EqualFold(name, "auto") {
		return
	}
	if b.skill.Effort, err = troupe.ParseEffort(name); err != nil {
		b.say(false, f.Line, "there is no effort %q, so that of the session stays; there are %s", name,
			troupe.EffortNames())
	}
}

// paths reads the patterns of the files that it is for.
func (b *builder) paths(f front.Field) {
	words := f.Value.List
	switch f.Value.Kind {
	case front.Nothing:
		return
	case front.Text:
		words = front.SplitPatterns(f.Value.Text)
	case front.List:
	default:
		b.say(false, f.Line, "%s is not a list of patterns, so models are told of it for no file", f.Key)
	}
	b.skill.Paths = []string{}
	for _, w := range words {
		w = strings.TrimPrefix(strings.TrimSpace(w), "./")
		if w == "" || strings.HasPrefix(w, "/") || !doublestar.ValidatePattern(w) || !disk.Bounded(w) {
			b.say(false, f.Line, "%q is no pattern for files of the project", w)
			continue
		}
		b.skill.Paths = append(b.skill.Paths, w)
	}
}

// named takes the name that a skill gives itself. A command has that of its file.
func (b *builder) named(f front.Field) {
	name := b.text(f)
	switch {
	case b.skill.Command:
		if name != "" && !strings.EqualFold(name, b.name) {
			b.say(true, f.Line, "name is not followed: a command has the name of its file, %s", b.name)
		}
	case name == "":
		b.say(false, f.Line, "the name is empty, so it is %q", b.name)
	case badName(name) != "" && b.nameProblem == "":
		b.say(false, f.Line, "the name %q %s; it has that of its folder, %s", name, badName(name), b.name)
	default:
		b.skill.Name, b.nameLine = name, f.Line
	}
}

// other is a field that is not followed. One that is nearly that of a restriction was meant to be one.
func (b *builder) other(f front.Field, key string) {
	if why := refused()[key]; why != "" {
		b.say(true, f.Line, "%s is not followed: %s", f.Key, why)
		return
	}
	if slices.Contains(quiet(), key) {
		return
	}
	switch near := troupe.Nearest(key, keys()); near {
	case keyTools, keyWithout:
		b.noTools = true
		b.say(false, f.Line, "%s is no field of a skill; did you mean %s? Until that is clear, no tool may be used "+
			"with "+
			"it", f.Key, map[string]string{keyTools: "allowed-tools", keyWithout: "disallowed-tools"}[near])
	case keyModelOff:
		b.skill.ModelOff = true
		b.say(false, f.Line, "%s is no field of a skill; did you mean disable-model-invocation? Until that is clear, "+
			"models do not use it", f.Key)
	default:
		b.say(true, f.Line, "%s means nothing here", f.Key)
	}
}

// loose is a line that may be a field in what is not YAML. One that may be a restriction is one that cannot be read.
func (b *builder) loose(f front.Field) {
	key := canonicalKey(f.Key)
	if _, there := b.seen[key]; there {
		return
	}
	switch key {
	case keyTools, keyWithout:
		b.noTools = true
	case keyModelOff:
		b.skill.ModelOff = true
	case keyHooks:
		b.skill.Hooks = json.RawMessage(unreadable)
	default:
		return
	}
	b.say(false, f.Line, "%s stands here within what is not valid YAML, so whether it is a field is not certain: the "+
		"stricter holds. Put it at the beginning of its line, or texts between quotes", f.Key)
}

// text is the value of a field that has to be a text.
func (b *builder) text(f front.Field) string {
	switch f.Value.Kind {
	case front.Text:
		return strings.TrimSpace(f.Value.Text)
	case front.Nothing:
	default:
		b.say(false, f.Line, "%s is not a text, so it counts as missing", f.Key)
	}
	return ""
}

// truth reads true or false; what it is if neither can be read is for the caller to say.
func (b *builder) truth(f front.Field, other bool) bool {
	text := strings.ToLower(b.text(f))
	if f.Value.Kind == front.Text {
		switch text {
		case "yes", "on":
			return true
		case "no", "off":
			return false
		}
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		b.say(false, f.Line, "%s must be true or false; it is taken for %v", f.Key, other)
		return other
	}
	return on
}

// words are the names in a line about tools; ok is false if it cannot be read.
func (b *builder) words(f front.Field) (words []string, ok bool) {
	switch f.Value.Kind {
	case front.Text:
		words = front.Names(f.Value.Text)
	case front.List:
		// In [Bash(a, b), Read] YAML ends an item at the first comma.
		words = front.Names(strings.Join(f.Value.List, ","))
	case front.Nothing:
	default:
		return nil, false
	}
	for _, w := range words {
		name, inside, _ := strings.Cut(w, "(")
		if w != "*" && (!strings.ContainsFunc(name, unicode.IsLetter) || strings.ContainsFunc(name, func(r rune) bool {
			return !strings.ContainsRune("_-.:*", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})) || inside != "" && !strings.HasSuffix(w, ")") {
			return nil, false
		}
	}
	return words, true
}

// allowed reads which tools may be used. Of two lines what stands in both counts.
func (b *builder) allowed(f front.Field) {
	words, ok := b.words(f)
	switch {
	case !ok:
		b.noTools = true
		b.say(false, f.Line, "%s cannot be read, so no tool may be used with it; write names with commas between "+
			"them, a "+
			"list, or *", f.Key)
		return
	case slices.Contains(words, "*"):
		return
	case len(words) == 0:
		b.say(false, f.Line, "%s is empty, so no tool may be used with it; write * for all, or leave it out", f.Key)
	}
	tools := []string{}
	for _, w := range words {
		name, inside, narrow := strings.Cut(w, "(")
		full, hint := front.ToolName(name, b.tools)
		if full == "" && !strings.HasPrefix(name, "mcp__") {
			b.say(hint == "", f.Line, "%s names %q, which is not a tool here%s", f.Key, w, hint)
		}
		if full == "" {
			full = name
		}
		if narrow {
			full += "(" + inside
		}
		tools = append(tools, full)
	}
	if u := b.uses(); u.Tools == nil {
		u.Tools = tools
	} else {
		u.Tools = slices.DeleteFunc(u.Tools, func(t string) bool { return !slices.Contains(tools, t) })
	}
}

func (b *builder) without(f front.Field) {
	words, ok := b.words(f)
	if !ok || slices.Contains(words, "*") {
		b.noTools = true
		if !ok {
			b.say(false, f.Line, "%s cannot be read, so no tool may be used with it", f.Key)
		}
		return
	}
	for _, w := range words {
		name, _, _ := strings.Cut(w, "(") // denied in part: denied
		full, hint := front.ToolName(name, b.tools)
		if full == "" {
			b.noTools = b.noTools || hint != ""
			b.say(false, f.Line, "%s names %q, which is not a tool here%s", f.Key, w, hint)
			continue
		}
		b.uses().Without = append(b.uses().Without, full)
	}
}

func (b *builder) uses() *Uses {
	if b.skill.Uses == nil {
		b.skill.Uses = &Uses{}
	}
	return b.skill.Uses
}
