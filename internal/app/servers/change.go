package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// FileOf is the file that servers of a scope are written to, for a folder.
func FileOf(d config.Dirs, scope Scope, cwd string) (string, error) {
	switch scope {
	case ScopeUser:
		return d.Servers(), nil
	case ScopeLocal:
		return localFile(d, cwd), nil
	case ScopeProject:
		return filepath.Join(cwd, projectFile), nil
	default:
		return "", &troupe.UserError{Problem: fmt.Sprintf("there is no scope %q", scope),
			Hint: "The scopes are local (you, in this folder), project (.mcp.json) and user.", Code: troupe.ExitUsage}
	}
}

// Change writes an entry into a file, or takes the server out if there is none. What else stands there stays.
func Change(file, name string, raw json.RawMessage) error {
	refused := func(err error) error {
		return &troupe.UserError{Problem: fmt.Sprintf("%s was not changed: %v", file, err), Code: troupe.ExitUsage,
			Err: err}
	}
	data, err := disk.Read(file, entry.MaxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refused(err)
	}
	out, there, err := entry.Edit(data, name, raw)
	if err != nil {
		return refused(err)
	}
	if raw == nil && !there {
		return &troupe.UserError{Problem: fmt.Sprintf("there is no MCP server %q in %s", name, file),
			Hint: "`troupe mcp list` shows where each one stands.", Code: troupe.ExitUsage}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return refused(err)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	} else if filepath.Base(file) == projectFile {
		mode = 0o644 // it is shared
	}
	if err := disk.Replace(file, out, mode); err != nil {
		return refused(err)
	}
	return nil
}

// Standing is the entry of a server as it stands in a file; nil if it has none.
func Standing(file, name string) json.RawMessage {
	data, err := disk.Read(file, entry.MaxFile)
	if err != nil {
		return nil
	}
	return entry.In(data, name)
}
