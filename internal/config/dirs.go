// Package config knows where Troupe keeps its things and reads settings: an administrator's,
// the user's and a project's, our own files and Claude Code's.
//
// Settings decide what agents may do, so what is read must never be more open than what was
// meant. A file of the user's or an administrator's that cannot be followed stops the start,
// for its prohibitions would be lost. A project's files are a stranger's: they can forbid, and
// what they allow counts only once the user has trusted the folder (see package trust); what is
// not a project's to decide they cannot say at all. Nothing here runs anything, git included.
package config

import (
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Dirs are the folders of one Troupe home. None of them needs to exist yet.
type Dirs struct {
	Config string // settings.json and models.yaml, written by people
	Data   string // the database and large outputs, written by Troupe
	Run    string // sockets and locks of running processes; may be emptied at any restart
	// Worktrees is where agents have folders of their own. It is in none of the others, which no agent may write.
	Worktrees string
	Home      string // the user's home, "" if there is none: anchors ~/ and ~/.claude
}

// FindDirs works out the folders from the environment. $TROUPE_HOME puts everything into
// one folder, which is also how to have several homes side by side; otherwise the XDG
// variables and their standard fallbacks count.
func FindDirs(lookup func(name string) (string, bool)) (Dirs, error) {
	// As XDG says, a relative path in one of its variables is as good as none.
	absolute := func(name string) string {
		v, _ := lookup(name)
		if !filepath.IsAbs(v) {
			return ""
		}
		return filepath.Clean(v)
	}
	d := Dirs{Home: absolute("HOME")}
	if d.Home == "" {
		d.Home = absolute("USERPROFILE")
	}
	if v, ok := lookup("TROUPE_HOME"); ok && v != "" {
		if !filepath.IsAbs(v) {
			return Dirs{}, &troupe.UserError{
				Problem: "TROUPE_HOME is " + quote(v) + ", which is not an absolute path",
				Hint:    "set it to a folder that begins at the root, such as /home/you/troupe", Code: troupe.ExitUsage,
			}
		}
		v = filepath.Clean(v)
		d.Config, d.Data, d.Run, d.Worktrees = v, v, filepath.Join(v, "run"), v+"-worktrees"
		return d, nil
	}
	config, data := absolute("XDG_CONFIG_HOME"), absolute("XDG_DATA_HOME")
	if (config == "" || data == "") && d.Home == "" {
		return Dirs{}, &troupe.UserError{
			Problem: "there is no folder to keep sessions in: HOME is not set to an absolute path",
			Hint:    "set HOME, or set TROUPE_HOME to the folder that is to hold everything of Troupe's",
			Code:    troupe.ExitUsage,
		}
	}
	if config == "" {
		config = filepath.Join(d.Home, ".config")
	}
	if data == "" {
		data = filepath.Join(d.Home, ".local", "share")
	}
	d.Config, d.Data = filepath.Join(config, "troupe"), filepath.Join(data, "troupe")
	switch state := absolute("XDG_STATE_HOME"); {
	case state != "":
		d.Worktrees = filepath.Join(state, "troupe", "worktrees")
	case d.Home != "":
		d.Worktrees = filepath.Join(d.Home, ".local", "state", "troupe", "worktrees")
	default:
		d.Worktrees = filepath.Join(data, "troupe-worktrees")
	}
	// XDG names no fallback for the runtime folder. Ours is private to the user, which
	// the system's temporary folder would not be.
	d.Run = filepath.Join(d.Data, "run")
	if run := absolute("XDG_RUNTIME_DIR"); run != "" {
		d.Run = filepath.Join(run, "troupe")
	}
	return d, nil
}

// Scratchpads holds the folders that the agents of a tree share, beside Worktrees and as far from what no agent writes.
func (d Dirs) Scratchpads() string { return d.beside("scratchpads") }

// Caches holds the build caches of a server's projects, a folder for each, in the same place.
func (d Dirs) Caches() string { return d.beside("caches") }

func (d Dirs) beside(name string) string {
	beside, ok := strings.CutSuffix(d.Worktrees, "worktrees")
	if !ok {
		return ""
	}
	return beside + name
}

// Checkouts holds the folders of repositories that a server has checked out, beside Worktrees for the same reason.
func (d Dirs) Checkouts() string {
	beside, ok := strings.CutSuffix(d.Worktrees, "worktrees")
	if !ok {
		return ""
	}
	return beside + "checkouts"
}

// Settings is the user's settings file.
func (d Dirs) Settings() string { return filepath.Join(d.Config, "settings.json") }

// Models is the user's own table of models and prices.
func (d Dirs) Models() string { return filepath.Join(d.Config, "models.yaml") }

// Servers is the file of the user's own MCP servers, with their keys.
func (d Dirs) Servers() string { return filepath.Join(d.Config, "mcp.json") }

// Folders holds what the user chose for single folders: rules, and MCP servers with their keys.
func (d Dirs) Folders() string { return filepath.Join(d.Config, "folders") }

// Workspaces holds what is kept of the folders in Worktrees.
func (d Dirs) Workspaces() string { return filepath.Join(d.Data, "workspaces") }

// Ledgers holds what is to be put back should a process be killed while a command runs.
func (d Dirs) Ledgers() string { return filepath.Join(d.Data, "ledgers") }

// Database is the file that holds every session.
func (d Dirs) Database() string { return filepath.Join(d.Data, "troupe.db") }

// Logins is the folder of what users got by logging in to MCP servers.
func (d Dirs) Logins() string { return filepath.Join(d.Data, "logins") }

// Definitions holds what was made of files of definitions, for the next process: it stands for the user's own files.
func (d Dirs) Definitions() string { return filepath.Join(d.Data, "definitions") }

// History is the file in which what a person entered is kept for them.
func (d Dirs) History() string { return filepath.Join(d.Data, "history") }

// PlansFolder is the folder of plans, below Data.
const PlansFolder = "plans"

// Outputs is the folder of outputs too large for a log, a folder per session.
func (d Dirs) Outputs() string { return filepath.Join(d.Data, "outputs") }
