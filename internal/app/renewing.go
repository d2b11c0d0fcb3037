package app

import (
	"context"
	"slices"
	"sync"

	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/skill"
)

// definedAgents are the definitions of agents that were read last for folders, each with the signature of the files:
// whether people have changed one is looked at before each reply of a main agent, and costs no reading.
type definedAgents struct {
	mu    sync.Mutex
	known map[string]readAgents
	users readAgents // the user's own alone
	made  madeDefinitions
	// stored is the source of stored agents that a run began with last; nil: none has begun.
	stored *[]profile.Folder
}

type readAgents struct {
	signature string
	set       profile.Set
	folders   []profile.Folder // that were read: which plugins count is settled where a run begins
}

// definedAs is a signature of definitions, and of what is trusted: both say which of them count.
func definedAs(a *App, folders []profile.Folder) string {
	return front.Signature(append(slices.Clip(folders), profile.Folder{Path: trustFolder(a.dirs)}))
}

// mostDefined is how many folders are remembered.
const mostDefined = 100

// read takes the definitions that hold in a folder from their files. Their signature is from before these were read:
// what changes meanwhile is read again.
func (d *definedAgents) read(cwd string, from profile.Sources, signature string) (readAgents, []profile.Problem) {
	set, problems := profile.Load(from)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) > mostDefined {
		d.known = make(map[string]readAgents)
	}
	d.known[cwd] = readAgents{signature, set, from.Folders}
	return d.known[cwd], problems
}

// own are the names of the user's own definitions, and of those that come with the program.
func (d *definedAgents) own(a *App) []string {
	folders := userAgents(a.dirs)
	signature := front.Signature(folders)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users.signature != signature {
		set, _ := profile.Load(profile.Sources{Folders: folders})
		d.users = readAgents{signature: signature, set: set}
	}
	return d.users.set.Names()
}

// agentSources are where the definitions of agents come from that hold in a folder under a policy.
func agentSources(a *App, tools *toolbox, p *policy, cwd, flag string) profile.Sources {
	known := sync.OnceValue(func() styles { return stylesOf(a, p, cwd) })
	style := func(name string) (text, problem string) {
		found := known()
		st, problem := found.named(name)
		return st.text, problem
	}
	return profile.Sources{Style: style, Folders: p.agentFolders(a.dirs, cwd), Flag: flag, Tools: tools.Callable(),
		Skip: p.untrustedAgents(), Mask: a.masker(), Index: a.dirs.Definitions()}
}

// lookForAgents looks for definitions that hold in a folder; ok is false if they are those of the signature seen.
type lookForAgents func(cwd, seen string) (found readAgents, ok bool)

// lookingForAgents is nil where a run is played again: there nothing changes.
func lookingForAgents(a *App, tools *toolbox) lookForAgents {
	if a.models.player != nil {
		return nil
	}
	return func(cwd, seen string) (found readAgents, ok bool) {
		a.defined.mu.Lock()
		found, ok = a.defined.known[cwd]
		stored := a.defined.stored
		a.defined.mu.Unlock()
		folders := found.folders
		if !ok {
			folders = agentFolders(a.dirs, cwd)
		}
		now := definedAs(a, folders)
		if now == seen {
			return found, false
		}
		if ok && found.signature == now {
			return found, true
		}
		p, err := readPolicy(a, cwd, false)
		if err != nil {
			a.env.Log.Warn("changed definitions of agents are left out: settings cannot be read", "folder", cwd, "err",
				err)
			return found, false // it is looked at again before the next reply
		}
		if stored == nil {
			return found, false // they bound what a project defines
		}
		from := agentSources(a, tools, p, cwd, "")
		signed := definedAs(a, from.Folders)
		from.Files = profile.Read(p.withStored(from.Folders, *stored), from.Index)
		read, problems := a.defined.read(cwd, from, signed)
		for _, p := range problems {
			a.env.Log.Info("agent definition", "note", p.String())
		}
		return readAgents{signature: now, set: read.set}, true
	}
}

// renewals are what changes of a tree's types while it is at work.
type renewals struct {
	mu   sync.Mutex // guards the types once a tree has them
	seen string     // the signature of the files that they were compared with last
}

// kinds are the types as they are now.
func (p *profiles) kinds() profile.Set {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Types
}

// Renew has the tree's types follow their files. Hooks and servers stay those that the run began with.
func (p *profiles) Renew() (session.Renewal, bool) {
	if p.look == nil || p.Cwd == "" {
		return session.Renewal{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.look(p.Cwd, p.seen)
	if !ok {
		return session.Renewal{}, false
	}
	p.seen = found.signature
	types, names := p.Types.Renewed(found.set)
	if len(names) == 0 {
		return session.Renewal{}, false
	}
	p.Types = types
	doc, err := p.document()
	if err != nil {
		return session.Renewal{}, false // what was read from files can be written
	}
	return session.Renewal{Definitions: doc, Agents: names}, true
}

// ahead are the files of the definitions and skills that hold where a run is about to begin. They are read while the
// rest of it is made ready, each kind by a goroutine of its own, for the first request waits for all of them.
type ahead struct {
	reading sync.WaitGroup
	readFiles
}

type readFiles struct {
	signature string // of the definitions, before they were read
	agents    *front.Reading
	err       error // of reading stored agents
	skills    *skill.Files
}

// readAhead begins to read; who has called it waits with read.
func (p *policy) readAhead(ctx context.Context, a *App, cwd string) *ahead {
	x := &ahead{}
	folders := p.agentFolders(a.dirs, cwd)
	x.reading.Go(func() {
		x.signature = definedAs(a, folders)
		var stored []profile.Folder
		stored, x.err = storedAgents(ctx, a)
		a.defined.mu.Lock()
		a.defined.stored = &stored
		a.defined.mu.Unlock()
		x.agents = profile.Read(p.withStored(folders, stored), a.dirs.Definitions())
	})
	x.reading.Go(func() { x.skills = p.skillFiles(a.dirs, cwd) })
	return x
}

func (x *ahead) read() *readFiles {
	x.reading.Wait()
	return &x.readFiles
}
