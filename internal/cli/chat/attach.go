package chat

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Bounds of what goes with one message.
const (
	attachFile    = 128 << 10 // of one file's text
	attachAll     = 512 << 10 // of all text
	attachImage   = 3_750_000 // bytes of a picture: providers take 5 MB of base64
	attachImages  = 20
	attachEntries = 200 // of a folder
)

// attacher collects what a message names.
type attacher struct {
	cwd, home string
	text      strings.Builder
	images    []troupe.Image
	read      []troupe.FileTouch // files that stand in the text, whole
	notes     []string
	seen      map[string]bool
}

// attach makes a message of a prompt: @path brings a file, a picture or the list of a
// folder along, and so does the bare path of a picture, as terminals write it when one is
// dropped on them. The words stay as they are. The notes say what was taken and what not.
func attach(cwd, home, prompt string) (wire.Message, []string) {
	a := &attacher{cwd: cwd, home: home, seen: make(map[string]bool)}
	for _, w := range words(prompt) {
		switch {
		case w.at:
			a.mention(w)
		case isImageName(w.path):
			a.dropped(w)
		}
	}
	return wire.Message{Text: prompt + a.text.String(), Spoken: wire.Spoken{Images: a.images, Read: a.read}}, a.notes
}

// word is a piece of a prompt that may name a file.
type word struct {
	path string // without quotes and escapes
	at   bool   // it began with @
	open bool   // it stands as it was typed, so that a sentence may end with it
}

// words cuts a prompt at spaces, the way a shell would: quotes and backslashes keep spaces
// together. An @ counts at the beginning of a word only; elsewhere it is an address.
func words(s string) []word {
	var out []word
	for s != "" {
		s = strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("([{", r) })
		if s == "" {
			break
		}
		var w word
		if s[0] == '@' {
			w.at, s = true, s[1:]
		}
		w.path, w.open, s = unquote(s)
		if w.path != "" {
			out = append(out, w)
		}
	}
	return out
}

// unquote takes one word off s.
func unquote(s string) (path string, open bool, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if i := strings.IndexByte(s[1:], s[0]); i >= 0 && !strings.Contains(s[1:1+i], "\n") {
			return s[1 : 1+i], false, s[i+2:]
		}
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\\' && i+1 < len(s) && strings.IndexByte(` ()[]{}'"&;!$@#*?<>|\~`+"`", s[i+1]) >= 0 {
			b.WriteByte(s[i+1])
			i += 2
			continue
		}
		if unicode.IsSpace(r) {
			return b.String(), true, s[i:]
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String(), true, ""
}

func isImageName(p string) bool {
	switch strings.ToLower(filepath.Ext(p)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, "./") ||
			strings.HasPrefix(p, "file://")
	}
	return false
}

// resolve finds the file a word names. The end of a sentence is not part of it.
func (a *attacher) resolve(w word) (string, os.FileInfo, error) {
	p := w.path
	for {
		full := a.absolute(p)
		info, err := os.Stat(full)
		if err == nil || !w.open {
			return full, info, err
		}
		_, n := utf8.DecodeLastRuneInString(p)
		if n == 0 || !strings.ContainsAny(p[len(p)-n:], ".,;:!?)]}'\"") {
			return full, nil, err
		}
		p = p[:len(p)-n]
	}
}

func (a *attacher) absolute(p string) string {
	if u, err := url.Parse(p); err == nil && u.Scheme == "file" {
		p = u.Path
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && a.home != "" {
		return filepath.Join(a.home, rest)
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(a.cwd, p)
	}
	return filepath.Clean(p)
}

func (a *attacher) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// dropped takes a picture that was named without an @. What is none stays what it was.
func (a *attacher) dropped(w word) {
	full, info, err := a.resolve(w)
	if err == nil && info.Mode().IsRegular() && !a.seen[full] {
		a.seen[full] = true
		a.picture(full, info)
	}
}

func (a *attacher) mention(w word) {
	full, info, err := a.resolve(w)
	shown := a.shown(full)
	switch {
	case err != nil:
		a.note("@%s: there is no such file here; sent as text", console.Line(w.path, 60))
		return
	case a.seen[full]:
		return
	}
	a.seen[full] = true
	switch {
	case info.IsDir():
		a.folder(full, shown)
	case !info.Mode().IsRegular():
		a.note("not attached: %s is not a file", shown)
	default:
		if a.picture(full, info) {
			return
		}
		a.file(full, shown, info.Size())
	}
}

// shown is a path as it is told: below the folder without it.
func (a *attacher) shown(full string) string {
	if rel, err := filepath.Rel(a.cwd, full); err == nil && filepath.IsLocal(rel) {
		return console.Line(rel, 200)
	}
	return console.Line(full, 200)
}

// picture attaches a file if it is a picture, and reports whether it is one.
func (a *attacher) picture(full string, info os.FileInfo) bool {
	head, err := readUpTo(full, 512)
	if err != nil {
		return false
	}
	kind := http.DetectContentType(head)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return false
	}
	shown := a.shown(full)
	if info.Size() > attachImage {
		a.note("not attached: %s has %.1f MB; a model takes %.1f", shown, float64(info.Size())/1e6,
			attachImage/1e6)
		return true
	}
	if len(a.images) == attachImages {
		a.note("not attached: %s; a message takes %d pictures", shown, attachImages)
		return true
	}
	data, err := readUpTo(full, attachImage)
	if err != nil {
		a.note("not attached: %s: %v", shown, err)
		return true
	}
	a.images = append(a.images, troupe.Image{MediaType: kind, Data: data})
	a.note("attached picture %s", shown)
	return true
}

func readUpTo(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, n))
}

func (a *attacher) file(full, shown string, size int64) {
	room := min(attachFile, int64(attachAll-a.text.Len()))
	if room <= 0 {
		a.note("not attached: %s; the message is full, but the agent can read the file", shown)
		return
	}
	data, err := readUpTo(full, room)
	if err != nil {
		a.note("not attached: %s: %v", shown, err)
		return
	}
	if bytes.IndexByte(data, 0) >= 0 {
		a.note("not attached: %s is not text", shown)
		return
	}
	more := ""
	if int64(len(data)) < size {
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		more = fmt.Sprintf("the first %d of %d bytes; the rest was left out", len(data), size)
		a.note("%s: %s", shown, more)
	} else {
		a.note("attached %s", shown)
		a.read = append(a.read, troupe.FileTouch{Path: full, Hash: troupe.ContentHash(data)})
	}
	a.block("file", shown, more, strings.ToValidUTF8(string(data), "\uFFFD"))
}

func (a *attacher) folder(full, shown string) {
	f, err := os.Open(full)
	if err != nil {
		a.note("not attached: %s: %v", shown, err)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	entries, err := f.ReadDir(attachEntries + 1)
	if err != nil && len(entries) == 0 &&
		err != io.EOF { //nolint:errorlint // ReadDir says that it returns io.EOF itself
		a.note("not attached: %s: %v", shown, err)
		return
	}
	more := ""
	if len(entries) > attachEntries {
		entries, more = entries[:attachEntries], fmt.Sprintf("%d entries and no more of them", attachEntries)
	}
	var b strings.Builder
	for _, e := range sortedNames(entries) {
		b.WriteString(e + "\n")
	}
	a.note("attached the list of files in %s", shown)
	a.block("folder", shown, more, b.String())
}

// block puts content behind the words, between marks that nothing in it can imitate.
func (a *attacher) block(kind, path, more, content string) {
	if more != "" {
		more = fmt.Sprintf(" note=%q", more)
	}
	end := "</attached-" + kind + ">"
	content = strings.ReplaceAll(content, "</attached-", "<\\/attached-")
	fmt.Fprintf(&a.text, wire.Attached+"%s path=%q%s>\n%s\n%s", kind, path, more, strings.TrimSuffix(content, "\n"),
		end)
}
