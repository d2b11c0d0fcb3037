// Package files is the tools that read and change single files: Read, Write and Edit.
//
// A file is opened at exactly the place that the gate judged, and nothing but a regular file
// is; how a change is made, and what it is compared with before, is package change. Stage is
// the way back: it gives a file an earlier content under the same rules. Nothing here starts a
// goroutine that outlives its call.
package files

import (
	"os/exec"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// Options are what may differ from the default.
type Options struct {
	// LookPath finds helper programs (pdftotext); nil means exec.LookPath.
	LookPath func(name string) (string, error)
	// Locks keep changes of one file apart. All agents of a process, and all tools that
	// change files, must share one; nil makes new ones.
	Locks *tool.Locks
}

// New returns Read, Write and Edit.
func New(o Options) []tool.Descriptor {
	if o.LookPath == nil {
		o.LookPath = exec.LookPath
	}
	if o.Locks == nil {
		o.Locks = tool.NewLocks()
	}
	return []tool.Descriptor{
		(&readTool{lookPath: o.LookPath}).describe(), (&writeTool{locks: o.Locks}).describe(),
		(&editTool{locks: o.Locks}).describe(),
	}
}

// cleanText makes bytes fit for a model and for the log: broken UTF-8 and NUL are replaced.
func cleanText(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}

// Sweep removes what processes that are gone left in a folder while they wrote its files.
func Sweep(folder string) { safefile.Sweep(folder) }
