package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// A watch looks at its files again and again: that works on every file system, tells nothing that a rule has come to
// hide meanwhile, and costs what a look costs. The pause grows with that, so a large folder is looked at less often.
const (
	watchEvery   = time.Second
	watchAtMost  = time.Minute
	watchShare   = 20      // of the time, looking takes one part in so many
	maxWatched   = 50_000  // files
	maxWatchFile = 8 << 20 // bytes of its output file
)

// Watch is a monitor of the files that Glob would list by a pattern: it tells which are new, changed and gone.
func Watch(env tool.Env, name, pattern, path string, lasts time.Duration) (tool.Prepared, error) {
	files, err := parseGlob(env, name, pattern, path)
	if err != nil {
		return nil, err
	}
	return &watchCall{globCall: files, name: pattern, lasts: lasts}, nil
}

type watchCall struct {
	*globCall

	name   string
	lasts  time.Duration
	looked bool
	first  map[string]stamp // the files as they were when it looked; nil: it could not, and Run says why
}

// Access implements tool.Prepared.
func (w *watchCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: w.touched, Tool: "Read"}
}

// Background implements tool.Backgrounder.
func (w *watchCall) Background() (string, bool) { return w.name, true }

// Monitors implements tool.Monitor.
func (*watchCall) Monitors() bool { return true }

// TakeTurn implements tool.Queuer: a call begins once it has looked, so that what changes after its result is told.
func (w *watchCall) TakeTurn(ctx context.Context, env tool.Env, wait bool) bool {
	if !w.looked && wait {
		w.first, _ = w.look(ctx, env)
		w.looked = ctx.Err() == nil
	}
	return w.looked
}

// LeaveTurn implements tool.Queuer.
func (*watchCall) LeaveTurn() {}

// Run implements tool.Prepared.
func (w *watchCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	out, err := newWatchLog(env)
	if err != nil {
		return tool.Errorf("Nothing was watched: there is no place for the output: %v.", err), nil
	}
	defer out.close()
	ctx, cancel := context.WithTimeout(ctx, w.lasts)
	defer cancel()
	before := w.first
	for {
		began := time.Now()
		now, err := w.look(ctx, env)
		switch {
		case ctx.Err() != nil:
			return w.over(ctx)
		case err != nil:
			return tool.Errorf("The watch has ended: %v.", err), nil
		case before != nil:
			w.compare(env, out, before, now)
		}
		before = now
		timer := time.NewTimer(min(max(watchEvery, watchShare*time.Since(began)), watchAtMost))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return w.over(ctx)
		}
	}
}

func (w *watchCall) over(ctx context.Context) (tool.Output, error) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return tool.Output{Blocks: []troupe.Block{troupe.Text(fmt.Sprintf("(Ended: its time of %v was up.)",
			w.lasts))}}, nil
	}
	return tool.Output{}, ctx.Err()
}

// stamp is what a file looks like from outside.
type stamp struct {
	at   time.Time
	size int64
}

// look lists the files as they are. Where there is no folder there are none yet.
func (w *watchCall) look(ctx context.Context, env tool.Env) (map[string]stamp, error) {
	if env.Renew != nil {
		env = env.Renew(env)
	}
	out := make(map[string]stamp)
	real := w.touched[len(w.touched)-1]
	if tool.Resolve(w.base) != real {
		return nil, errors.New(env.Rel(w.base) + " leads to another place now than when the call was checked")
	}
	if isHidden(env, w.base) || isHidden(env, real) {
		return nil, errors.New(env.Rel(w.base) + " is kept from being read by a rule")
	}
	err := walk(ctx, real, w.selection(env, real), func() func(context.Context, batch) map[string]stamp {
		return func(_ context.Context, b batch) map[string]stamp {
			found := make(map[string]stamp)
			for f, info := range shown(env, b) {
				found[f] = stamp{info.ModTime(), info.Size()}
			}
			return found
		}
	}, func(more map[string]stamp) error {
		for f, s := range more {
			out[f] = s
		}
		if len(out) > maxWatched {
			return fmt.Errorf("%s matches more than %d files; narrow the pattern", w.pattern, maxWatched)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safefile.ErrMoved) {
		return out, nil // it may come, or come again
	}
	return out, err
}

// compare tells what differs between two looks.
func (w *watchCall) compare(env tool.Env, out *watchLog, before, now map[string]stamp) {
	type change struct{ file, what string }
	var all []change
	for f, s := range now {
		if old, ok := before[f]; !ok {
			all = append(all, change{f, "new"})
		} else if old != s {
			all = append(all, change{f, "changed"})
		}
	}
	for f := range before {
		if _, ok := now[f]; !ok {
			all = append(all, change{f, "gone"})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.file, b.file) })
	for _, c := range all {
		out.tell(c.what + ": " + env.Rel(filepath.Join(w.base, filepath.FromSlash(c.file))))
	}
}

// watchLog is the output file of a watch.
type watchLog struct {
	env  tool.Env
	file *os.File
	size int
}

func newWatchLog(env tool.Env) (*watchLog, error) {
	if err := os.MkdirAll(filepath.Dir(env.Log), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(env.Log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &watchLog{env: env, file: f}, nil
}

func (l *watchLog) tell(line string) {
	if l.env.Mask != nil {
		line = l.env.Mask(line)
	}
	if l.size < maxWatchFile {
		n, _ := fmt.Fprintln(l.file, line) // what is lost of the file was told
		l.size += n
	}
	if l.env.Line != nil {
		l.env.Line(line)
	}
}

func (l *watchLog) close() { _ = l.file.Close() } // nothing depends on it
