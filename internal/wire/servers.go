package wire

import "encoding/json"

// ServerQuery asks which MCP servers hold at a place.
type ServerQuery struct {
	Place
	// Test is a server to start, or reach, to ask what it offers; "": what is known of them is told.
	Test string `json:"test,omitempty"`
}

// ServerList is the MCP servers that are written down.
type ServerList struct {
	Servers  []ServerRow `json:"servers"`
	Problems []string    `json:"problems"`
}

// ServerRow is one of them. Values of its variables and headers are not told.
type ServerRow struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Line    string   `json:"line"` // what it starts, or where it answers
	Scope   string   `json:"scope"`
	Source  string   `json:"source"`
	ETag    string   `json:"etag,omitempty" doc:"Of its entry in the file of its scope; for If-Match"`
	Shadows []string `json:"shadows,omitempty"`
	Env     []string `json:"env,omitempty"` // names
	Headers []string `json:"headers,omitempty"`
	// Client is as which client the user logs in, without its secret.
	Client string `json:"client,omitempty"`
	// Variables are those of the environment that it takes.
	Variables []string `json:"variables,omitempty"`
	Sandbox   string   `json:"sandbox,omitempty"`
	Login     string   `json:"login,omitempty"` // of the user: "in", "expired", "" without one
	// Off says why it is not used, and Failed why what it offers is not known; "" if that is not so.
	Off    string `json:"off,omitempty"`
	Failed string `json:"failed,omitempty"`
	// Tools are what it offers, as far as that is known.
	Tools     []ServerTool `json:"tools"`
	Resources bool         `json:"resources,omitempty"`
	Prompts   []string     `json:"prompts,omitempty"`
}

// LoginAction is what is to become of a login.
type LoginAction string

// What can be done.
const (
	LoginBegin LoginAction = "begin" // tells what a person has to open
	LoginWait  LoginAction = "wait"  // until that has come to something, or the caller goes, which gives it up
	LoginOut   LoginAction = "out"   // forgets it
)

// ServerLogin is about the user's login at an MCP server that holds in a folder as it is trusted.
type ServerLogin struct {
	Cwd    string      `json:"cwd"`
	Name   string      `json:"name"`
	Action LoginAction `json:"action"`
	Scopes []string    `json:"scopes,omitempty"` // to begin with: what is asked for besides what the server names
	ID     string      `json:"id,omitempty"`     // to wait for
}

// ServerLogged is how that stands.
type ServerLogged struct {
	// ID names a login that was begun, Address is what a person opens in a browser, and Redirect where the browser is
	// sent then.
	ID       string `json:"id,omitempty"`
	Address  string `json:"address,omitempty"`
	Redirect string `json:"redirect,omitempty"`
	// Server is what it offers, once the user is logged in.
	Server *ServerRow `json:"server,omitempty"`
	// Gone: there was a login, which is forgotten.
	Gone bool `json:"gone,omitempty"`
}

// ServerTool is one tool of a server.
type ServerTool struct {
	Name        string `json:"name"` // as models and rules have it
	Description string `json:"description,omitempty"`
}

// ServerChange writes an entry into the file of a scope, "local", "project" or "user"; without an entry it takes the
// server out.
type ServerChange struct {
	Precondition

	Cwd   string          `json:"cwd"`
	Scope string          `json:"scope,omitempty"` // "": where it is when it is taken out; local when it is put in
	Name  string          `json:"name"`
	Entry json.RawMessage `json:"entry,omitempty"`
}

// ServerChanged says what a change came to.
type ServerChanged struct {
	File  string   `json:"file"`
	Notes []string `json:"notes,omitempty"`
	ETag  string   `json:"etag,omitempty" doc:"Of the entry as it is now; for If-Match"`
}

// Tag is its ETag.
func (s ServerChanged) Tag() string { return s.ETag }
