package entry

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Ref is a server that the definition of an agent names: a configured one by its name, or one of its own.
type Ref struct {
	Name   string `json:"name"`
	Inline *Entry `json:"inline,omitempty"`
	// Bad is why the one of its own cannot be used.
	Bad string `json:"bad,omitempty"`
}

// Refs reads the servers of a definition: a list of names, and of objects of servers by their names; or one such
// object; or names with commas between them. What cannot be read is a problem, and unusable: whoever wrote it meant
// a server.
func Refs(data []byte) (out []Ref, problems []Problem) {
	bad := func() ([]Ref, []Problem) {
		return out, append(problems, Problem{Unusable: true, Text: "cannot be read; write a list of names of MCP " +
			"servers, or of servers with a command or a url"})
	}
	var text string
	if string(bytes.TrimSpace(data)) == "null" {
		return bad()
	}
	if json.Unmarshal(data, &text) == nil {
		for _, name := range strings.Split(text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, Ref{Name: name})
			}
		}
		return out, nil
	}
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		items = []json.RawMessage{data}
	}
	for _, item := range items {
		var name string
		if json.Unmarshal(item, &name) == nil && strings.TrimSpace(name) != "" {
			out = append(out, Ref{Name: strings.TrimSpace(name)})
			continue
		}
		servers, err := members(item)
		if err != nil {
			return bad()
		}
		if raw, ok := servers.last("name"); ok && servers.isServer() { // one server with its name among its fields
			if json.Unmarshal(raw, &name) != nil {
				return bad()
			}
			servers = object{{name, item}}
		}
		for _, m := range servers {
			if body := strings.TrimSpace(string(m.raw)); body == "null" || body == "{}" || body == "true" {
				out = append(out, Ref{Name: m.key}) // "- github:" is a name with nothing behind it
				continue
			}
			e, said := one(m.key, m.raw)
			problems = append(problems, said...)
			ref := Ref{Name: e.Name, Inline: &e}
			for _, p := range said {
				if p.Unusable {
					ref.Bad = p.Text
				}
			}
			out = append(out, ref)
		}
	}
	return out, problems
}
