// Package workspace knows the folder a session works in: what it is, and what git says of
// it. Whatever it runs is its own, with its own arguments and environment, and made so that
// a repository somebody else prepared cannot turn it into running theirs.
//
// Functions are safe for concurrent use and leave no process or goroutine behind when they
// return. They end soon after their context does.
package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/troupe-dev/troupe"
)

// Resolve returns the folder's absolute path without symbolic links, which is the only
// form that paths can be compared in. A relative cwd is taken from base.
func Resolve(base, cwd string) (string, error) {
	if cwd == "" {
		cwd = "."
	}
	if strings.ContainsRune(cwd, 0) {
		return "", folderError(cwd, "has a NUL byte in its name", nil)
	}
	path := cwd
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	if !filepath.IsAbs(path) {
		return "", folderError(cwd, "is relative to nothing", nil)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", folderError(cwd, "cannot be found: "+err.Error(), err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", folderError(cwd, "cannot be looked at: "+err.Error(), err)
	}
	if !info.IsDir() {
		return "", folderError(cwd, "is not a folder", nil)
	}
	return path, nil
}

func folderError(cwd, problem string, err error) error {
	return &troupe.UserError{
		Problem: "the folder to work in, " + visible(cwd) + ", " + problem,
		Hint:    "name an existing folder with --cwd", Code: troupe.ExitUsage, Err: err,
	}
}

// Environment is what a session is told about where it is when it starts.
type Environment struct {
	Dir      string
	Platform string // "linux/amd64, Debian GNU/Linux 13, kernel 6.12.1"
	Shell    string // that commands run in
	Git      Git
	Date     string // "2026-03-01 (Sunday)"
}

// Describe puts the environment together.
func Describe(dir string, git Git, now time.Time) Environment {
	return Environment{
		Dir: dir, Platform: platform(), Shell: shell(), Git: git,
		Date: now.Format("2006-01-02 (Monday)"),
	}
}

// Block is the environment as text for a model: what never changes first, what changes
// most last.
func (e Environment) Block() string {
	return fmt.Sprintf("Environment:\n- platform: %s\n- shell: %s\n- date: %s\n- folder: %s\n- git: %s\n", e.Platform,
		e.Shell, e.Date, visible(e.Dir), e.Git)
}

// platform is the system and, as far as it says, its version.
func platform() string {
	parts := []string{runtime.GOOS + "/" + runtime.GOARCH}
	for _, version := range systemVersion() {
		if version = strings.TrimSpace(version); version != "" {
			parts = append(parts, visible(version))
		}
	}
	return strings.Join(parts, ", ")
}

// shell is what the Bash tool runs commands in.
func shell() string {
	for _, name := range [...]string{"bash", "sh"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return "none was found"
}

// visible returns a name as it is if it can only be a name. One with control characters
// or angle brackets is quoted, so that it cannot pose as other lines or as a tag.
func visible(s string) string {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || r == '<' || r == '>' || r == unicode.ReplacementChar
	}
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(strconv.Quote(s))
}
