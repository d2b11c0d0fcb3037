package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// kept is a file of rules that the user answered "always" to, in one folder. It stands in the
// user's own settings and not in the folder, so that nothing that comes with a folder can
// look like it, and no agent can write it.
type kept struct {
	Folder string   `json:"folder"`
	Allow  []string `json:"allow"`
}

// Kept is the file that holds what the user always allows in a folder.
func (d Dirs) Kept(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, filepath.Base(folder))
	return filepath.Join(d.Folders(), strings.TrimLeft(name, ".")+"-"+hex.EncodeToString(sum[:6])+".json")
}

// KeptRules reads that file. None is no error.
func KeptRules(file string) ([]troupe.Rule, error) {
	k, err := readKept(file)
	var out []troupe.Rule
	for _, text := range k.Allow {
		out = append(out, troupe.Rule{Effect: troupe.Allow, Text: text, Source: file})
	}
	return out, err
}

func readKept(file string) (kept, error) {
	var k kept
	data, err := disk.Read(file, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, fmt.Errorf("read what is always allowed here: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&k); err != nil {
		return kept{}, &troupe.UserError{
			Problem: file + " cannot be read: " + err.Error(),
			Hint:    `It has the form {"folder": "/path", "allow": ["Bash(make)"]}. Mend it or take it away; its rules count for nothing until then.`, Code: troupe.ExitUsage, Err: err,
		}
	}
	return k, nil
}

// Keep adds an allow rule to the file of a folder.
func Keep(file, folder, rule string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep the rule: %w", err)
	}
	// Answers come from several processes at once, and none may overwrite what another has kept.
	unlock, err := lockedfile.MutexAt(filepath.Join(filepath.Dir(file), ".lock")).Lock()
	if err != nil {
		return fmt.Errorf("keep the rule: %w", err)
	}
	defer unlock()
	k, err := readKept(file)
	if err != nil {
		return err
	}
	k.Folder = folder
	if slices.Contains(k.Allow, rule) {
		return nil
	}
	k.Allow = append(k.Allow, rule)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(k); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := disk.Replace(file, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("keep the rule: %w", err)
	}
	return nil
}
