package sim

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// guarded is a file in the session's folder that nothing leaves open to writing by itself.
const guarded = "/sim/guarded"

// guard confines with what the machine has.
type guard struct{ w *world }

func (g guard) Machine() ([]troupe.Level, []string) { return g.w.climate.levels, nil }

func (guard) Protected(session.Place) session.Protected {
	return session.Protected{Places: []string{guarded}}
}

func (guard) Git(session.Place) session.Git { return session.Git{} }

func (guard) HiddenFiles(session.Place) []string { return nil }

func (guard) Hidden(session.Place) session.Hidden { return session.Hidden{} }

func (guard) Resolve(path string) string { return path }

func (g guard) Confine(_ context.Context, c session.Confine) (*troupe.Confinement, []string, error) {
	out := troupe.Confinement{Level: c.Level, Protected: []string{guarded}}
	if c.Level == troupe.LevelWorkspace {
		out.Writable = []string{c.Session.Dir()}
	}
	if c.Outside != nil {
		out.Guarded = c.Outside
	}
	out.Network.All = c.Reach && g.w.climate.reach
	for _, a := range c.Granted {
		switch a.Op {
		case troupe.OpConnect, troupe.OpListen:
			out.Network.Ports = append(out.Network.Ports, portOf(a.Path))
		case troupe.OpUnseen, troupe.OpSetID:
		case troupe.OpCreate, troupe.OpWrite, troupe.OpRemove, troupe.OpRemoveFolder:
			out.Writable = append(out.Writable, a.Path)
		}
	}
	return &out, nil, nil
}

// portOf is where an address leads; each address here has a port of its own.
func portOf(addr string) int {
	_, port, _ := strings.Cut(addr, ":")
	n, _ := strconv.Atoi(port) // the addresses are our own
	return n
}

// lets is what the kernel says to an attempt.
func lets(c *troupe.Confinement, a troupe.Attempt) bool {
	switch {
	case c == nil:
		return true
	case a.Op == troupe.OpConnect:
		return c.Network.All || slices.Contains(c.Network.Ports, portOf(a.Path))
	case c.Guarded != nil && c.Guarded(a.Path) != "":
		return false
	case slices.Contains(c.Writable, a.Path):
		return true
	}
	return !slices.Contains(c.Protected, a.Path) && troupe.WithinAny(a.Path, c.Writable)
}

// drawCommand is what models have commands do: change something inside the session's folder or
// outside, reach somebody, several at once, or something else each time they run.
func (w *world) drawCommand() string {
	return [...]string{
		"make", "slow", "fail", "cat /sim/file", "touch /sim/a", "touch /etc/a", "touch /sim/b /etc/b",
		"curl 10.0.0.1:443", "touch " + guarded, "touch /sim/c && curl 10.0.0.2:80", "creep", "spread",
	}[w.rng.IntN(12)]
}

// wantsOf is what a command does when it runs for the nth time.
func wantsOf(command string, n int) []troupe.Attempt {
	var out []troupe.Attempt
	add := func(op troupe.AttemptOp, path string) { out = append(out, troupe.Attempt{Op: op, Path: path}) }
	words := strings.Fields(command)
	switch words[0] {
	case "make", "slow":
		add(troupe.OpWrite, "/sim/made")
	case "creep":
		for i := range n {
			if i == 1 {
				add(troupe.OpConnect, "10.0.0.3:8080")
			} else {
				add(troupe.OpCreate, "/etc/creep"+strconv.Itoa(i))
			}
		}
	case "spread":
		for i := range n {
			add(troupe.OpCreate, "/sim/spread"+strconv.Itoa(i))
		}
	case "touch", "curl":
		for _, word := range words {
			switch {
			case strings.HasPrefix(word, "/"):
				add(troupe.OpCreate, word)
			case strings.Contains(word, ":"):
				add(troupe.OpConnect, word)
			}
		}
	}
	return out
}

// execute runs a command as far as its sandbox lets it.
func (w *world) execute(command string, env tool.Env) troupe.CommandRun {
	run := troupe.CommandRun{Command: command, Sandbox: troupe.LevelNone}
	if env.Confine != nil {
		run.Sandbox, run.Watched = env.Confine.Level, &troupe.Watched{Blind: w.climate.blind}
	}
	key := effectKey(env.OutputDir, env.CallID)
	w.runs[key]++
	var done []troupe.Attempt
	for _, a := range wantsOf(command, w.runs[key]) {
		switch {
		case lets(env.Confine, a):
			done = append(done, a)
			continue
		case !w.climate.blind:
			run.Watched.Attempts = append(run.Watched.Attempts, a)
		}
		run.ExitCode = 1
	}
	if command == "fail" {
		run.ExitCode = 1
	}
	if len(done) > 0 {
		w.effect(key, done)
	}
	return run
}

// effect notes what a call did to the world: what a command changed, or an edit, which says nothing.
func (w *world) effect(key string, done []troupe.Attempt) {
	w.res.Effects++
	w.effects[key]++
	begun := w.watch.begun[key]
	switch {
	case begun == nil:
		w.broken("%s took effect, and the log had not said that it begins", key)
		return
	case w.effects[key] > begun.times:
		w.broken("%s took effect %d times, and began %d times", key, w.effects[key], begun.times)
	}
	w.watch.covered(key, begun, done)
}
