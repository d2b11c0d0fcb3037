package app

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// learned are credentials that were found in files which agents may not read. The same words
// can stand elsewhere (in an older commit, in a program's output), where no kernel hides them;
// so they are masked like those of the environment.
type learned struct {
	mu    sync.RWMutex
	files map[string]fs.FileInfo // as they were when they were read
	pairs []pair
}

// pair is a credential and what stands in its place.
type pair struct{ value, mark string }

// What is read of hidden files: enough for those that hold credentials, and no more.
const (
	maxLearnedFiles = 100
	maxLearnedBytes = 64 << 10
	maxLearned      = 500
)

// from reads the files that were not read before, or that were changed or saved anew since.
func (l *learned) from(files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		l.files = make(map[string]fs.FileInfo)
	}
	for _, name := range files {
		was, known := l.files[name]
		if !known && len(l.files) >= maxLearnedFiles {
			continue
		}
		info, err := os.Stat(name)
		if err != nil || known && os.SameFile(was, info) && was.ModTime().Equal(info.ModTime()) &&
			was.Size() == info.Size() {
			continue
		}
		l.files[name] = info
		for _, p := range credentials(name) {
			if len(l.pairs) < maxLearned && !slices.Contains(l.pairs, p) {
				l.pairs = append(l.pairs, p)
			}
		}
	}
	// The longest first, so that a value that holds another is replaced whole.
	slices.SortStableFunc(l.pairs, func(a, b pair) int { return len(b.value) - len(a.value) })
}

// secret is a credential that Troupe itself keeps.
func (l *learned) secret(value, name string) {
	if !worthMasking(value) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := pair{value, maskMark + name + "›"}
	if len(l.pairs) >= maxLearned || slices.Contains(l.pairs, p) {
		return
	}
	i, _ := slices.BinarySearchFunc(l.pairs, p, func(a, b pair) int { return len(b.value) - len(a.value) })
	l.pairs = slices.Insert(l.pairs, i, p)
}

func (l *learned) mask(t string) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, p := range l.pairs {
		t = strings.ReplaceAll(t, p.value, p.mark)
	}
	return t
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
		case assigns && isSecretName(name):
		case assigns:
			value = urlPassword(value)
		case strings.ContainsAny(line, " \t"):
			continue
		default:
			name, value = "secret", line
		}
		if worthMasking(value) {
			out = append(out, pair{value, maskMark + name + "›"})
		}
	}
	return out
}
