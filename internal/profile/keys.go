package profile

import (
	"slices"

	"github.com/troupe-dev/troupe/internal/front"
)

// What a key is for. Keys that other programs know are listed, so that their lines are
// recognised even where the rest is not valid YAML.
const (
	keyName        = "name"
	keyDescription = "description"
	keyWhen        = "whentouse"
	keyTools       = "tools"
	keyWithout     = "disallowedtools"
	keyModel       = "model"
	keyEffort      = "effort"
	keyPrompt      = "prompt"
	keyMode        = "permissionmode"
	keySandbox     = "sandbox"
	keyTurns       = "maxturns"
	keyTokens      = "tokenbudget"
	keyInitial     = "initialprompt"
	keyBackground  = "background"
	keyColor       = "color"
	keySkills      = "skills"
	keyHooks       = "hooks"
	keyOmit        = "omitinstructions"
	keyServers     = "mcpservers"
	keyNeeds       = "requiredmcpservers"
	keyMemory      = "memory"
	keyStyle       = "outputstyle"
	keyIsolation   = "isolation"
	keyFiles       = "filesystem"
	keyMerge       = "merge"
	keySchema      = "outputschema"
	keyVocabulary  = "vocabulary"
)

// canonicalKey takes the spellings in use for one.
func canonicalKey(key string) string {
	switch k := front.PlainKey(key); k {
	case "allowedtools", "tool":
		return keyTools
	case "disallowedtool":
		return keyWithout
	case "permission", "permissions":
		return keyMode
	case "maxtokens":
		return keyTokens
	case "effortlevel", "reasoningeffort":
		return keyEffort
	case "colour":
		return keyColor
	case "omitclaudemd":
		return keyOmit
	case "schema":
		return keySchema
	default:
		return k
	}
}

// Key is the one spelling of a key of front matter that has a meaning for agents, here or elsewhere; "" has none.
func Key(key string) string {
	if key = canonicalKey(key); slices.Contains(keys(), key) {
		return key
	}
	return ""
}

func keyInUse(key string) bool { return Key(key) != "" }

func keys() []string {
	return []string{
		keyName, keyDescription, keyWhen, keyTools, keyWithout, keyModel, keyMode, keySandbox, keyTurns, keyTokens,
		keyInitial, keyBackground, keyColor, keySkills, keyServers, keyHooks, keyMemory, keyIsolation, keyFiles,
		keyMerge, keySchema, keyVocabulary, keyEffort, keyNeeds, keyOmit, keyStyle, "version", "author", "tags",
		"category",
	}
}
