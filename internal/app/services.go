package app

import (
	"slices"

	"github.com/troupe-dev/troupe/internal/model"
)

// service is a provider of models that Troupe knows by itself; servers that settings name come besides.
type service struct {
	name, title     string // before the slash of a model's full name, and for people
	keyEnv, baseEnv string // the variables that hold its key and another address
	// openAI: it speaks OpenAI's APIs. Then baseEnv may name a server of the user's own, which needs no key.
	openAI bool
	open   func(m *models, id, base, key string) (model.Provider, error)
}

// services are the providers that Troupe knows, each a row. Aliases mean models of the first.
func services() []service {
	return []service{
		{name: "anthropic", title: "Anthropic", keyEnv: "ANTHROPIC_API_KEY", baseEnv: "ANTHROPIC_BASE_URL",
			open: (*models).openAnthropic},
		{name: "openai", title: "OpenAI", keyEnv: "OPENAI_API_KEY", baseEnv: "OPENAI_BASE_URL", openAI: true,
			open: (*models).openOpenAI},
	}
}

func serviceOf(name string) (service, bool) {
	all := services()
	if i := slices.IndexFunc(all, func(s service) bool { return s.name == name }); i >= 0 {
		return all[i], true
	}
	return service{}, false
}

// serviceNames are the names of all services, in their order.
func serviceNames() (out []string) {
	for _, s := range services() {
		out = append(out, s.name)
	}
	return out
}
