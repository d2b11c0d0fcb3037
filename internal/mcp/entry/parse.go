package entry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxFile is the most bytes of a file that are read, far more than anybody writes.
const MaxFile = 1 << 20

// maxServers is more than any file has.
const maxServers = 500

// Parse reads a file of servers: an object of them by their names, alone or below a key such as mcpServers. The
// entries are in the order of the file. That there are none is no problem.
func Parse(data []byte) (out []Entry, problems []Problem) {
	whole := func(format string, args ...any) []Problem {
		return append(problems, Problem{Text: fmt.Sprintf(format, args...), Unusable: true})
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > MaxFile {
		return nil, whole("the file is larger than %d KB, so none of its servers count", MaxFile>>10)
	}
	if !utf8.Valid(data) {
		return nil, whole("the file is not UTF-8 text, so none of its servers count")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	root, err := members(data)
	if err != nil {
		plain := withoutComments(data)
		var again error
		if root, again = members(plain); again != nil {
			return nil, whole("this is not JSON, so none of its servers count: %v", err)
		}
		problems = append(problems, Problem{Text: "it has comments or a comma too many, which JSON has not; they are " +
			"left out"})
	}
	servers, others, err := below(root)
	if err != nil {
		return nil, whole("%v", err)
	}
	if len(others) > 0 {
		problems = append(problems, Problem{Text: "not followed here: " + strings.Join(others, ", ")})
	}
	return servers.read(problems)
}

// ParseServers reads an object of servers by their names, as it stands below mcpServers.
func ParseServers(data []byte) (out []Entry, problems []Problem) {
	servers, err := members(data)
	if err != nil {
		return nil, []Problem{{Text: "mcpServers is not an object of servers by their names", Unusable: true}}
	}
	return servers.read(nil)
}

func (o object) read(problems []Problem) (out []Entry, _ []Problem) {
	servers := o
	if len(servers) > maxServers {
		problems = append(problems, Problem{Text: fmt.Sprintf("there are %d servers; those behind the first %d are "+
			"left "+
			"out", len(servers), maxServers)})
		servers = servers[:maxServers]
	}
	for _, m := range servers {
		if strings.HasPrefix(m.key, "$") || strings.HasPrefix(m.key, "//") {
			continue // a schema, or what people write where JSON has no comments
		}
		e, said := one(m.key, m.raw)
		problems = append(problems, said...)
		unusable := slices.ContainsFunc(said, func(p Problem) bool { return p.Unusable })
		if i := slices.IndexFunc(out, func(x Entry) bool { return x.Name == e.Name }); i >= 0 {
			problems = append(problems, Problem{Server: e.Name, Text: "it stands there twice; the last one counts"})
			e.Off = e.Off || out[i].Off
			out = slices.Delete(out, i, i+1)
		}
		if !unusable {
			out = append(out, e)
		}
	}
	return out, problems
}

// object is a JSON object in its order. A key that stands twice is two members.
type object []member

type member struct {
	key string
	raw json.RawMessage
}

func members(data []byte) (object, error) {
	var check map[string]json.RawMessage
	if err := json.Unmarshal(data, &check); err != nil {
		return nil, err
	}
	if check == nil {
		return nil, fmt.Errorf("it is null")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out object
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{}
		m.key, _ = token.(string)
		if err := dec.Decode(&m.raw); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// last is the value of a key; of several the last.
func (o object) last(key string) (json.RawMessage, bool) {
	for _, m := range slices.Backward(o) {
		if m.key == key {
			return m.raw, true
		}
	}
	return nil, false
}

// below finds the servers in a file: below one of the keys that programs use, or the file itself is the object.
// others are keys that mean nothing here.
func below(root object) (servers object, others []string, err error) {
	for _, key := range []string{"mcpServers", "mcp_servers", "servers", "context_servers", "mcp"} {
		raw, ok := root.last(key)
		if !ok {
			continue
		}
		inner, bad := members(raw)
		if bad != nil && key != "mcpServers" {
			continue // in a flat file it may be the name of a server, or something else altogether
		}
		if bad != nil {
			return nil, nil, fmt.Errorf("%s must be an object of servers by their names, so none of them count", key)
		}
		if key != "mcpServers" && inner.isServer() {
			continue // a flat file has a server of this name
		}
		if deeper, ok := inner.last("servers"); ok && key == "mcp" {
			if servers, bad := members(deeper); bad == nil && !servers.isServer() {
				inner = servers
			}
		}
		for _, m := range root {
			if m.key != key && !strings.HasPrefix(m.key, "$") {
				others = append(others, visible(m.key))
			}
		}
		return inner, others, nil
	}
	for _, m := range root {
		if inner, bad := members(m.raw); bad == nil && inner.isServer() {
			servers = append(servers, m)
		} else if !strings.HasPrefix(m.key, "$") {
			others = append(others, visible(m.key))
		}
	}
	return servers, others, nil
}

// isServer: it looks like one server, and not like an object of them.
func (o object) isServer() bool {
	return slices.ContainsFunc(o, func(m member) bool {
		switch plain(m.key) {
		case keyCommand, keyURL:
			return !bytes.HasPrefix(bytes.TrimSpace(m.raw), []byte("{"))
		default:
			return false
		}
	})
}

// withoutComments takes out of a text what other readers of JSON allow: comments, and commas before a closing bracket.
func withoutComments(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data); i++ {
		rest := data[i:]
		switch {
		case data[i] == '"':
			n := 1
			for n < len(rest) && rest[n] != '"' {
				if rest[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(rest))
			out = append(out, rest[:n]...)
			i += n - 1
		case bytes.HasPrefix(rest, []byte("//")):
			if n := bytes.IndexByte(rest, '\n'); n >= 0 {
				i += n - 1
			} else {
				i = len(data)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
				i += n + 3
			} else {
				i = len(data)
			}
		case data[i] == '}', data[i] == ']':
			if before := bytes.TrimRight(out, " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
				out = before[:len(before)-1]
			}
			out = append(out, data[i])
		default:
			out = append(out, data[i])
		}
	}
	return out
}
