package openai

import (
	"regexp"
	"strings"
)

// API is one of the two ways to talk to a server of OpenAI's kind.
type API string

// The two APIs.
const (
	ChatCompletions API = "chat"      // what OpenAI and many others after it serve
	Responses       API = "responses" // OpenAI's newer one; its models reason between tool calls with it only
)

// family is what is known of the models whose names have one form.
type family struct {
	names string // a regular expression
	api   API
	// reasons says that its thoughts can be asked for in encrypted form. The service refuses that question for
	// models without thoughts.
	reasons bool
}

// families are those of OpenAI's own models, and the first whose form a name has counts. From OpenAI's pages of the
// models, as copies had them on 2026-11-22: the pages of gpt-5.4 and later say that Chat Completions offers tools
// only without reasoning, those of the pro, codex and deep research models name the Responses API alone, and for all
// others that reason the guide "Migrate to the Responses API" prefers it. What is in no family speaks Chat
// Completions, and so do the models of chat and search, which are served tuned for it.
func families() []family {
	return []family{
		{names: `^(gpt-[0-9.]+|chatgpt)-.*(chat|search|audio|realtime|transcribe)`, api: ChatCompletions},
		{names: `^gpt-[0-9.]+-chat`, api: ChatCompletions},
		{names: `^gpt-([5-9]|[1-9][0-9])([.-]|$)`, api: Responses, reasons: true},
		{names: `^o[1-9]([0-9]|-|$)`, api: Responses, reasons: true},
		{names: `^(codex|computer-use)-`, api: Responses, reasons: true},
		{names: `^chat-latest`, api: Responses},
	}
}

// familyOf finds a model's family. Gateways put the maker's name before a model's: openai/gpt-6-sol.
func familyOf(modelID string) family {
	modelID = strings.ToLower(modelID[strings.LastIndexByte(modelID, '/')+1:])
	for _, f := range families() {
		if regexp.MustCompile(f.names).MatchString(modelID) {
			return f
		}
	}
	return family{api: ChatCompletions}
}

// APIFor chooses the API for a model of the server at baseURL: OpenAI's own service has both, and its models differ;
// any other server is spoken to in Chat Completions, which all of them have.
func APIFor(baseURL, modelID string) API {
	if strings.TrimSpace(baseURL) != "" && hostOf(baseURL) != officialHost {
		return ChatCompletions
	}
	return familyOf(modelID).api
}
