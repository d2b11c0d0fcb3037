package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Guard knows what this machine can confine commands with, and what they may touch. Its
// methods are safe for concurrent use.
type Guard interface {
	// Machine tells the sandboxes there are (none: commands are judged by reading them), and
	// what they have to do without here, in words for people.
	Machine() (levels []troupe.Level, lacks []string)
	// Protected tells what nothing leaves open to writing by itself.
	Protected(at Place) Protected
	// Git tells of git in a folder.
	Git(at Place) Git
	// Hidden tells what nothing an agent does may read.
	Hidden(at Place) Hidden
	// HiddenFiles are the files and folders that it covers and that exist.
	HiddenFiles(at Place) []string
	// Resolve says where an absolute path leads when links are followed.
	Resolve(path string) string
	// Confine says what one command of a session may touch, and what its environment has besides.
	Confine(ctx context.Context, c Confine) (*troupe.Confinement, []string, error)
}

// Place is where a session is: the folder whose settings hold for it, and its workspace, if its tools act elsewhere.
type Place struct {
	Cwd  string
	Work troupe.Workspace
}

// PlaceOf is where a session is. Those that have no folder of their own are in one place, whoever they are.
func PlaceOf(s troupe.Session) Place {
	p := Place{s.Cwd, s.Workspace}
	if !p.Work.Kind.Made() {
		p.Work.Owner, p.Work.Name = "", ""
	}
	return p
}

// Dir is where tools act.
func (p Place) Dir() string {
	s := troupe.Session{Cwd: p.Cwd, Workspace: p.Work}
	return s.Dir()
}

// Protected is what stays as it is below and around a folder. What is nil covers nothing.
type Protected struct {
	Places []string // patterns of paths
	// PartOfGit tells which part of a repository's own folder a path would be or lie in if it was written; "" if it is
	// nothing of the kind.
	PartOfGit func(path string) string
	// Closed tells of a path why settings keep it as it is whatever a person answers, "" if they do not.
	Closed func(path string) (why string)
}

// Git is asked when it is needed, for it starts processes. What is nil is not known.
type Git struct {
	// Safe reports whether git, asked about the folder, runs nothing that the repository names.
	Safe func() bool
	// Changes lists the protected files that a command of git, run in the folder, would change; nil args: one
	// about which nothing is known; none: one that runs elsewhere.
	Changes func(args []string) []string
}

// Hidden are tests for what may not be read. Both are nil if there is nothing in this folder.
type Hidden struct {
	// Path is asked about a path, and says why.
	Path func(path string) (why string, hidden bool)
	// In is the same for the entries of one folder (see tool.Env).
	In func(folder string) func(name string) bool
	// Bound is a test for what a session reads at a server, besides folders of its own: it says why a path is none of
	// that. nil: it reads anywhere, and commands need no sandbox.
	Bound func(s troupe.Session, own []string) func(path string) (why string)
}

// For is the same for a session, with what it does not read at a server. Own are folders of its own.
func (h Hidden) For(s troupe.Session, own []string) Hidden {
	if h.Bound == nil {
		return h
	}
	bound := h.Bound(s, own)
	return Hidden{Path: func(path string) (string, bool) {
		if why := bound(path); why != "" {
			return why, true
		}
		return h.Path(path)
	}, In: func(folder string) func(string) bool {
		more := h.In(folder)
		return func(name string) bool { return bound(filepath.Join(folder, name)) != "" || more != nil && more(name) }
	}}
}

// Confine is what a confinement depends on.
type Confine struct {
	Session troupe.Session
	Level   troupe.Level
	// Unreadable are the paths and patterns that rules keep from being read, and Hides the same
	// as a test.
	Unreadable []string
	Hides      gate.Hides
	// Unreached are the hosts that rules keep from being reached.
	Unreached []string
	// Unwritable are the paths and patterns that rules keep from being written, and Keeps says of any
	// path why they do, "" if they do not; nil if there are none.
	Unwritable []string
	Keeps      func(path string) (why string)
	// Outside says why a path is none of the files that the session was started to change, "" if it is one; nil: it may
	// be any. Whole are the folders and files of which all may be changed, for a kernel on which nothing asks Outside.
	Outside func(path string) (why string)
	Whole   []string
	// Scratchpad is the folder that the agents of the tree share, which is there; "" if the command has none.
	Scratchpad string
	// Reach: whoever allowed the command allowed it the network too, as far as settings do.
	Reach bool
	// Granted is what was allowed beyond the level, for this one run. Asked are those that were asked about last: the
	// command has not run with them yet, so what was to be made by them is not its own if it is there by now.
	Granted, Asked []troupe.Attempt
	// Looks is called before the whole project is looked through, which may take long; nil: nobody watches.
	Looks func()
}

// unguarded confines nothing.
type unguarded struct{}

func (unguarded) Machine() ([]troupe.Level, []string) { return nil, nil }
func (unguarded) Protected(Place) Protected           { return Protected{} }
func (unguarded) Git(Place) Git                       { return Git{} }
func (unguarded) Resolve(path string) string          { return path }
func (unguarded) HiddenFiles(Place) []string          { return nil }
func (unguarded) Hidden(Place) Hidden                 { return Hidden{} }
func (unguarded) Confine(context.Context, Confine) (*troupe.Confinement, []string, error) {
	return nil, nil, nil
}

// maxRounds is how often one call is asked about. A command that wants something new each
// time it runs is told no in the end.
const maxRounds = 4

// allowedBy turns an answer to the question that followed a confined run into the decision
// for the next run: what was asked about, or the workspace if that was said to be opened.
func (c *candidate) allowedBy(d troupe.Decision) troupe.Decision {
	if !gate.IsReadOnlyRun(d) {
		return d // the gate has said what leave gives
	}
	d.Sandbox = troupe.LevelNone
	if levels, _ := c.h.d.Guard.Machine(); slices.Contains(levels, troupe.LevelWorkspace) {
		d.Sandbox = troupe.LevelWorkspace
		if asked := c.call.Asked; asked != nil && asked.Opens == troupe.LevelGranted {
			d.Sandbox = troupe.LevelGranted
		}
	}
	return d
}

// confinement is what settles, once a command is about to run, what it may touch. It is nil for what is
// no command, and for what was allowed without a sandbox.
func (c *candidate) confinement(access troupe.Access, d troupe.Decision, env *tool.Env, pad string) settling {
	if access.Command != "" && gate.IsReadOnlyRun(d) && d.Sandbox == troupe.LevelNone {
		env.Environ = append(slices.Clip(env.Environ), gate.Environ()...)
	}
	if access.Command == "" || d.Sandbox == "" || d.Sandbox == troupe.LevelNone || c.h.d.Replay != nil {
		return nil // a replay runs nothing
	}
	call := c.call
	chain := c.tree.chain.chain(c.self.ID)
	// An answer about a run that was watched is for what was seen; any other leave is for the
	// command whole, and that includes the network.
	reach := call.Asked == nil || len(call.Asked.Wants) == 0 ||
		slices.ContainsFunc(call.Granted, func(g troupe.Attempt) bool {
			return g.AnyHost() || d.Sandbox != troupe.LevelGranted &&
				(g.Network() || g.Op == troupe.OpUnseen)
		})
	ask := Confine{
		Session: c.self, Level: d.Sandbox, Granted: append(namedBy(d), call.Granted...),
		Reach:      reach && d.Sandbox != troupe.LevelReadOnly,
		Unreadable: gate.Unreadable(chain, c.roots(), c.h.d.Home), Hides: gate.HidesFor(chain, c.roots(), c.h.d.Home),
		Unwritable: gate.Unwritable(chain, c.roots(), c.h.d.Home), Keeps: gate.Kept(chain, c.roots(), c.h.d.Home),
		Outside: gate.KeptTo(chain, pad), Whole: gate.WholeOf(chain),
		Scratchpad: pad, Unreached: gate.Unreached(chain),
	}
	if call.Asked != nil {
		ask.Asked = call.Asked.Wants
	}
	guard := c.h.d.Guard
	return func(ctx context.Context, env *tool.Env) error {
		ask, looked := ask, false
		if env.Stage != nil {
			ask.Looks = func() {
				looked = true
				env.Stage(troupe.StageHidden)
			}
		}
		c, environ, err := guard.Confine(ctx, ask)
		if looked {
			env.Stage(troupe.StageRuns)
		}
		if err != nil {
			return fmt.Errorf("the command was not run, for its sandbox could not be prepared: %w", err)
		}
		env.Confine = c
		env.Environ = append(slices.Clip(env.Environ), environ...)
		return nil
	}
}

// settling prepares what a command runs in. It may look through the whole project for what is hidden.
type settling func(ctx context.Context, env *tool.Env) error

// namedBy is what a decision opens of what is protected: a file whatever becomes of it, for rules name no operations.
func namedBy(d troupe.Decision) []troupe.Attempt {
	var out []troupe.Attempt
	for _, path := range d.Opens {
		for _, op := range []troupe.AttemptOp{troupe.OpWrite, troupe.OpCreate, troupe.OpRemove} {
			out = append(out, troupe.Attempt{Op: op, Path: path})
		}
	}
	return out
}

// confined is a command that is confined once it runs.
type confined struct {
	tool.Prepared
	settle settling
}

// Run implements tool.Prepared.
func (c confined) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if err := c.settle(ctx, &env); err != nil {
		return tool.Errorf("%v", err), nil
	}
	return c.Prepared.Run(ctx, env)
}

// Move implements tool.Mover.
func (c confined) Move(log string) (name string, err error) {
	m, ok := c.Prepared.(tool.Mover)
	if !ok {
		return "", fmt.Errorf("it cannot go on in the background: %w", errors.ErrUnsupported)
	}
	return m.Move(log)
}

// TakeTurn implements tool.Queuer.
func (c confined) TakeTurn(ctx context.Context, env tool.Env, wait bool) bool {
	q, ok := c.Prepared.(tool.Queuer)
	return !ok || q.TakeTurn(ctx, env, wait)
}

// LeaveTurn implements tool.Queuer.
func (c confined) LeaveTurn() {
	if q, ok := c.Prepared.(tool.Queuer); ok {
		q.LeaveTurn()
	}
}

// skipped is why a call is not run. One that ran confined, and waited to be run again with what it wanted, did
// run: its result says so, and what it printed.
func (cs *calls) skipped(i int, why string) string {
	r := cs.a.st.Calls[i].Request
	if r == nil || len(r.Wants) == 0 {
		return why
	}
	text := fmt.Sprintf("it %s and wanted to %s, which was not answered; it was not run again: the run was stopped",
		ranAs(r.Decision.Sandbox), Wanted(r.Wants))
	return text + ranBefore(*r)
}

// afterConfinedRun looks at what a confined command attempted. If somebody can be asked about what was
// not asked about before, the call waits for the answer; else its result says what was
// refused, and what would allow it.
func (cs *calls) afterConfinedRun(in inToolDone, out *tool.Output) (waits bool, err error) {
	i, j := in.call, in.judged
	if cs.a.h.d.Replay != nil && len(out.Evidence.Denied) > 0 {
		return false, nil // what is played says already what was refused
	}
	wants, blocked, more := cs.wants(i, *out, j.decision)
	if wants = cs.withoutDenied(i, wants, out); len(wants) == 0 {
		return false, nil
	}
	c, d := cs.a.st.Calls[i], j.decision
	wants = cs.a.h.gate.Completes(j.access, wants)
	if more := cs.beyondAuto(in, c, d, wants, more, out); more {
		return true, nil
	}
	if d.Beyond == troupe.Ask && cs.a.tree.settings().AskFor > 0 && c.Rounds < maxRounds {
		b := cs.questionAfter(&c, d, wants, more, out)
		if err := cs.a.requests.openRequest(i, b); err != nil {
			return true, err
		}
		// It may have been granted while it ran. That asks the rules alone: there is a sandbox.
		now := cs.candidate(i)
		d, _ := now.decide(j.access)
		return true, cs.a.requests.answerIfAllowed(i, d)
	}
	alone := d.Beyond == troupe.Ask && cs.a.tree.settings().AskFor == 0
	if d.Effect == troupe.Allow && !gate.IsReadOnlyRun(d) && !blocked && !alone {
		return false, nil // it was allowed; that it bumped into something is in its output
	}
	note := "Permission denied for what it attempted beyond reading"
	if d.Sandbox != troupe.LevelReadOnly {
		note = "Permission denied for what it attempted beyond its workspace"
	}
	remedy := cs.remedy(d, alone, wants)
	why := "it " + ranAs(d.Sandbox) + " and wanted to " + Wanted(wants) + notAllowedByAuto(c.Verdict)
	out.Blocks = append(out.Blocks, troupe.Text("("+note+remedy+".)"))
	out.Evidence.Denied = append(out.Evidence.Denied, troupe.Denial{Tool: c.Name, Why: why + remedy, Grant: d.Grant})
	if n := len(out.Evidence.Commands); out.Evidence.Commands[n-1].ExitCode != 0 {
		out.IsError = true
	}
	return false, nil
}

// questionAfter is the question about what a run wanted, with what that run was.
func (cs *calls) questionAfter(c *turn.Call, d troupe.Decision, wants []troupe.Attempt, more bool,
	out *tool.Output) troupe.RequestBody {
	b := cs.question(c, d, wants, more)
	b.Action, b.Output = out.Evidence.Commands[0].Command, shorten(troupe.JoinText(out.Blocks))
	if mayChange(d.Sandbox) {
		ran := out.Evidence.Commands[0]
		ran.Watched, b.Ran = nil, &ran
	}
	b.Decision.Why += notAllowedByAuto(c.Verdict)
	return b
}

// remedy is what would allow what a command was kept from.
func (cs *calls) remedy(d troupe.Decision, alone bool, wants []troupe.Attempt) string {
	if d.Beyond != troupe.Ask {
		return ""
	}
	text := "; this run cannot ask for permission"
	switch {
	case d.Grant != "":
		text += "; " + gate.HowToGrant(d.Grant)
	case alone:
		text += " (with --ask the run would wait for an answer)"
	}
	if d.Sandbox == troupe.LevelWorkspace {
		cwd := cs.a.st.Session.Dir()
		q := cs.places()
		if setting := gate.WriteSetting(&q, cwd, wants); setting != "" {
			text += "; to let commands write there from now on: " + setting
		}
	}
	return text
}

// mayChange reports whether a command could change something where it ran.
func mayChange(l troupe.Level) bool { return l == troupe.LevelWorkspace || l == troupe.LevelGranted }

func ranAs(l troupe.Level) string {
	switch l {
	case troupe.LevelWorkspace:
		return "ran confined to the workspace"
	case troupe.LevelGranted:
		return "ran with what was allowed"
	default:
		return "ran read-only"
	}
}

// maxShown is how much of a confined run's output a request carries.
const maxShown = 4 << 10

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "\n[…]"
}

// bill is what a tool asked a small model during one call.
type bill struct {
	mu    sync.Mutex
	usage troupe.Usage
	cost  troupe.Money
}

func (b *bill) add(u troupe.Usage, c troupe.Money) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usage, b.cost = b.usage.Add(u), b.cost+c
}

func (b *bill) sum() (troupe.Usage, troupe.Money) {
	if b == nil {
		return troupe.Usage{}, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usage, b.cost
}
