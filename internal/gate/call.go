package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// call is a query with what every layer needs to know of it, worked out once.
type call struct {
	tool  string
	facts *troupe.ToolFacts // of tool
	agent string
	url   string
	host  rule.Host
	class troupe.Class
	at    rule.Places
	ownFolders
	paths []callPath
	// unclear: a path is not absolute, so that nobody can say where it leads. It matches
	// every deny rule of its tool and no allow rule.
	unclear bool
	// inside: every path lies in the session's folders. protected: one that would be written
	// is protected.
	inside, protected bool
	guards            guards
	resolve           func(string) string

	levels []troupe.Level
	shell  shell

	secrets
	hits
}

// secrets are what the call may not read.
type secrets struct {
	hidden func(string) (string, bool)
	bound  func(string) string // see Query.Bound
	exist  func() []string     // what is hidden and exists
	// hiddenWhy is why what it would read may not be read, "" if it may, and hiddenBy what says so.
	hiddenWhy, hiddenBy string
}

// ownFolders are what counts as the session's own.
type ownFolders struct {
	roots []string
	also  []string // further ones, for reading alone
	pad   string   // the one that the agents of the tree share; "" if there is none
	// inRules is the path by which rules name one; see Query.Named.
	inRules func(string) string
}

// hits are the first rules of each kind that cover the call, and what something else said about it.
type hits struct {
	managed, deny, ask, allow hit
	judged                    *troupe.Judgement
	tree                      []target // the protected files that git would change
	plan                      string   // the file that the caller writes its plan to; "" if it does not plan
	strips                    bool     // rules that leave open what is run do not count
	memory                    *troupe.Memory
	via                       *troupe.ToolFacts // the tool that it is made through; nil: none
	askWhy                    string            // why the call itself wants a person's yes; "" if it does not
	unconfined                bool              // it is done outside of the sandbox
	client                    bool              // a client of the API carries it out
	// why no answer lets it write what it would write, and what says so; "" if one may
	closedWhy, closedBy string
}

type callPath struct {
	name   string
	write  bool
	inside bool
	free   bool     // needs no rule: a read in the session's folders
	since  int      // the first layer with an allow rule that covers it; -1: none
	guards []*guard // the protected places it would write
}

func newCall(q *Query) call {
	c := call{
		tool: q.Tool, facts: q.known.Facts(q.Tool), agent: q.Access.Agent, url: q.Access.URL, class: q.Access.Class,
		at: placesOf(q.Roots, q.Home), ownFolders: ownFolders{q.Roots, q.Readable, q.Scratchpad, q.Named}, inside: true,
		levels: q.Levels, resolve: q.Resolve,
		secrets: secrets{hidden: notOfOthers(q.Scratchpad, q.Hidden), bound: q.Bound, exist: q.HiddenFiles},
		hits: hits{judged: q.Judged,
			plan: PlanOf(q.Chain), strips: strips(q.Chain), askWhy: q.Access.Ask,
			memory: q.Chain[len(q.Chain)-1].Memory, via: q.via, unconfined: q.Access.Unconfined,
			client: q.Access.Client},
	}
	// What a repository's settings have git run is confined with git, if there is a sandbox.
	c.shell.text, c.shell.safeGit = q.Access.Command, q.SafeGit || slices.Contains(q.Levels, troupe.LevelWorkspace)
	// What a call would do counts for more than the class it gives itself.
	if len(q.Access.Writes) > 0 {
		c.class = max(c.class, troupe.ClassEdit)
		c.guards = guardsOf(q)
	}
	if c.isCommand() || c.class < troupe.ClassRead {
		c.class = troupe.ClassExec
	}
	if c.guards.places == nil && strings.Contains(c.shell.text, ">") {
		c.guards = guardsOf(q)
	}
	if c.shell.text != "" && strings.Contains(c.shell.text, "git") && q.GitChanges != nil {
		if c.guards.places == nil {
			c.guards = guardsOf(q)
		}
		c.tree = changesOfGit(&c, q)
	}
	if c.url != "" {
		c.host = rule.HostOf(c.url)
	}
	if n := len(q.Access.Reads) + len(q.Access.Writes); n > 0 {
		c.paths = make([]callPath, 0, n)
	}
	for _, p := range q.Access.Reads {
		c.addPath(p, false)
	}
	for _, p := range q.Access.Writes {
		c.addPath(p, true)
	}
	c.closedWhy, c.closedBy = closedIn(&c, Closed(q.Scratchpad, q.Closed)), "sandbox.deny_write"
	if keeps := KeptTo(q.Chain, q.Scratchpad); c.closedWhy == "" && keeps != nil {
		c.closedWhy, c.closedBy = closedIn(&c, func(name string) string {
			switch {
			case c.isCommand() && !c.isInside(name): // temporary folders and caches are for the kernel to tell
			case !c.isCommand() && (c.plan != "" && name == c.plan || c.memory.Holds(name)):
			default:
				return keeps(name)
			}
			return ""
		}), "writes"
	}
	if len(c.paths) == 0 && !c.isCommand() && (c.facts.Argument == troupe.PathArgument || c.class == troupe.ClassEdit) {
		c.unclear = true // a tool for files that names none
	}
	c.inside = c.inside && !c.unclear
	return c
}

// ruleFor is the rule that names one place, and all below it if it is a folder.
func ruleFor(c *call, tool, name string) string {
	if c.inRules != nil {
		name = c.inRules(name)
	}
	return PathRule(tool, name)
}

func (c *call) isCommand() bool { return c.shell.text != "" }

func (c *call) addPath(name string, write bool) {
	if !path.IsAbs(name) {
		c.unclear = true
		return
	}
	p := callPath{name: path.Clean(name), write: write, since: -1}
	if c.plan != "" && p.name == c.plan && !c.isCommand() {
		p.inside, p.free = true, c.class == troupe.ClassRead
		c.paths = append(c.paths, p)
		return
	}
	if !ownMemory(c, p.name) {
		c.checkHidden(p.name)
	}
	if !write && !c.isCommand() {
		checkBound(&c.secrets, p.name)
	}
	p.inside = c.isInside(p.name) || !write && (inAny(c.also, p.name) || !c.isCommand() && c.memory.Shows(p.name))
	if write && !inScratchpad(c, p.name) {
		p.guards = c.guarded(p.name)
	}
	p.free = p.inside && c.class == troupe.ClassRead
	c.inside = c.inside && p.inside
	c.protected = c.protected || len(p.guards) > 0
	c.paths = append(c.paths, p)
}

// closedIn says why settings keep a file as it is, of those that a tool would write, a command redirects to, or git
// would change.
func closedIn(c *call, closed func(path string) (why string)) string {
	if closed == nil {
		return ""
	}
	var names []string
	for i := range c.paths {
		if c.paths[i].write {
			names = append(names, c.paths[i].name)
		}
	}
	targets := slices.Clone(c.tree)
	if strings.Contains(c.shell.text, ">") {
		for _, p := range c.parsed().parts {
			targets = append(targets, p.writes...)
		}
	}
	for _, t := range targets {
		names = append(names, t.name)
	}
	for _, name := range names {
		if name == "" { // it is no file, or no one knows which: the kernel holds that
			continue
		}
		if why := closed(name); why != "" {
			return rule.Visible(name) + " stays as it is: " + why
		}
	}
	return ""
}

// checkHidden notes a path that nothing an agent does may read.
func (c *call) checkHidden(name string) {
	if c.hidden == nil || c.hiddenWhy != "" {
		return
	}
	if why, hidden := c.hidden(name); hidden {
		c.hiddenWhy, c.hiddenBy = rule.Visible(name)+" is kept from agents: "+why, "sandbox.deny_read"
	}
}

// checkBound notes a path that no agent of this project reads at a server. What commands read the kernel sees to.
func checkBound(c *secrets, name string) {
	if c.bound == nil || c.hiddenWhy != "" {
		return
	}
	if why := c.bound(name); why != "" {
		c.hiddenWhy, c.hiddenBy = rule.Visible(name)+" is kept from agents: "+why, byServer
	}
}

// byServer is the setting that widens what agents of a server read.
const byServer = "sandbox.read"

// isLoose: it is a command that nothing would confine, where commands are confined or do not run.
func isLoose(c *call) bool {
	return c.bound != nil && c.isCommand() && len(c.levels) == 0
}

// checkHiddenNamed does the same for what a command names, where it may run without a sandbox that
// would see to it, and for what it names to git: that has its own copies of files.
func (c *call) checkHiddenNamed(chain []Layer) {
	if !c.isCommand() || c.hidden == nil {
		return
	}
	confined := slices.Contains(c.levels, troupe.LevelReadOnly) && slices.ContainsFunc(chain, func(l Layer) bool {
		mode, _ := Meaning(l.Mode)
		return mode.Self < troupe.ClassExec
	})
	if confined && slices.Contains(c.levels, troupe.LevelWorkspace) && !c.runsGit() {
		return
	}
	for _, f := range c.named() {
		if f.unanchored {
			continue // where reading is all there is, it is asked about
		}
		c.checkHidden(f.name)
	}
}

func (c *call) runsGit() bool {
	return strings.Contains(c.shell.text, "git") && slices.ContainsFunc(c.parsed().parts, func(p part) bool {
		return len(p.Words) > 1 && path.Base(p.Words[0].Text) == "git"
	})
}

// isInside: it lies in one of the session's own folders.
func (c *call) isInside(name string) bool { return inAny(c.roots, name) }

func inAny(folders []string, name string) bool {
	for _, root := range folders {
		if path.IsAbs(root) {
			if _, ok := rule.Below(path.Clean(root), name, false); ok {
				return true
			}
		}
	}
	return false
}

// matchRules finds, for each effect, the first rule along the chain that covers the call.
// An allow rule may cover one of several paths (a link, say), or one part of a command, and
// leave the others to others: the call is allowed from the layer on at which all are covered.
func (c *call) matchRules(chain []Layer) {
	for i := range chain {
		chain[i].rules(func(r *rule.Rule, managed bool) {
			switch r.Written.Effect {
			case troupe.Deny:
				if managed && !c.managed.found && matchesCall(r, c) {
					c.managed = hit{r, i, true}
				}
				if !managed && !c.deny.found && matchesCall(r, c) {
					c.deny = hit{r, i, true}
				}
				c.shell.note(r, i)
			case troupe.Ask:
				if !c.ask.found && matchesCall(r, c) {
					c.ask = hit{r, i, true}
				}
				c.shell.note(r, i)
			case troupe.Allow:
				switch {
				case !isFor(r, chain), c.strips && dangerous(r), r.Written.Bounded && leavesSandbox(c):
				case c.isCommand():
					c.matchCommand(r, i)
				default:
					c.matchAllow(r, i)
				}
			}
		})
	}
}

// leavesSandbox reports whether a call runs outside of a sandbox once a rule allows it.
func leavesSandbox(c *call) bool {
	return c.unconfined || c.isCommand() && !slices.Contains(c.levels, troupe.LevelWorkspace)
}

// isFor reports whether an allow rule is for the last session of a chain.
func isFor(r *rule.Rule, chain []Layer) bool {
	id := r.Written.For
	return id == "" || slices.ContainsFunc(chain, func(l Layer) bool { return l.Session == id })
}

func (c *call) matchAllow(r *rule.Rule, layer int) {
	// Of a server's tool the rule that names it says more than one for the whole server.
	if c.allow.found && isServer(c.tool) && c.allow.rule.Tool != c.tool && r.Tool == c.tool {
		c.allow = hit{r, layer, true}
	}
	if c.allow.found {
		return
	}
	if !c.protected && allowsAll(r, c) {
		c.allow = hit{r, layer, true}
		return
	}
	if c.unclear || len(c.paths) == 0 {
		return
	}
	helped, whole := false, true
	for i := range c.paths {
		p := &c.paths[i]
		if p.since < 0 && allowsPath(r, c, p) {
			p.since, helped = layer, true
		}
		whole = whole && (p.since >= 0 || p.free)
	}
	if helped && whole {
		c.allow = hit{r, layer, true}
	}
}
