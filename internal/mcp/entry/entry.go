// Package entry reads how people and other programs write down MCP servers: what starts one, or where it
// answers. It starts and reaches nothing.
//
// One entry never affects another, and nothing that is written is left out in silence: what is not followed as
// it stands is a Problem. What limits a server and cannot be read turns it off; what would give it more than
// Troupe gives is never followed.
package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Type is how a server is spoken to.
type Type string

// Types of servers.
const (
	Stdio Type = "stdio" // it is started, and speaks over its standard input and output
	HTTP  Type = "http"  // the streamable HTTP transport
	SSE   Type = "sse"   // the HTTP transport before that one
)

// Entry is one server, as it is written: its variables are not put in yet (see Expand).
type Entry struct {
	Name    string            `json:"name"`
	Type    Type              `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // "" is the session's folder
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	OAuth   *OAuth            `json:"oauth,omitempty"` // what a login is made with; nil: what the server offers
	// Timeout bounds one call, and Start the time until it is ready; 0: as others.
	Timeout time.Duration `json:"timeout,omitempty"`
	Start   time.Duration `json:"start,omitempty"`
	// Off: it is written down and not to be used.
	Off bool `json:"off,omitempty"`
	// Only are the tools that it offers, and Without those that it does not; Only nil: all.
	Only    []string `json:"only,omitempty"`
	Without []string `json:"without,omitempty"`
	// Sandbox is the level that it asks to be started in; "" is the usual one. Who reads a project's file takes it
	// only as far as it is closer.
	Sandbox troupe.Level `json:"sandbox,omitempty"`
}

// OAuth is as which client a user logs in to a server. Without an ID the program registers itself.
type OAuth struct {
	ID     string `json:"id,omitempty"`
	Secret string `json:"secret,omitempty"`
	// the only authorization server that gets them; "": whichever the server names
	Issuer   string   `json:"issuer,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`   // what is asked for; nil: what the server names
	Redirect string   `json:"redirect,omitempty"` // an address of this machine; "": one with a free port
}

// Hash names what the entry says. The name and what only switches it off are not in it.
func (e Entry) Hash() string {
	e.Name, e.Off, e.Timeout, e.Start = "", false, 0, 0
	data, err := json.Marshal(e)
	if err != nil {
		panic("entry: a struct of texts: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Line is what it starts or reaches, on one line, for people. Values of variables and headers are not in it.
func (e Entry) Line() string {
	if e.Type != Stdio {
		return e.URL
	}
	words := []string{word(e.Command)}
	for _, a := range e.Args {
		words = append(words, word(a))
	}
	return strings.Join(words, " ")
}

// word is a word of a command line as a shell would have it: where it has blanks in it, its ends are seen.
func word(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\r\n'\"") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Told is all of the entry that decides what it does, for a person who is asked whether it may. Variables stand in it
// as they are written. How far it is confined says who asks: it is not what the entry says alone.
func (e Entry) Told() string {
	text, with := "connects to "+e.Line(), []string{}
	if e.Type == Stdio {
		text = "runs " + e.Line()
	}
	if e.Cwd != "" {
		text += " in " + e.Cwd
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		with = append(with, name+"="+e.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		with = append(with, "the header "+name+": "+e.Headers[name])
	}
	if o := e.OAuth; o != nil {
		if with = append(with, "login as "+o.Line()); o.Secret != "" {
			with = append(with, "the client's secret "+o.Secret)
		}
	}
	for _, list := range []struct {
		what  string
		tools []string
	}{{"only the tools ", e.Only}, {"without the tools ", e.Without}} {
		if list.tools != nil {
			with = append(with, list.what+strings.Join(list.tools, " "))
		}
	}
	for _, bound := range []struct {
		what string
		time time.Duration
	}{{" for a call", e.Timeout}, {" to start", e.Start}} {
		if bound.time != 0 {
			with = append(with, bound.time.String()+bound.what)
		}
	}
	if len(with) > 0 {
		text += " (with " + strings.Join(with, ", ") + ")"
	}
	return text
}

// Line is as which client a user logs in, for people. A secret is not in it: see Told.
func (o *OAuth) Line() string {
	parts := []string{"a client that registers itself"}
	if o.ID != "" {
		parts[0] = "the client " + o.ID
	}
	for _, p := range [][2]string{{"issuer ", o.Issuer}, {"scopes ", strings.Join(o.Scopes, " ")},
		{"redirect ", o.Redirect}} {
		if p[1] != "" {
			parts = append(parts, p[0]+p[1])
		}
	}
	return strings.Join(parts, ", ")
}

// TooLong says why the entry of a stranger is not used: it cannot be shown whole. "" if it can.
func (e Entry) TooLong() string { return troupe.TooLong(e.Name + " " + e.Told()) }

// Alike reports whether the tools of two servers would have the same names.
func Alike(a, b string) bool { return strings.EqualFold(Safe(a), Safe(b)) }

// Has reports whether the entry lets the server offer a tool.
func (e Entry) Has(tool string) bool {
	names := func(list []string) bool {
		for _, n := range list {
			if strings.EqualFold(n, tool) {
				return true
			}
		}
		return false
	}
	return (e.Only == nil || names(e.Only)) && !names(e.Without)
}

// Problem is something about an entry that its author should know.
type Problem struct {
	Server string // "" is the whole file
	Text   string
	// Unusable: the server, or with none named the file, is left out.
	Unusable bool
}

func (p Problem) String() string {
	if p.Server == "" {
		return p.Text
	}
	return "MCP server " + visible(p.Server) + ": " + p.Text
}

// visible is a name on one line, whatever stands in it.
func visible(s string) string {
	const most = 60
	out := []rune(strings.Map(func(r rune) rune {
		if troupe.Unseen(r) && r != ' ' {
			return '\uFFFD'
		}
		return r
	}, s))
	if len(out) > most {
		return string(out[:most]) + "…"
	}
	return string(out)
}
