package profile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// builder makes a definition of fields.
type builder struct {
	*loader
	at        origin
	def       *Definition
	seen      map[string]bool
	nameLine  int
	noTools   bool // a line about tools could not be read
	unused    []string
	firstLine int // of the unused
}

// What a key is for. Keys that other tools know are listed, so that their lines are
// recognised even where the rest is not valid YAML.
const (
	keyName        = "name"
	keyDescription = "description"
	keyTools       = "tools"
	keyWithout     = "disallowedtools"
	keyModel       = "model"
	keyPrompt      = "prompt"
	keyMode        = "permissionmode"
	keySandbox     = "sandbox"
	keyTurns       = "maxturns"
)

// canonicalKey takes the spellings in use for one.
func canonicalKey(key string) string {
	switch k := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key)); k {
	case "allowedtools":
		return keyTools
	default:
		return k
	}
}

func keyInUse(key string) bool {
	return slices.Contains([]string{
		keyName, keyDescription, keyTools, keyWithout, keyModel, keyMode, keySandbox, keyTurns, "color", "skills",
		"mcpservers", "hooks",
		"memory", "background", "isolation", "effort", "initialprompt", "requiredmcpservers", "omitclaudemd", "version",
		"author",
	}, canonicalKey(key))
}

func (b *builder) field(f field) {
	key := canonicalKey(f.key)
	if b.seen[key] {
		if key == keyTools || key == keyWithout {
			b.noTools = true
			b.problem(b.at.problem(f.line, "%s stands here for the second time, so these agents get no tools", f.key))
			return
		}
		b.problem(b.at.problem(f.line, "%s stands here for the second time; the first counts", f.key))
		return
	}
	b.seen[key] = true
	switch key {
	case keyName:
		b.nameLine = f.line
		if name := b.text(f); name != "" {
			b.def.Name = name
		} else {
			b.problem(b.at.problem(f.line, "the name is empty, so it is %q", b.at.name))
		}
	case keyDescription:
		b.def.Description = b.text(f)
	case keyModel:
		b.def.Model = b.text(f)
	case keyTools:
		list := readTools(f.value, b.tools)
		b.def.All, b.def.Tools = list.all, list.names
		b.toolProblems(f, list)
	case keyWithout:
		list := readWithout(f.value, b.tools)
		b.def.Without = list.names
		b.toolProblems(f, list)
		b.noTools = b.noTools || list.all
	case keyPrompt:
		if b.at.path == FlagName {
			b.def.Prompt = b.text(f)
			return
		}
		b.notUsed(f)
	case keyMode:
		b.mode(f)
	case keySandbox:
		b.sandbox(f)
	case keyTurns:
		if n, err := strconv.Atoi(strings.TrimSpace(f.value.text)); err == nil && n > 0 {
			b.def.MaxTurns = n
		} else {
			b.problem(b.at.problem(f.line, "%s must be a number of model replies from 1; it is left out", f.key))
		}
	default:
		b.notUsed(f)
	}
}

// mode reads a permission mode. One that is not known means reading only: whoever wrote it
// meant some bound.
func (b *builder) mode(f field) {
	name := b.text(f)
	mode, err := troupe.ParseMode(name)
	switch {
	case name == "" || name == "inherit":
	case err == nil:
		b.def.Mode = mode
	default:
		b.def.Mode = troupe.ModePlan
		b.problem(b.at.problem(f.line, "there is no permission mode %q, so these agents only read; there are %v", name,
			troupe.Modes()))
	}
}

// sandbox reads how far commands are confined. What is not known is taken for the closest.
func (b *builder) sandbox(f field) {
	level := troupe.Level(b.text(f))
	switch level {
	case "", troupe.LevelNone:
	case troupe.LevelReadOnly, troupe.LevelWorkspace:
		b.def.Sandbox = level
	default:
		b.def.Sandbox = troupe.LevelReadOnly
		b.problem(b.at.problem(f.line, "there is no sandbox %q, so their commands only read; there are read-only, "+
			"workspace and none", level))
	}
}

func (b *builder) toolProblems(f field, list toolList) {
	b.noTools = b.noTools || list.broken
	for _, text := range list.problems {
		b.problem(b.at.problem(f.line, "%s %s", f.key, text))
	}
}

func (b *builder) text(f field) string {
	s, err := f.text()
	if err != nil {
		b.problem(b.at.problem(f.line, "%s, so it counts as missing", err))
	}
	return s
}

func (b *builder) notUsed(f field) {
	if len(b.unused) == 0 {
		b.firstLine = f.line
	}
	b.unused = append(b.unused, f.key)
}

func (b *builder) finish() {
	if b.nameLine == 0 {
		b.nameLine = b.at.line
	}
	if b.noTools {
		b.def.All, b.def.Tools = false, nil
	}
	if b.def.Description == "" {
		b.problem(b.at.problem(b.at.line, "there is no description, so a parent cannot tell when to start agents of "+
			"this type"))
	}
	if len(b.unused) > 0 {
		p := b.at.problem(b.firstLine, "not used yet: %s", strings.Join(b.unused, ", "))
		p.Note = true
		b.problem(p)
	}
}
