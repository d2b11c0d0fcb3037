package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sandbox"
)

// ModelRow is a model that could be used, as `troupe models` shows it.
type ModelRow struct {
	Name      string  `json:"name"` // "provider/id"
	Window    int     `json:"window,omitempty"`
	MaxOutput int     `json:"max_output,omitempty"`
	Priced    bool    `json:"priced"`
	Input     float64 `json:"input_usd_per_mtok"`
	Output    float64 `json:"output_usd_per_mtok"`
	CacheRead float64 `json:"cache_read_usd_per_mtok"`
	Served    bool    `json:"served"` // the server itself has it in its list
	// Trained is how many tokens the model was made for, where the server tells.
	Trained int `json:"trained_window,omitempty"`
}

// ModelList is what is configured, and what is wrong with it.
type ModelList struct {
	Default   string            `json:"default"`
	Aliases   map[string]string `json:"aliases"`
	Models    []ModelRow        `json:"models"`
	Problems  []string          `json:"problems"`
	Providers []string          `json:"providers"` // those that could be asked
}

// Diagnosis is what `troupe doctor` found. It says whether a key is there, never which.
type Diagnosis struct {
	Version  string        `json:"version"`
	Config   string        `json:"config_dir"`
	Data     string        `json:"data_dir"`
	Database Database      `json:"database"`
	Model    string        `json:"model"`
	Provider ProviderCheck `json:"provider"`
	// Providers are all that could be asked, whichever the chosen model is of.
	Providers []string        `json:"providers"`
	Programs  []Program       `json:"programs"`
	Kernel    sandbox.Support `json:"kernel"`
	// Environment are the names of the variables that commands get.
	Environment []string    `json:"environment"`
	Agents      []AgentFile `json:"agents"`
	Problems    []string    `json:"problems"`
	// Window is what a test of the model's window found; nil if it was not tested, because
	// its provider has a price.
	Window *WindowCheck `json:"window,omitempty"`
	// Waiting lists the sessions that wait for their model, with what keeps it.
	Waiting []WaitingSession `json:"waiting"`
}

// WaitingSession is a session whose model call failed and will be made again.
type WaitingSession struct {
	ID    troupe.SessionID `json:"id"`
	Model string           `json:"model"`
	Why   string           `json:"why"`
	Until time.Time        `json:"until,omitzero"`
	Left  bool             `json:"left,omitempty"` // no process runs it
}

// Database describes the file that holds everything.
type Database struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Version int    `json:"schema_version"`
	// Damage says what of it is damaged, and Checked whether there was time to look at all of it.
	Damage  []string `json:"damage,omitempty"`
	Checked bool     `json:"checked"`
}

// Repair is what `troupe doctor --repair` came to. Without a damaged file there was no damage.
type Repair struct {
	Database string             `json:"database"`
	Damaged  string             `json:"damaged,omitempty"` // where the damaged file is now
	Torn     string             `json:"torn,omitempty"`    // what was lost with the write-ahead log
	Whole    int                `json:"whole"`             // sessions that lost nothing
	Cut      []CutSession       `json:"cut,omitempty"`     // those that lost the end of their log
	Lost     []troupe.SessionID `json:"lost,omitempty"`    // those of which too little was left
	Events   int                `json:"events"`
	// EventsLost is at least so many.
	EventsLost int `json:"events_lost"`
	Mail       int `json:"unread_mail"`
	Records    int `json:"records"` // values that belong to no session
	// BadRows could not be read. UnknownRows have no form that this version knows.
	BadRows     int `json:"bad_rows"`
	UnknownRows int `json:"unknown_rows"`
}

// CutSession is a session that lost the end of its log.
type CutSession struct {
	ID   troupe.SessionID `json:"id"`
	Name string           `json:"name,omitempty"`
	Why  string           `json:"why"`
}

// ProviderCheck says whether a model is to be had, without asking the provider.
type ProviderCheck struct {
	Name    string `json:"name"`
	BaseURL string `json:"base_url,omitempty"`
	Key     bool   `json:"key_present"`
	KeyEnv  string `json:"key_env,omitempty"` // the variable that holds it, if there is one
	Ready   bool   `json:"ready"`
}

// Program is a helper that Troupe uses when it is there.
type Program struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
	Text  string `json:"version,omitempty"`
	For   string `json:"for"`
}

// AgentFile is one type of agent that can be started here.
type AgentFile struct {
	Name   string   `json:"name"`
	Source string   `json:"source"`
	Model  string   `json:"model"`
	Tools  []string `json:"tools"`
}

// WindowCheck is what `troupe doctor` found about the window of one model.
type WindowCheck struct {
	Model   string `json:"model"`
	Claimed int    `json:"claimed"`
	Verdict string `json:"verdict"` // holds, truncates, refuses, unknown
	Read    int    `json:"read,omitempty"`
	// Real is the most that the window can be, if it is smaller than claimed.
	Real   int    `json:"real,omitempty"`
	Advice string `json:"advice"`
}
