package entry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Check reads one entry as it would be read in a file.
func Check(name string, raw json.RawMessage) (Entry, []Problem) { return one(name, raw) }

// Edit puts an entry into the text of a file of servers, or takes it out if there is none. All else stays, in its
// order. there reports whether it stood there before.
func Edit(data []byte, name string, raw json.RawMessage) (out []byte, there bool, err error) {
	root, key, servers, err := inFile(data)
	if err != nil {
		return nil, false, err
	}
	servers, there = servers.with(name, raw)
	if key == "" {
		root = servers
	} else {
		text, err := servers.text()
		if err != nil {
			return nil, there, err
		}
		root, _ = root.with(key, text)
	}
	text, err := root.text()
	if err != nil {
		return nil, there, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, there, errors.New("it could not be written anew")
	}
	b.WriteByte('\n')
	return b.Bytes(), there, nil
}

// In is the entry of a server in the text of a file, without what only makes it look good; nil if it has none.
func In(data []byte, name string) json.RawMessage {
	_, _, servers, err := inFile(data)
	raw, there := servers.last(name)
	var b bytes.Buffer
	if err != nil || !there || json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}

// inFile takes the text of a file apart: all of it, and the servers in it, below a key or, if that is "", at the top.
func inFile(data []byte) (root object, key string, servers object, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	root = object{}
	if len(bytes.TrimSpace(data)) > 0 {
		if root, err = members(data); err != nil {
			return nil, "", nil, fmt.Errorf("it is not plain JSON (%w); edit it by hand", err)
		}
	}
	servers = root
	for _, k := range []string{"mcpServers", "mcp_servers", "servers", "context_servers"} {
		if inner, ok := root.last(k); ok && key == "" {
			if found, bad := members(inner); bad == nil && (k == "mcpServers" || !found.isServer()) {
				key, servers = k, found
			}
		}
	}
	if key == "" {
		if _, others, err := below(root); err != nil || len(others) > 0 || len(root) == 0 {
			key, servers = "mcpServers", nil // not a flat file
		}
	}
	return root, key, servers, nil
}

// with is the object with another value for a key; nil takes it out.
func (o object) with(key string, raw json.RawMessage) (out object, there bool) {
	for _, m := range o {
		switch {
		case m.key != key:
			out = append(out, m)
		case raw != nil && !there:
			out = append(out, member{key, raw})
			there = true
		default:
			there = true
		}
	}
	if raw != nil && !there {
		out = append(out, member{key, raw})
	}
	return out, there
}

func (o object) text() (json.RawMessage, error) {
	b := []byte("{")
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), m.raw...)
	}
	return append(b, '}'), nil
}
