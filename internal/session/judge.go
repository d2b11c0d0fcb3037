package session

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Judge stands where hooks stand, so that tests and the simulation judge calls without programs. No product sets one.
type Judge interface {
	// Judge is asked once about each call that the rules do not deny, before it begins. It may take
	// seconds: everything else goes on meanwhile. It ends with ctx. What it says is in the log, so
	// it is not asked again after a restart. An error is a denial.
	Judge(ctx context.Context, q Judging) (troupe.Judgement, error)
}

// Judging is a call as a Judge is asked about it.
type Judging struct {
	Session troupe.Session
	Call    troupe.Call
}

// candidate is a call as it is prepared and judged. It holds copies of all that this takes, because
// it happens beside the actor.
type candidate struct {
	*snapshot
	call   turn.Call
	access *troupe.Access // what it would do; nil: not known yet
}

// snapshot is what the calls that begin together know of their session. It is shared, and not changed.
type snapshot struct {
	h     *Hub
	tree  *tree
	self  troupe.Session
	files map[string]string // content hashes that it last saw
	also  []string          // further folders that it may read
	asks  bool              // somebody may answer requests
	forks bool              // calls that start agents ask for forks where they leave it open
	hooks Hooks             // nil: there are none
	plain bool              // it is told nothing of what people wrote for agents
	auto  string            // the model of mode auto, if it is asked
	alone bool              // no person watches

	memory *troupe.Memory // what it keeps for agents of its type; nil: nothing
	pad    string         // the folder that the agents of the tree share; "" if there is none
}

func (a *actor) snapshot() *snapshot {
	set := a.tree.settings()
	also := skillFolders(a.st.Skills())
	if w := a.st.Session.Workspace; w.Kind.Made() {
		also = append(also, w.Of) // it is to look at what it works beside
	}
	return &snapshot{a.h, a.tree, a.st.Session, maps.Clone(a.st.Files), also,
		set.AskFor > 0, set.Fork, hooksOf(a.tree), a.st.Profile.OmitInstructions, autoOf(a), !set.Attended,
		a.st.Profile.Memory, scratchpadOf(a.h, a.root)}
}

func (cs *calls) candidate(i int) candidate {
	if cs.now == nil {
		cs.now = cs.a.snapshot()
	}
	c := candidate{snapshot: cs.now, call: cs.a.st.Calls[i]}
	if r := cs.a.h.d.Replay; r != nil && c.call.Answer == nil {
		if ans, ok := r.Answer(cs.a.id, c.coord()); ok {
			c.call.Answer = &ans
		}
	}
	return c
}

func (c *candidate) coord() troupe.Coord {
	return troupe.Coord{Reply: c.call.Reply, Call: c.call.Index}
}

// judged is what came of judging a call.
type judged struct {
	stopped    bool            // it was told to stop before it had come to anything
	refused    string          // the call cannot run, and why; "" if it can
	judgement  *judgement      // what something else than rules said just now
	decision   troupe.Decision // with answers, and whether somebody can be asked
	version    int             // of the line of authority
	access     troupe.Access
	action     string      // exactly what would be done, if that is to be asked about
	mode       troupe.Mode // in which it would not be asked about
	lead       troupe.LeadPart
	prepared   tool.Prepared
	env        tool.Env
	absent     bool   // the file that it writes is not there
	background string // its name as a task, if it is to run in the background
	monitors   bool   // and tells its session what it finds meanwhile
	bill       *bill
	about      func([]troupe.FileTouch) []Instruction
}

// changes: what the kernel keeps from changing anything can be run again after a crash.
func (j *judged) changes() bool {
	return j.access.Class != troupe.ClassRead && j.decision.Sandbox != troupe.LevelReadOnly
}

// announced: the log has to know that it begins.
func (j *judged) announced() bool {
	return j.changes() || j.background != ""
}

// unannounced: it may run as soon as it is judged.
func (j *judged) unannounced() bool {
	return !j.stopped && j.refused == "" && j.judgement == nil && j.decision.Effect == troupe.Allow && !j.announced()
}

// leaveTurn gives the turn of a call to another one, if it has one.
func (j *judged) leaveTurn() {
	if j == nil {
		return
	}
	if q, ok := j.prepared.(tool.Queuer); ok {
		q.LeaveTurn()
	}
}

// judge prepares the call and judges it. A tool that panics, perhaps on one odd input, fails this call
// and not the process.
func (c *candidate) judge(ctx context.Context, runner tool.Runner) (j *judged) {
	j = &judged{env: c.env(), bill: &bill{}, about: c.about}
	j.env.Hidden = func(path string) bool { // few tools want to know while they are prepared
		hidden := c.hidden()
		return hidden != nil && hidden(path)
	}
	defer func() {
		if r := recover(); r != nil {
			j.refused = fmt.Sprintf("the tool itself failed: %v\n%s", r, debug.Stack())
		}
	}()
	if !c.prepare(j, runner) {
		return j
	}
	d, version := c.decide(j.access)
	if c.needsJudge(d) {
		said := c.askJudge(ctx)
		if j.stopped = ctx.Err() != nil; j.stopped {
			return j
		}
		j.judgement, c.call.Judged = &said, &said.Judgement
		if said.Input != "" {
			if c.call.Input = said.Input; !c.prepare(j, runner) {
				return j
			}
		}
		d, version = c.decide(j.access)
	}
	if j.background != "" && gate.IsReadOnlyRun(d) && d.Beyond == troupe.Ask &&
		(c.asks || c.leaves(d)) {
		// Nobody waits for its end, so it is asked about before it begins.
		d.Effect, d.Why = troupe.Ask, "it runs in the background, where it cannot be asked about later; "+
			yesToFolder(c.self.Dir(), false, true)
	}
	j.decision, j.version = c.withLeave(d, j.access), version
	switch j.decision.Effect {
	case troupe.Ask:
		text, futile := action(j.prepared, j.env, c.call.Call)
		switch j.action = text; {
		case futile && c.mayRead(j.access.Writes):
			j.refused = text
		case futile:
			j.action = "Nothing would change: " + text
		}
		j.mode, j.lead = c.freeIn(j.access), c.leadsPart(j.access)
	case troupe.Allow:
		if l, ok := j.prepared.(tool.Lander); ok {
			j.absent = l.Absent()
		}
		c.equip(j)
	case troupe.Deny:
	}
	return j
}

// prepare decodes the call's input. It is false if the call cannot run, and j says why.
func (c *candidate) prepare(j *judged, runner tool.Runner) bool {
	var err error
	if j.prepared, err = runner.Prepare(j.env, c.call.Input); err != nil {
		j.refused = err.Error()
		return false
	}
	j.access = j.prepared.Access()
	access := j.access // hooks that nothing waits for look at it later
	c.access = &access
	if j.access.Class == troupe.ClassEdit && c.h.d.Masked(c.call.Input) {
		j.refused = "refused: the text holds the mark of a masked secret. What stands there in the file was hidden " +
			"from you and would be overwritten; edit around it."
		return false
	}
	j.background, j.monitors = "", false
	if m, ok := j.prepared.(tool.Monitor); ok {
		j.monitors = m.Monitors()
	}
	if b, ok := j.prepared.(tool.Backgrounder); ok {
		if label, wanted := b.Background(); wanted {
			j.background = c.h.d.Mask(label)
		}
	}
	return true
}

// ask is what a request about the call says.
func (j *judged) ask() troupe.RequestBody {
	return troupe.RequestBody{Action: j.action, Mode: j.mode, Lead: j.lead,
		Places: placesOf(j.access, j.decision.Opens)}
}

// freeIn is the mode of the root in which an edit would not be asked about; "" if there is none but that in
// which nothing is asked about.
func (c *candidate) freeIn(access troupe.Access) troupe.Mode {
	if access.Command != "" || len(access.Writes) == 0 {
		return ""
	}
	q := c.query(c.call.Name, access)
	if q.Chain = c.tree.chain.in(c.self.ID, troupe.ModeAcceptEdits); c.h.gate.Decide(q).Effect != troupe.Allow {
		return ""
	}
	return troupe.ModeAcceptEdits
}

// mayRead reports whether the session may read files without asking. Only then is it told why a change
// of them would be refused: that says what stands in them, or beside them.
func (c *candidate) mayRead(paths []string) bool {
	read := troupe.Access{Class: troupe.ClassRead, Reads: paths}
	q := c.query("Read", read)
	q.Judged, q.Chain = nil, c.tree.chain.chain(c.self.ID)
	return c.h.gate.Decide(q).Effect == troupe.Allow
}

// equip gives a call that may run what it runs with.
func (c *candidate) equip(j *judged) {
	pad := c.withScratchpad(j)
	if settle := c.confinement(j.access, j.decision, &j.env, pad); settle != nil {
		j.prepared = confined{j.prepared, settle}
	}
	j.env.Hidden, j.env.HiddenIn = c.hidden(), c.withoutOthers(c.hiddenIn())
	if j.monitors {
		j.env.Renew = func(env tool.Env) tool.Env {
			env.Hidden, env.HiddenIn = c.hidden(), c.withoutOthers(c.hiddenIn())
			return env
		}
	}
	j.env.Service = c.service
	if ask := c.h.d.Ask; ask != nil && j.background == "" {
		j.env.Ask = func(ctx context.Context, question, text string) (string, error) {
			answer, usage, cost, err := ask(ctx, c.self, question, text)
			j.bill.add(usage, cost)
			return answer, err
		}
	}
}

// decide asks the gate. The version is the one that the line of authority had, or an older one.
func (c *candidate) decide(access troupe.Access) (d troupe.Decision, version int) {
	q := c.query(c.call.Name, access)
	version = c.tree.chain.version(c.self.ID)
	q.Chain = c.tree.chain.chain(c.self.ID)
	return c.h.gate.Decide(q), version
}

// query is a call as the gate is asked about it, but for the line of authority.
func (c *candidate) query(name string, access troupe.Access) gate.Query {
	q := QueryIn(c.h.d.Guard, c.self, slices.Concat(c.roots()[1:], c.also), access)
	q.Tool, q.Home, q.Roots, q.Readable, q.Judged = name, c.h.d.Home, c.roots(), c.also, c.call.Judged
	q.Named, q.Scratchpad = c.tree.chain.named(c.self), c.pad
	return q
}

// QueryIn is what the gate is told of where a session is when it is asked about something done there. It may
// look at the disk, which takes time. Own are folders of the session's own.
func QueryIn(guard Guard, s troupe.Session, own []string, access troupe.Access) gate.Query {
	at := PlaceOf(s)
	levels, _ := guard.Machine()
	protected := guard.Protected(at)
	git, hidden := guard.Git(at), guard.Hidden(at)
	q := gate.Query{
		Access: access, Levels: levels, Protected: protected.Places, PartOfGit: protected.PartOfGit,
		Closed: protected.Closed, Hidden: hidden.Path, Resolve: guard.Resolve, GitChanges: git.Changes,
	}
	if hidden.Bound != nil {
		q.Bound = hidden.Bound(s, own)
	}
	if access.Command != "" && len(q.Levels) == 0 {
		// A command without that word runs no git that could pass for reading.
		q.SafeGit = strings.Contains(access.Command, "git") && git.Safe != nil && git.Safe()
		there := guard.HiddenFiles(at) // also those that no pattern asks for: what they hold is masked
		q.HiddenFiles = func() []string { return there }
	}
	return q
}

// env is what a call may know of its session while it is prepared.
func (c *candidate) env() tool.Env {
	env := tool.Env{
		Cwd: c.self.Dir(), Session: c.self.ID, Fork: c.forks,
		OutputDir: c.h.d.OutputDir(c.self.ID),
		CallID:    fmt.Sprintf("r%dc%d", c.call.Reply, c.call.Index),
		Environ:   append(slices.Clip(c.h.d.Environ), troupe.AgentVariable+"="+string(c.self.ID)),
		Mask:      c.h.d.Mask,
		Seen:      func(path string) (string, bool) { h, ok := c.files[path]; return h, ok },
	}
	if deltas := c.h.d.Deltas; deltas != nil {
		at := Delta{After: c.self.Seq, Call: troupe.Coord{Reply: c.call.Reply, Call: c.call.Index}}
		env.Shows = func(tail string) {
			piece := at
			piece.Output = c.h.d.Mask(tail)
			deltas(c.self.Root, c.self.ID, piece)
		}
		env.Stage = func(s troupe.Stage) {
			piece := at
			piece.Stage = s
			deltas(c.self.Root, c.self.ID, piece)
		}
	}
	env.Check = c.memorable
	if keep := c.h.d.Keep; keep != nil {
		env.Keep = func(content []byte) (string, error) { return keep(c.self.Root, content) }
	}
	return env
}

// roots are the folders in which the session may read as it likes.
func (c *candidate) roots() []string {
	out := append([]string{c.self.Dir(), filepath.Clean(c.h.d.OutputDir(c.self.ID))}, c.h.d.Readable...)
	if c.pad != "" {
		out = append(out, c.pad)
	}
	return out
}

// always is what the guard hides from the session.
func (c *candidate) always() Hidden {
	return c.h.d.Guard.Hidden(PlaceOf(c.self)).For(c.self, slices.Concat(c.roots()[1:], c.also))
}

// hidden is a test for paths that tools which walk folders leave out; nil if there are none.
func (c *candidate) hidden() func(string) bool {
	byRule := gate.Hidden(c.tree.chain.chain(c.self.ID), c.roots(), c.h.d.Home)
	always := c.always().Path
	if byRule == nil && always == nil && c.pad == "" {
		return nil
	}
	return func(path string) bool {
		if byRule != nil && byRule(path) || gate.OfOther(c.pad, path) != "" {
			return true
		}
		if always == nil {
			return false
		}
		_, hidden := always(path)
		return hidden
	}
}

// hiddenIn is the same for the entries of one folder.
func (c *candidate) hiddenIn() func(folder string) func(name string) bool {
	byRule := gate.HiddenIn(c.tree.chain.chain(c.self.ID), c.roots(), c.h.d.Home)
	always := c.always().In
	switch {
	case byRule == nil:
		return always
	case always == nil:
		return byRule
	}
	return func(folder string) func(string) bool {
		a, b := byRule(folder), always(folder)
		switch {
		case a == nil:
			return b
		case b == nil:
			return a
		}
		return func(name string) bool { return a(name) || b(name) }
	}
}

// job is a call under way: it is judged, and then it may begin, unless it is dropped before.
type job struct {
	cancel context.CancelFunc
	stage  atomic.Int32
	runs   atomic.Pointer[judged] // set when it runs
	since  time.Time              // and since when; read only after runs
	moved  *troupe.Task           // the actor sets it when it goes on in the background
}

const (
	jobJudging int32 = iota
	jobBegun
	jobDropped
)

// begin is false if the call was dropped.
func (j *job) begin() bool { return j.stage.CompareAndSwap(jobJudging, jobBegun) }

// startJob sets a call to work: fn runs beside the actor.
func (cs *calls) startJob(ctx context.Context, i int, fn func(ctx context.Context, job *job)) *job {
	if cs.working == nil {
		cs.working = make(map[int]*job)
	}
	job := new(job)
	cs.working[i] = job
	job.cancel = cs.a.goCancel(ctx, func(ctx context.Context) { fn(ctx, job) })
	return job
}

// drop has a call not begin. It is false if the call has begun.
func (cs *calls) drop(i int) bool {
	job := cs.working[i]
	if job == nil {
		return true
	}
	if !job.stage.CompareAndSwap(jobJudging, jobDropped) {
		return false
	}
	job.cancel()
	delete(cs.working, i)
	return true
}

func (cs *calls) judging(i int) bool {
	job := cs.working[i]
	return job != nil && job.stage.Load() == jobJudging
}

// judged notes what came of judging a call. It is acted on once whatever was said to the session
// meanwhile has been heard: a stop keeps the call from beginning.
func (cs *calls) judged(in inJudged) error {
	if cs.working[in.call] != in.job {
		in.judged.leaveTurn()
		return nil
	}
	delete(cs.working, in.call)
	if in.judged.stopped {
		return nil
	}
	if in.judged.judgement != nil && cs.a.st.Calls[in.call].Judged == nil {
		if err := cs.noteJudgement(in.call, in.judged.judgement); err != nil {
			return err
		}
	}
	if cs.ready == nil {
		cs.ready = make(map[int]*judged)
	}
	cs.ready[in.call] = in.judged
	return nil
}

func (cs *calls) noteJudgement(i int, said *judgement) error {
	if err := cs.a.noteHooks(said.ran); err != nil {
		return err
	}
	c := cs.a.st.Calls[i]
	if err := cs.a.stage(troupe.ToolJudged{Reply: c.Reply, Call: c.Index, Judgement: said.Judgement}); err != nil {
		return err
	}
	return cs.a.stopBy(said.stop)
}

// askJudge asks the judge, if there is one, about calls that the session carries out itself, and returns
// those that can go on. Those of one reply go on together.
func (cs *calls) askJudge(ctx context.Context, calls []int) (rest []int) {
	if cs.a.h.d.Judge == nil && hooksOf(cs.a.tree) == nil {
		return calls
	}
	in := new(inIntentsJudged)
	var ask []func(context.Context) judgement
	for _, i := range calls {
		c := cs.candidate(i)
		if t, ok := toolsOf(cs.a, &cs.a.st.Profile).Find(c.call.Name); ok && t.Intent != nil {
			access, err := t.Access(c.env(), c.call.Input)
			c.access = &access
			if d, _ := c.decide(access); err == nil && c.needsJudge(d) {
				in.calls = append(in.calls, i)
				ask = append(ask, c.askJudge)
				continue
			}
		}
		rest = append(rest, i)
	}
	in.jobs, in.said = make([]*job, len(ask)), make([]*judgement, len(ask))
	var heard atomic.Int32
	for n, i := range in.calls {
		cs.startJob(ctx, i, func(ctx context.Context, job *job) {
			said := ask[n](ctx)
			if in.jobs[n] = job; ctx.Err() == nil {
				in.said[n] = &said
			}
			if int(heard.Add(1)) == len(ask) {
				cs.a.post(*in)
			}
		})
	}
	return rest
}

// judgedAll notes what the judge said about calls that the session carries out itself.
func (cs *calls) judgedAll(in inIntentsJudged) error {
	for n, i := range in.calls {
		if cs.working[i] != in.jobs[n] {
			continue
		}
		delete(cs.working, i)
		if in.said[n] == nil {
			continue // it was told to stop
		}
		if err := cs.noteJudgement(i, in.said[n]); err != nil {
			return err
		}
	}
	return nil
}
