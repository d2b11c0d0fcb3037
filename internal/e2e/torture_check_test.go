package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// effect is a step of an agent, as its log tells it.
type effect struct {
	name  string // AGENT STEP
	file  string // in which it is to be seen
	tool  string
	done  bool // the call has ended well
	maybe bool // it was told that it may have taken effect
	twice bool // it writes the ledger too
}

// logged is a session, as its log tells it.
type logged struct {
	id, parent troupe.SessionID
	st         turn.State
	effects    []*effect
	ws         troupe.Workspace        // its own, or none
	kept       *troupe.WorkspaceResult // what became of that
}

// tally is what is told in the end.
type tally struct{ agents, effects, reported, saved, merged, interrupted int }

// judge checks all that must hold in the end.
func (r *torture) judge() {
	var sum tally
	known := map[string]map[string]bool{} // files, by project
	ledger := map[string]int{}
	for line := range strings.Lines(r.read("../ledger")) {
		ledger[strings.TrimSpace(line)]++
	}
	for line, n := range ledger {
		if n != 1 {
			r.t.Errorf("%q was done %d times", line, n)
		}
	}
	for _, p := range r.trees {
		if known[p.dir] == nil {
			known[p.dir] = map[string]bool{}
		}
		known[p.dir][p.script()] = true
		root, begun := r.roots[p.key]
		if !begun {
			continue // that is told
		}
		t := r.tree(p, root, &sum)
		if len(t) != len(p.agents) {
			r.t.Errorf("tree %s has %d sessions, and was to have %d", p.key, len(t), len(p.agents))
		}
		for _, s := range t {
			known[p.dir][s.agent(p)+".md"] = true
			for _, e := range s.effects {
				known[p.dir][e.file] = true
				if n := ledger[e.name]; e.twice && (e.done && n == 0 || !e.done && !e.maybe && n > 0) {
					r.t.Errorf("%q was done %d times; its call ended well: %v; it was told as interrupted: %v", e.name,
						n, e.done, e.maybe)
				}
			}
		}
		r.places(p, t, &sum)
	}
	for dir, names := range known {
		r.nothingElse(dir, names)
	}
	r.rows()
	r.left()
	r.table(sum)
}

// agent is what it is called in files.
func (s *logged) agent(p *tortured) string {
	if s.parent == "" {
		return p.key
	}
	return s.st.Session.Name
}

// heard is what the API tells of a tree.
type heard struct {
	log    []troupe.Event
	report wire.Report
}

// hear asks the API for a tree that is over.
func (r *torture) hear(ctx context.Context, root troupe.SessionID) (out heard, err error) {
	stream, err := r.client.Follow(ctx, wire.Follow{Root: root})
	if err != nil {
		return out, err
	}
	defer stream.Close()
	if out.log, err = stream.Rest(ctx); err == nil {
		out.report, err = r.client.Report(ctx, root)
	}
	return out, err
}

// tree checks a tree by itself.
func (r *torture) tree(p *tortured, root troupe.SessionID, sum *tally) map[troupe.SessionID]*logged {
	all := map[troupe.SessionID]*logged{}
	read := r.told[p.key]
	b := &book{sessions: make(map[troupe.SessionID]*account)}
	for _, e := range read.log {
		s := all[e.Session]
		if s == nil {
			s = &logged{id: e.Session}
			all[e.Session] = s
		}
		line, err := wire.NewEvent(e)
		if err == nil {
			err = b.add(line)
		}
		if err := errors.Join(err, s.add(e, sum)); err != nil {
			r.t.Errorf("tree %s, session %s, event %d: %v", p.key, e.Session, e.Seq, err)
		}
	}
	report := read.report
	if err := errors.Join(b.close(), b.compare(report)); err != nil {
		r.t.Errorf("tree %s (%s): %v", p.key, root, err)
	}
	for _, row := range report.Agents {
		s := all[row.ID]
		if s == nil {
			r.t.Errorf("session %s of tree %s has a row and no log", row.ID, p.key)
			continue
		}
		fold := wire.NewSession(s.st.Session, row.Path, time.Now())
		if row.Seq != fold.Seq || row.Status != fold.Status || row.Run != fold.Run || row.Usage != fold.Usage ||
			row.CostUSD != fold.CostUSD || row.Turns != fold.Turns || row.ToolUses != fold.ToolUses {
			r.t.Errorf("the row of %s is\n%+v\nand its log folds to\n%+v", row.Path, row, fold)
		}
		if row.Status != troupe.Completed {
			r.t.Errorf("%s of tree %s (%s) is %s: %s %s", row.Path, p.key, root, row.Status, row.Cause, row.Error)
		}
		sum.agents++
	}
	if report.Result != "all done" {
		r.t.Errorf("tree %s (%s) says in the end: %q %s", p.key, root, report.Result, report.Error)
	}
	return all
}

var effectName = regexp.MustCompile(`\bt\d+[a-z]* \d+\b`)

// add folds an event, and notes what it says of effects and folders.
func (s *logged) add(e troupe.Event, sum *tally) error {
	if err := s.st.Apply(e); err != nil {
		return err
	}
	switch b := e.Body.(type) {
	case troupe.Created:
		s.parent = b.Parent
		if b.Workspace.Kind != "" && b.Workspace.Session() == s.id {
			s.ws = b.Workspace
		}
	case troupe.Replied:
		for i, block := range onlyCalls(b.Blocks) {
			if block.Name == "Read" || block.Name == "Agent" {
				continue
			}
			name := effectName.FindString(block.Input)
			var in struct {
				Path string `json:"file_path"`
			}
			if err := json.Unmarshal([]byte(block.Input), &in); err != nil || name == "" {
				return fmt.Errorf("call %d, of %s, is no step: %w", i, block.Name, err)
			}
			agent, _, _ := strings.Cut(name, " ")
			f := &effect{name: name, tool: block.Name, file: agent + ".txt",
				twice: strings.Contains(block.Input, "/ledger; ")}
			if in.Path != "" {
				f.file = filepath.Base(in.Path)
			}
			s.effects = append(s.effects, f)
		}
		sum.effects++
	case troupe.ToolFinished:
		f := s.of(b.Result.Reply)
		switch {
		case f == nil || b.Name != f.tool:
		case b.Interrupt:
			f.maybe = true
			sum.reported++
		case b.Result.IsError:
			return fmt.Errorf("step %q fails: %s", f.name, words(b.Result.Blocks))
		case b.Task != nil:
			f.maybe = true // until its end is told
		default:
			f.done = true
		}
	case troupe.MailDelivered:
		for _, m := range b.Mail {
			if o := m.Ended; o != nil && o.Kind == troupe.TaskShell {
				f := s.of(o.Coord.Reply)
				if f.done = o.Status == troupe.Completed; !f.done {
					sum.reported++
				}
			}
		}
	case troupe.WorkspaceSaved:
		sum.saved++
		if b.Problem != "" {
			return fmt.Errorf("no checkpoint: %s", b.Problem)
		}
	case troupe.ModelFailed:
		sum.interrupted++
	case troupe.Ended:
		if w := b.Outcome.Workspace; w != nil {
			s.kept = w
		}
	}
	return nil
}

// of is the step of a reply.
func (s *logged) of(reply int) *effect {
	for _, e := range s.effects {
		if strings.HasSuffix(e.name, fmt.Sprintf(" %d", reply)) {
			return e
		}
	}
	return nil
}

func onlyCalls(blocks []troupe.Block) (out []troupe.Call) {
	for _, b := range blocks {
		if b.Call != nil {
			out = append(out, *b.Call)
		}
	}
	return out
}

func words(blocks []troupe.Block) string {
	var b strings.Builder
	for _, x := range blocks {
		b.WriteString(x.Text)
	}
	return b.String()
}

// places looks at each folder and branch in which the work of a session has to be.
func (r *torture) places(p *tortured, all map[troupe.SessionID]*logged, sum *tally) {
	for _, s := range all {
		for at := s; at != nil; at = all[at.parent] {
			if at.ws.Kind != "" {
				if at.kept == nil {
					r.t.Errorf("what became of the folder of %s is not in its log", at.agent(p))
					break
				}
				if at.ws.Of == p.dir { // else it is in a folder that is gone
					r.holds(p, s, at.agent(p)+"'s branch "+at.kept.Branch, func(name string) (string, bool) {
						return r.show(p.dir, at.kept.Tip, name)
					})
				}
				state := at.kept.MergeState()
				if state == troupe.MergeDone && at == s {
					sum.merged++
				}
				if at.ws.Merge == troupe.MergeAuto && state != troupe.MergeDone && state != troupe.MergeNothing {
					r.t.Errorf("the work of %s was not merged (%s): %+v", at.agent(p), state, at.kept)
				}
				if state != troupe.MergeDone {
					break
				}
			}
			if at.parent == "" {
				r.holds(p, s, p.dir, func(name string) (string, bool) {
					b, err := os.ReadFile(filepath.Join(p.dir, name))
					return string(b), err == nil
				})
			}
		}
		if s.ws.Of == p.dir && s.kept != nil {
			r.exact(p, all, s)
		}
	}
}

// show is a file of a commit.
func (r *torture) show(dir, commit, name string) (string, bool) {
	cmd := r.command()
	git, err := exec.LookPath("git")
	r.fine("find git", err)
	cmd.Path, cmd.Args, cmd.Dir = git, []string{"git", "-C", dir, "show", commit + ":" + name}, dir
	out, err := cmd.Output()
	return string(out), err == nil
}

// holds compares the files of a session's own at a place with its log.
func (r *torture) holds(p *tortured, s *logged, where string, read func(name string) (string, bool)) {
	agent := s.agent(p)
	lines, edits := map[string]int{}, map[string]int{}
	count := func(name string, into map[string]int) {
		text, _ := read(name)
		for line := range strings.Lines(text) {
			into[strings.TrimSpace(line)]++
		}
	}
	count(agent+".txt", lines)
	count(agent+".md", edits)
	if edits["END"] != 1 {
		r.t.Errorf("%s: %s.md has no end, or two", where, agent)
	}
	delete(edits, "END")
	for _, e := range s.effects {
		n := 0
		switch e.tool {
		case "Bash":
			n = lines[e.name]
			delete(lines, e.name)
		case "Edit":
			n = edits[e.name]
			delete(edits, e.name)
		case "Write":
			if text, there := read(e.file); there {
				if n = 1; text != e.name+"\n" {
					r.t.Errorf("%s: %s holds %q", where, e.file, text)
				}
			}
		}
		if n > 1 || n == 0 && e.done || n == 1 && !e.done && !e.maybe {
			r.t.Errorf("%s: %q is there %d times; its call ended well: %v; it was told as interrupted: %v", where,
				e.name, n, e.done, e.maybe)
		}
	}
	for line := range lines {
		r.t.Errorf("%s: %s.txt has a line that no log tells of: %q", where, agent, line)
	}
	for line := range edits {
		r.t.Errorf("%s: %s.md has a line that no log tells of: %q", where, agent, line)
	}
}

// exact: the branch of a session differs from what it began with in files of those alone that worked there, and its
// end is the last checkpoint of the log.
func (r *torture) exact(p *tortured, all map[troupe.SessionID]*logged, s *logged) {
	own := map[string]bool{}
	for _, other := range all {
		for at := other; at != nil; at = all[at.parent] {
			if at == s {
				own[other.agent(p)+".md"] = true
				for _, e := range other.effects {
					own[e.file] = true
				}
			}
		}
	}
	changed := r.git("-C", p.dir, "diff", "--name-only", s.kept.Base, s.kept.Tip)
	for _, name := range strings.Fields(changed) {
		if !own[name] {
			r.t.Errorf("the branch %s of %s has changed %s, which is another's", s.kept.Branch, s.agent(p), name)
		}
	}
	if s.kept.Run == nil {
		r.t.Errorf("the content of the folder of %s is not in its log: %+v", s.agent(p), s.kept)
		return
	}
	if tree := strings.TrimSpace(r.git("-C", p.dir, "rev-parse", s.kept.Tip+"^{tree}")); tree != s.kept.Run.Tree {
		r.t.Errorf("the branch of %s is %s, and its folder was %s", s.agent(p), tree, s.kept.Run.Tree)
	}
}

// nothingElse: a project has no other files than those that the scripts name.
func (r *torture) nothingElse(dir string, names map[string]bool) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(dir, path); {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.IsDir() && !names[rel]:
			r.t.Errorf("nobody's file is in %s: %s", dir, rel)
		}
		return nil
	})
	r.fine("look at a project", err)
	r.git("-C", dir, "fsck", "--full", "--no-dangling")
}

// rows looks at what only the database tells.
func (r *torture) rows() {
	for what, sql := range map[string]string{
		"trees whose sums are not those of their sessions, or that hold something back": `SELECT t.* FROM trees t JOIN
			(SELECT root, count(*) - 1 AS n, sum(input) AS i, sum(output) AS o, sum(cache_read) AS r,
				sum(cache_write) AS w, sum(cost) AS c, sum(turns) AS t, sum(tool_uses) AS u FROM sessions
				GROUP BY root) s USING (root)
			WHERE active <> 0 OR held_tokens <> 0 OR held_cost <> 0 OR held_turns <> 0 OR
				(total, input, output, cache_read, cache_write, cost, turns, tool_uses) IS DISTINCT FROM
				(n, i, o, r, w, c, s.t, u)`,
		"mail that nobody has read": `SELECT root, receiver, id FROM mail WHERE delivered = 0`,
		"requests that are open":    `SELECT root, id FROM requests WHERE settled = 0`,
		"sessions whose log is another": `SELECT id FROM sessions s WHERE seq <>
			(SELECT count(*) FROM events e WHERE e.root = s.root AND e.session = s.id)`,
		"processes that seem to live": `SELECT id, pid FROM owners
			WHERE NOT released AND beat > clock_timestamp() - interval '3 s'`,
		"workers that are listed": `SELECT key, value FROM records WHERE kind = 'worker'`,
		"transactions that hold their locks": `SELECT pid, query FROM pg_stat_activity
			WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()`,
	} {
		out, err := r.sql(sql)
		if err != nil || out != "" {
			r.t.Errorf("%s: %s (%v)", what, out, err)
		}
	}
	n, err := r.sql("SELECT count(*) FROM trees")
	if err != nil || n != fmt.Sprint(len(r.trees)) {
		r.t.Errorf("%d trees were begun, and there are %s (%v)", len(r.trees), n, err)
	}
}

// left looks for what the processes have left.
func (r *torture) left() {
	for _, dir := range []string{r.temp(), filepath.Join(r.home(), "run"), filepath.Join(r.root, "server", "run"),
		filepath.Join(r.home(), "ledgers")} {
		left, err := os.ReadDir(dir)
		left = slices.DeleteFunc(left, func(d fs.DirEntry) bool { return d.Name() == ".lock" }) // of whoever is next
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
			r.t.Errorf("left in %s are %v (%v)", dir, left, err)
		}
	}
}

// line is what a process logs.
type line struct {
	Time    time.Time        `json:"time"`
	Msg     string           `json:"msg"`
	Session troupe.SessionID `json:"session"`
	node    string
}

// table tells what was done, and what came of it.
func (r *torture) table(sum tally) {
	var all []line
	for _, n := range r.nodes() {
		text, err := os.ReadFile(n.log.Name())
		r.fine("read a log", err)
		for s := range strings.Lines(string(text)) {
			l := line{node: n.name}
			if json.Unmarshal([]byte(s), &l) == nil {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.Time.Compare(b.Time) })
	holder := map[troupe.SessionID]string{}
	parked := 0
	var took []time.Duration // each take-over, since the last fault of who had the tree
	for _, l := range all {
		switch l.Msg {
		case "session begins":
			holder[l.Session] = l.node
		case "a session is parked":
			parked++
		case "a session is taken up":
			took = append(took, r.since(holder[l.Session], l.Time))
			holder[l.Session] = l.node
		}
	}
	kinds := map[string]int{}
	for _, f := range r.faults {
		kinds[f.kind]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d agents in %d trees, %v\n", sum.agents, len(r.trees), time.Since(r.began).Round(time.Second))
	fmt.Fprintf(&b, "workers killed %d, stopped %d; cut off %d, stalled %d; server killed %d; database restarted %d\n",
		kinds["kill"], kinds["stop"], kinds["cut"], kinds["stall"], kinds["server"], kinds["database"])
	slices.Sort(took)
	if n := len(took); n > 0 {
		fmt.Fprintf(&b, "take-overs %d, half of them within %.1f s of the last fault of who had the tree, nine of ten "+
			"within %.1f s, all within %.1f s\n", n, took[n/2].Seconds(), took[n*9/10].Seconds(), took[n-1].Seconds())
	}
	fmt.Fprintf(&b, "parked after three of them %d, set going again by words %d\n", parked, r.revived)
	fmt.Fprintf(&b, "replies with effects %d, told that they may have taken effect %d; model calls made again %d; "+
		"checkpoints %d, merges %d", sum.effects, sum.reported, sum.interrupted, sum.saved, sum.merged)
	r.t.Log(b.String())
	refused := 0
	for text, n := range r.answered {
		if refused += n; r.t.Failed() {
			r.t.Logf("%d times: %s", n, text)
		}
	}
	r.t.Logf("calls that were made again: %d", refused)
}

// since is how long before a moment the last fault of a node began.
func (r *torture) since(node string, at time.Time) (took time.Duration) {
	for _, f := range r.faults {
		if f.node == node && f.at.Before(at) {
			took = at.Sub(f.at)
		}
	}
	return took
}
