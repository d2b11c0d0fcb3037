// Package front reads Markdown files that begin with front matter, as people and other programs write
// them: agents, skills, commands, rules. Much of what is in use is not quite YAML. What can be put right is,
// and is said; what cannot be read is a value of its own kind, so that a restriction in it is not taken
// for one that is missing.
package front

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/disk"
)

// MaxFile is the most bytes of a file that are read, far more than a prompt should have.
const MaxFile = 256 << 10

// Document is a file, taken apart.
type Document struct {
	// Marked: there is front matter, however empty.
	Marked bool
	Fields []Field
	// Loose are lines of front matter that is not YAML which may be fields of known keys, or parts of a text.
	Loose []Field
	Body  string // without blank lines around it
	// Line is the first line of the front matter, or of the body where there is none.
	Line int
	// Notes are what was put right.
	Notes []Problem
}

// Field is one key. A key that stands twice is two fields.
type Field struct {
	Key   string
	Line  int // from 1
	Value Value
}

// Problem is something about a file that its author should know.
type Problem struct {
	Line int // 0: the whole file
	Text string
}

func (p *Problem) Error() string { return p.Text }

// Kind is what a value is.
type Kind int

// Kinds of values.
const (
	Unreadable Kind = iota // written so that nothing certain can be said of it
	Nothing                // the key alone, or null
	Text                   // also numbers and truth values, as written
	List                   // of texts
	Tree                   // anything deeper, in JSON
)

// Value is the value of a field.
type Value struct {
	Kind Kind
	Text string
	List []string
	JSON json.RawMessage
}

// Words are the texts of a list, or of a text with commas between them.
func (v Value) Words() []string {
	words := v.List
	if v.Kind == Text {
		words = strings.Split(v.Text, ",")
	}
	var out []string
	for _, w := range words {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// Folder is where files are opened: an *os.Root where links must not lead out, or Plain.
type Folder interface {
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
}

// Plain is a folder whose links may lead anywhere.
type Plain string

// OpenFile implements Folder.
func (p Plain) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(filepath.Join(string(p), name), flag, perm)
}

// open opens without waiting, should the name be a pipe that no process writes to.
func open(in Folder, name string) (*os.File, error) {
	return in.OpenFile(filepath.FromSlash(name), disk.Flags, 0)
}

// ReadFile reads a regular file of at most MaxFile bytes.
func ReadFile(in Folder, name string) ([]byte, error) {
	data, _, err := readFile(in, name)
	return data, err
}

// readFile also tells what the file was before it was read.
func readFile(in Folder, name string) (data []byte, info os.FileInfo, err error) {
	data, _, err = read(in, name, func(opened os.FileInfo) (string, error) {
		info = opened
		return "", nil
	})
	if err == nil && len(data) > MaxFile {
		return nil, nil, fmt.Errorf("it is larger than %d KB", MaxFile>>10)
	}
	return data, info, err
}

// ReadReal is ReadFile of a file whose whole name is path, if allow lets the one that is read: it is told its name
// without links. Who changes a link between the look and the reading has another file read than was looked at; such a
// file is an error. Of a file that is larger than MaxFile the beginning is returned, with one byte more.
func ReadReal(in Folder, name, path string, allow func(real string) error) (data []byte, real string, err error) {
	return read(in, name, func(opened os.FileInfo) (string, error) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", err
		}
		if named, err := os.Lstat(real); err != nil || !os.SameFile(opened, named) {
			return "", errors.New("a link in its name was changed while it was opened")
		}
		return real, allow(real)
	})
}

func read(in Folder, name string, look func(opened os.FileInfo) (string, error)) (data []byte, real string,
	err error) {
	f, err := open(in, name)
	if err != nil {
		return nil, "", err
	}
	info, err := f.Stat()
	if err == nil {
		real, err = look(info)
	}
	if err != nil {
		return nil, real, errors.Join(err, f.Close())
	}
	if data, _, err = disk.ReadFrom(f, MaxFile); errors.Is(err, disk.ErrTooLarge) {
		err = nil // whoever wants all of it looks at how much there is
	}
	return data, real, err
}

// Parse takes a file apart. known tells which keys have a meaning: in front matter that is not YAML only their
// lines begin a field. The error, a *Problem, means that the file is not text or that its front matter
// has no end.
func Parse(data []byte, known func(key string) bool) (Document, error) {
	var doc Document
	text, err := doc.normalise(data)
	if err != nil {
		return Document{}, err
	}
	front, body, err := doc.split(text, known)
	if err != nil {
		return Document{}, err
	}
	doc.Body = strings.TrimSpace(body)
	if doc.Marked {
		doc.readFields(front, known)
	} else {
		doc.Loose = opening(body, known)
	}
	return doc, nil
}

// normalise makes UTF-8 text with line feeds of what there is.
func (d *Document) normalise(data []byte) (string, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", &Problem{Text: "the file contains a NUL byte, so it is not text"}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, size := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		d.Notes = append(d.Notes, Problem{Line: 1 + bytes.Count(data[:at], []byte("\n")),
			Text: "this is not UTF-8; what cannot be read is shown as �"})
	}
	text := strings.ToValidUTF8(string(data), "�")
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), nil
}

// split finds the front matter.
func (d *Document) split(text string, known func(string) bool) (front, body string, err error) {
	n, open, start, at := 0, 0, 0, 0
	for line := range strings.Lines(text) {
		n++
		end := at + len(line)
		switch line = strings.TrimRight(line, " \t\n"); {
		case open == 0 && line == "":
		case open == 0 && !opens(line):
			if at := late(text, known); at > 0 {
				return "", "", &Problem{Line: at, Text: "front matter begins here, and something stands before it; " +
					"nothing may"}
			}
			d.Line = n
			return "", text, nil
		case open == 0:
			open, start = n, end
		case line == "---":
			d.Marked, d.Line = true, open+1
			return text[start:at], text[end:], nil
		}
		at = end
	}
	if open == 0 {
		return "", "", &Problem{Text: "the file is empty"}
	}
	return "", "", &Problem{Line: open, Text: "the front matter that begins here does not end; close it with a line " +
		"of three dashes"}
}

// opens: three dashes begin front matter, also with a comment behind them.
func opens(line string) bool {
	rest, ok := strings.CutPrefix(line, "---")
	return ok && (rest == "" || strings.HasPrefix(strings.TrimLeft(rest, " \t"), "#") && rest[0] != '#')
}

// late finds front matter that is not at the beginning: three dashes with a known field behind them.
func late(text string, known func(string) bool) int {
	n, dashes := 0, false
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, " \t\n")
		if key, _, ok := cutKey(line); dashes && ok && known(key) {
			return n - 1
		}
		dashes = opens(line)
	}
	return 0
}

// PlainKey is a key of front matter without regard to case and to how its words are joined.
func PlainKey(key string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(key, "-", ""), "_", ""))
}
