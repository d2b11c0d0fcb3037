package worktree

import (
	"errors"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Lines are lines of one version of a file.
type Lines struct {
	// First is the number of the first, from 1; of none, the line they would stand before. 0: it is not known.
	First int
	Text  string
}

// Hunk is one place that two sides changed otherwise.
type Hunk struct{ Ours, Base, Theirs Lines }

// Conflict is a file that cannot be merged.
type Conflict struct {
	Path string // absolute
	Why  string
	// Hunks are the places; nil, if it is not a matter of lines.
	Hunks []Hunk
	// Ours and Theirs name the two sides: who changed the file in the caller's folder, as far as it is known, and the
	// agent whose work is merged.
	Ours, Theirs string
	// Over names those whose work in the whole file would go, were theirs taken.
	Over  string
	moved bool // it is not what it was when the merge was begun
}

// piece is a stretch of a merged file: text that both sides agree on, or a hunk.
type piece struct {
	text string
	hunk *Hunk
}

// errMarkers: the markers of conflicts are not in their order.
var errMarkers = errors.New("its conflict markers are not understood")

// parseConflict takes a file apart that git merged with markers of a size, and with the base between the sides. No line
// of the sides may look like a marker: sizeFor finds such a size.
func parseConflict(text string, size int) ([]piece, error) {
	const order = "<|=>"
	var pieces []piece
	var parts [4]strings.Builder // what is common, ours, the base, theirs
	at := 0
	for line := range strings.Lines(text) {
		mark := markerOf(line, size)
		if mark == 0 {
			parts[at].WriteString(line)
			continue
		}
		if order[at] != mark {
			return nil, errMarkers
		}
		switch at++; at {
		case 1:
			if parts[0].Len() > 0 {
				pieces = append(pieces, piece{text: parts[0].String()})
				parts[0].Reset()
			}
		case len(order):
			pieces = append(pieces, piece{hunk: &Hunk{Lines{Text: parts[1].String()}, Lines{Text: parts[2].String()},
				Lines{Text: parts[3].String()}}})
			at = 0
			for i := range parts {
				parts[i].Reset()
			}
		}
	}
	if at != 0 {
		return nil, errMarkers
	}
	if parts[0].Len() > 0 {
		pieces = append(pieces, piece{text: parts[0].String()})
	}
	return pieces, nil
}

// markerOf is the sign of which a line is a marker; 0: it is none.
func markerOf(line string, size int) byte {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if len(line) < size || !strings.ContainsRune("<|=>", rune(line[0])) ||
		strings.Count(line[:size], line[:1]) != size || len(line) > size && line[size] != ' ' {
		return 0
	}
	return line[0]
}

// Sizes of markers: those that people know, and those that we have git write, which no file is likely to have.
const (
	markerShown = 7
	markerLeast = 41
	markerMost  = 10_000
)

// sizeFor is a size for markers that no line of the texts has; 0: there is none that is bearable.
func sizeFor(least int, texts ...string) int {
	size := least
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line == "" || !strings.ContainsRune("<|=>", rune(line[0])) {
				continue
			}
			if run := len(line) - len(strings.TrimLeft(line, line[:1])); run >= size {
				size = run + 1
			}
		}
	}
	if size > markerMost {
		return 0
	}
	return size
}

// renderConflict writes a file with markers as people know them.
func renderConflict(pieces []piece, size int, ours, base, theirs string) string {
	end := "\n"
	if line, _, _ := strings.Cut(sideOf(pieces, theirsOf), "\n"); strings.HasSuffix(line, "\r") {
		end = "\r\n" // as the file has it
	}
	var b strings.Builder
	mark := func(sign, label string) {
		b.WriteString(strings.Repeat(sign, size))
		if label != "" {
			b.WriteString(" " + label)
		}
		b.WriteString(end)
	}
	for _, p := range pieces {
		if p.hunk == nil {
			b.WriteString(p.text)
			continue
		}
		mark("<", ours)
		b.WriteString(p.hunk.Ours.Text)
		mark("|", base)
		b.WriteString(p.hunk.Base.Text)
		mark("=", "")
		b.WriteString(p.hunk.Theirs.Text)
		mark(">", theirs)
	}
	return b.String()
}

// sideOf is the file with all hunks as one side has them.
func sideOf(pieces []piece, of func(*Hunk) *Lines) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.hunk == nil {
			b.WriteString(p.text)
		} else {
			b.WriteString(of(p.hunk).Text)
		}
	}
	return b.String()
}

func oursOf(h *Hunk) *Lines   { return &h.Ours }
func baseOf(h *Hunk) *Lines   { return &h.Base }
func theirsOf(h *Hunk) *Lines { return &h.Theirs }

// numberMost is how long a file may be for its lines to be numbered.
const numberMost = 4 << 20

// number finds where the hunks stand in the file of one side. What the other side changed elsewhere has been merged
// into what is around them, and moves them.
func number(pieces []piece, file string, of func(*Hunk) *Lines) {
	merged := sideOf(pieces, of)
	if len(merged)+len(file) > numberMost {
		return
	}
	edits := udiff.Lines(merged, file)
	at, i, moved := 0, 0, 0
	for _, p := range pieces {
		if p.hunk == nil {
			at += len(p.text)
			continue
		}
		for ; i < len(edits) && edits[i].End <= at; i++ {
			moved += lines(edits[i].New) - lines(merged[edits[i].Start:edits[i].End])
		}
		l := of(p.hunk)
		l.First = lines(merged[:at]) + moved + 1
		at += len(l.Text)
	}
}

// lines counts those that are begun.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
