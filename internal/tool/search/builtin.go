package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sync/atomic"

	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// builtin is the search for machines without ripgrep.
func builtin(ctx context.Context, q query, rep *report) error {
	re, err := regexp.Compile(q.regexp)
	if err != nil {
		return fmt.Errorf("compile %q: %w", q.regexp, err)
	}
	s := selection{depth: -1, hides: hides(rep.env, rep.dir, rep.real), wants: regular}
	if r, ok := parseRule(q.filter); ok {
		if r.verdict == wanted {
			r.verdict = ignored // in a filter, unlike an ignore file, ! takes away
		} else {
			r.verdict = wanted
		}
		s.filter = rules{r}
	}
	if q.typ != "" {
		known := false
		if s.types, known = typeRules(q.typ); !known {
			return errType(q.typ)
		}
	}
	e := engine{re: re, need: required(q.regexp), q: q, limit: rep.in.limit, full: new(atomic.Bool),
		large: make(chan struct{}, 1)}
	take := func(found *haul) error {
		more := rep.take(found)
		e.full.Store(rep.isFull())
		if !more {
			return errStop
		}
		return nil
	}
	if q.file == "" {
		return walk(ctx, q.real, s, func() func(context.Context, batch) *haul { return e.worker().batch }, take)
	}
	found := &haul{}
	folder, name := safefile.Split(q.at)
	if d, err := safefile.OpenFolder(folder); err == nil {
		e.worker().file(ctx, d, name, q.file, found)
		_ = d.Close() // only a handle
	}
	if err := take(found); err != nil && !errors.Is(err, errStop) {
		return err
	}
	return ctx.Err()
}

func regular(_, _ string, d fs.DirEntry) bool { return d.Type().IsRegular() }

// haul is what was found in a batch, in order.
type haul struct {
	records []record
	shown   int // lines or files in records
	size    int // bytes of text in them
	left    int // lines or files that were only counted
}

// record is a line, a file with the number of its matches, how many of those came that nobody
// wants to see any more, or why a file was not searched to its end.
type record struct {
	file    string
	line    int // 0: the whole file
	isMatch bool
	text    string
	matches int
	left    int
	unread  string
}

// engine is one search. Its workers share it.
type engine struct {
	re    *regexp.Regexp
	need  *literals // nil: any line may match
	q     query
	limit int           // lines or files shown; 0 is no bound
	full  *atomic.Bool  // no more will be shown: it is only counted
	large chan struct{} // held while a large part of a file is in memory
}

// worker searches files, one after the other, in the same memory.
type worker struct {
	*engine
	finder *finder // nil: any line may match
	buf    []byte
	held   []heldLine // see lines
}

func (e *engine) worker() *worker {
	w := &worker{engine: e, buf: make([]byte, firstRead)}
	if e.need != nil {
		w.finder = newFinder(e.need)
	}
	return w
}

// batch searches some files of a folder.
func (w *worker) batch(ctx context.Context, b batch) *haul {
	found := &haul{}
	d, err := safefile.OpenFolder(b.path)
	if err != nil {
		return found
	}
	defer d.Close() //nolint:errcheck // only a handle
	for _, f := range b.files {
		if ctx.Err() != nil {
			break
		}
		w.file(ctx, d, f.Name(), b.rel+f.Name(), found)
	}
	return found
}

// add takes a record. More than the report can show is only counted: so what a batch holds is
// bounded, whatever is in its files.
func (w *worker) add(found *haul, r record, text []byte) {
	if w.full.Load() || w.limit > 0 && found.shown >= w.limit || found.size >= maxShown {
		last := len(found.records) - 1
		if last < 0 || found.records[last].left == 0 {
			found.records = append(found.records, record{})
			last++
		}
		found.left++
		found.records[last].left++
		found.records[last].matches += r.matches
		return
	}
	if r.line > 0 {
		r.text = shape(text)
	}
	found.shown++
	found.size += len(r.text)
	found.records = append(found.records, r)
}
