package app

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// learned are credentials that were found in files which agents may not read, and those that Troupe itself keeps. The
// same words can stand elsewhere (in an older commit, in a program's output), where no kernel hides them; so they are
// masked like those of the environment. However many of them one file or one project holds, the others are masked.
type learned struct {
	mu    sync.RWMutex
	files map[string]map[string]fs.FileInfo // by project, as they were when they were read
	marks map[string]string                 // by value
	// sorted are the values by how they begin, the longest first, and begins tells quickly that there is none.
	sorted map[string][]string
	begins [1 << 16 / 64]uint64
}

// pair is a credential and what stands in its place.
type pair struct{ value, mark string }

// What is read of a project's hidden files: enough for those that hold credentials, and no more.
const (
	maxLearnedFiles = 500
	maxLearnedBytes = 64 << 10
	// leastSecret is the shortest value that is masked; see worthMasking.
	leastSecret = 8
)

// from reads the files of a project that were not read before, or that were changed or saved anew since.
func (l *learned) from(project string, files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		l.files = map[string]map[string]fs.FileInfo{}
	}
	read := l.files[project]
	if read == nil {
		read = map[string]fs.FileInfo{}
		l.files[project] = read
	}
	for _, name := range files {
		was, known := read[name]
		if !known && len(read) >= maxLearnedFiles {
			continue
		}
		info, err := os.Stat(name)
		if err != nil || known && os.SameFile(was, info) && was.ModTime().Equal(info.ModTime()) &&
			was.Size() == info.Size() {
			continue
		}
		read[name] = info
		for _, p := range credentials(name) {
			l.add(p)
		}
	}
}

// secret is a credential that Troupe itself keeps. Servers are sent it, and repeat it in other forms.
func (l *learned) secret(value, name string) {
	if !worthMasking(value) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, form := range forms(value) {
		l.add(pair{form, maskMark + name + "›"})
	}
}

// forms are how a secret may stand in what a server says: as it is, escaped, and in base64, of which only what does
// not depend on the text around is looked for.
func forms(value string) []string {
	out := []string{value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value)),
		inJSON(value, true), inJSON(value, false)}
	for before := range 3 {
		text := strings.Repeat("x", before) + value
		whole := len(text) / 3 * 4
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if coded := e.EncodeToString([]byte(text))[:whole]; before == 0 {
				out = append(out, coded)
			} else {
				out = append(out, coded[min(4, whole):]) // the first group holds what stands before
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < leastSecret })
}

// add has a value masked. The first mark of a value counts.
func (l *learned) add(p pair) {
	if l.marks == nil {
		l.marks, l.sorted = map[string]string{}, map[string][]string{}
	}
	if _, known := l.marks[p.value]; known {
		return
	}
	l.marks[p.value] = p.mark
	head := p.value[:leastSecret]
	at, _ := slices.BinarySearchFunc(l.sorted[head], p.value, func(a, b string) int { return len(b) - len(a) })
	l.sorted[head] = slices.Insert(l.sorted[head], at, p.value)
	two := int(head[0])<<8 | int(head[1])
	l.begins[two/64] |= 1 << (two % 64)
}

// at is the longest value that begins at a place of a text; "" if none does.
func (l *learned) at(t string, i int) string {
	two := int(t[i])<<8 | int(t[i+1])
	if l.begins[two/64]&(1<<(two%64)) == 0 {
		return ""
	}
	for _, value := range l.sorted[t[i:i+leastSecret]] {
		if strings.HasPrefix(t[i:], value) {
			return value
		}
	}
	return ""
}

// mask replaces the values in a text. Of some that overlap all is replaced, by the mark of the longest.
func (l *learned) mask(t string) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.marks) == 0 {
		return t
	}
	var b strings.Builder
	done := 0 // of t, which is in b
	for i := 0; i+leastSecret <= len(t); i++ {
		longest := l.at(t, i)
		if longest == "" {
			continue
		}
		end := i + len(longest)
		for next := i + 1; next < end && next+leastSecret <= len(t); next++ {
			if value := l.at(t, next); value != "" {
				end = max(end, next+len(value))
				if len(value) > len(longest) {
					longest = value
				}
			}
		}
		b.WriteString(t[done:i])
		b.WriteString(l.marks[longest])
		done, i = end, end-1
	}
	if done == 0 {
		return t
	}
	b.WriteString(t[done:])
	return b.String()
}

// masksWord reports whether a value from a project's file is masked wherever it stands. Whoever commits such a file
// would choose else what nobody gets to see of commands and changes: so it has to look like a secret, one word that is
// no option, path, host or part of a command. Words without a digit have to be long.
func masksWord(value string) bool {
	digit := false
	for _, r := range value {
		switch {
		case unicode.IsDigit(r):
			digit = true
		case r <= ' ' || r > '~' || strings.ContainsRune("`$;|&<>(){}[]*?\"'\\", r):
			return false
		}
	}
	const long = 12
	return worthMasking(value) && !strings.ContainsAny(value[:1], "-./~") && !strings.Contains(value, "://") &&
		(digit || len(value) >= long && !strings.ContainsAny(value, "./:"))
}

// plainName reports whether a variable may be called so whose name is shown where its value stood.
func plainName(name string) bool {
	const most = 64
	return len(name) <= most && !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-", r)
	})
}

// credentials are the values in a file of NAME=value lines whose names say that they are some,
// and in any other file the lines that are one word that nobody would say.
func credentials(file string) []pair {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxLearnedBytes))
	if err != nil {
		return nil
	}
	var out []pair
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		name, value, assigns := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case assigns && !plainName(name):
			continue
		case assigns && isSecretName(name):
		case assigns:
			value = urlPassword(value)
		case strings.ContainsAny(line, " \t"):
			continue
		default:
			name, value = "secret", line
		}
		if masksWord(value) {
			out = append(out, pair{value, maskMark + name + "›"})
		}
	}
	return out
}
