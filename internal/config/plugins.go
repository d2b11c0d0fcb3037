package config

import (
	"bytes"
	"encoding/json"
)

// PluginSettings is what a file of settings says of plugins.
type PluginSettings struct {
	// Enabled are plugins as NAME@MARKETPLACE: whether they are to be used.
	Enabled map[string]bool
	// Markets are the marketplaces that it knows, by their names, as written.
	Markets map[string]json.RawMessage
}

// PluginSource is a file of settings that names plugins or marketplaces.
type PluginSource struct {
	Source
	PluginSettings
}

// Plugins are the files that name plugins, the weakest first. What they may enable depends on whose they are.
func (a All) Plugins() (out []PluginSource) {
	for i := range a.layers {
		l := &a.layers[i]
		if p := l.settings.Plugins; !l.Broken && len(p.Enabled)+len(p.Markets) > 0 {
			out = append(out, PluginSource{l.Source, p})
		}
	}
	return out
}

func (p *parser) plugins(n node, to *PluginSettings) {
	if n.kind != kindObject {
		p.warn(n.at, p.key, quote(p.key)+" is not an object of plugins by their names; it is left out")
		return
	}
	to.Enabled = map[string]bool{}
	for _, m := range n.members {
		if m.value.kind == kindBool {
			to.Enabled[m.key] = m.value.text == "true"
		}
	}
}

func markets(p *parser, n node, to *PluginSettings) {
	dec := json.NewDecoder(bytes.NewReader(p.data[n.at:]))
	if err := dec.Decode(&to.Markets); err != nil {
		p.warn(n.at, p.key, quote(p.key)+" is not an object of marketplaces by their names; it is left out")
		to.Markets = nil
	}
}
