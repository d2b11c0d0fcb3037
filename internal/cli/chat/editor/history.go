package editor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// history is what was entered before, the newest last. With a file, every entry is a line of
// it, as a JSON string.
type history struct {
	file    string
	mask    func(string) string
	entries []string
	at      int    // the entry that is shown; len(entries) is the text being written
	draft   string // that text, while an entry is shown
	query   string // what keySearch looks for
}

// Bounds of the history.
const (
	historyEntries = 1000
	historyBytes   = 16 << 10 // of one entry; longer ones are not kept
)

// openHistory reads the newest entries of a file. A file that is not there yet is an empty
// one, and one with broken lines has fewer.
func openHistory(file string, mask func(string) string) (*history, error) {
	h := &history{file: file, mask: mask}
	if file == "" {
		return h, nil
	}
	data, err := disk.Read(file, disk.Most)
	if os.IsNotExist(err) {
		return h, nil
	}
	if err != nil {
		h.file = ""
		return h, fmt.Errorf("read the history: %w", err)
	}
	for line := range bytes.Lines(data) {
		var s string
		if json.Unmarshal(line, &s) == nil && s != "" {
			h.entries = append(h.entries, s)
		}
	}
	if len(h.entries) > 2*historyEntries {
		h.entries = h.entries[len(h.entries)-historyEntries:]
		err = h.rewrite()
	}
	h.at = len(h.entries)
	return h, err
}

// rewrite replaces the file by one with the entries that are kept.
func (h *history) rewrite() error {
	var lines []byte
	for _, s := range h.entries {
		lines = append(lines, encodeEntry(s)...)
	}
	if err := disk.Cache(h.file, lines); err != nil {
		return fmt.Errorf("shorten the history: %w", err)
	}
	return nil
}

func encodeEntry(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return nil // a string always encodes
	}
	return append(b, '\n')
}

// add appends an entry, unless it is empty or the same as the one before.
func (h *history) add(s string) error {
	h.reset()
	if strings.TrimSpace(s) == "" || len(s) > historyBytes {
		return nil
	}
	if h.mask != nil {
		s = h.mask(s)
	}
	if n := len(h.entries); n > 0 && h.entries[n-1] == s {
		return nil
	}
	h.entries = append(h.entries, s)
	h.at = len(h.entries)
	if h.file == "" {
		return nil
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	_, err = f.Write(encodeEntry(s))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	return nil
}

func (h *history) reset() { h.at, h.draft, h.query = len(h.entries), "", "" }

// step moves to an older or newer entry. now is what is shown.
func (h *history) step(now string, older bool) (string, bool) {
	h.query = ""
	to := h.at + 1
	if older {
		to = h.at - 1
	}
	if to < 0 || to > len(h.entries) {
		return "", false
	}
	return h.show(now, to), true
}

// search moves to the next older entry that holds the text that stood there when the search began.
func (h *history) search(now string) (string, bool) {
	if h.query == "" {
		h.query = now
	}
	for i := h.at - 1; i >= 0; i-- {
		if strings.Contains(h.entries[i], h.query) && h.entries[i] != now {
			return h.show(now, i), true
		}
	}
	return "", false
}

func (h *history) show(now string, to int) string {
	if h.at == len(h.entries) {
		h.draft = now
	}
	h.at = to
	if to == len(h.entries) {
		return h.draft
	}
	return h.entries[to]
}
