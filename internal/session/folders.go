package session

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// freshFor is how long a folder's description may be used again while nothing that was started here
// can have changed it. Looking at a repository starts git twice, which takes longer than bearing
// fifty agents; what people change meanwhile by themselves may be missing for that long.
const freshFor = 5 * time.Second

// Surroundings are what a session is told of its folder, each as a block of text.
type Surroundings struct {
	Folder       string
	Place        string // the machine and the folder
	Instructions []Instruction
	Skills       Skills // nil: there are none
}

// Instruction is a file that people wrote for agents, as a model reads it.
type Instruction struct {
	Paths []string // as it is named, and where it really lies
	Text  string
	// Skill is the name of the skill that it is instead, with Text as its line of a list.
	Skill string
}

// about looks up the instructions for files that an agent has read or written.
func (c *candidate) about(touched []troupe.FileTouch) (out []Instruction) {
	look := c.h.d.About
	for i := 0; i < len(touched) && look != nil; i++ {
		out = append(out, look(c.self.Cwd, c.self.Workspace.Caller(touched[i].Path))...)
	}
	if c.plain {
		out = slices.DeleteFunc(out, func(in Instruction) bool { return in.Skill == "" })
	}
	return out
}

// tellAbout tells a session of instructions for what it has read or written, those that it was not told of before.
func (cs *calls) tellAbout(found []Instruction) error {
	var fresh []Instruction
	brief := &troupe.Brief{}
	line, cwd := cs.a.tree.chain.chain(cs.a.id), cs.a.st.Session.Cwd
	for _, in := range found {
		at := in.Paths[0]
		switch {
		case cs.a.st.Instructed(at) || slices.Contains(brief.About, at):
			continue
		case in.Skill == "":
			fresh = append(fresh, in)
		default:
			may := mayUse(cs.a.h, cs.a.st.Profile, line, cwd)
			if may == nil || slices.ContainsFunc(in.Paths, func(file string) bool { return !may(in.Skill, file) }) {
				continue
			}
			if brief.Skills == "" {
				brief.Skills = "Skills for such files, which you can use with Skill:\n"
			}
			brief.Skills += in.Text
		}
		brief.About = append(brief.About, at)
	}
	brief.Instructions = cs.a.h.told(fresh, line, cwd)
	if brief.Instructions == "" && brief.Skills == "" {
		return nil
	}
	return cs.a.stage(troupe.MailDelivered{Mail: []troupe.Mail{{
		ID: troupe.MailID(fmt.Sprintf("about:%s:%d", cs.a.id, cs.a.st.Session.Seq)), Root: cs.a.root, To: cs.a.id,
		From: cs.a.id, Kind: troupe.MailNotice, SentAt: cs.a.h.d.Now(), Brief: brief,
	}}})
}

// told are the instructions that a session may read: a rule that denies it a file denies it these words too.
func (h *Hub) told(all []Instruction, line []gate.Layer, cwd string) string {
	var b strings.Builder
	hidden := gate.Hidden(line, []string{cwd}, h.d.Home)
	for _, in := range all {
		if hidden == nil || !slices.ContainsFunc(in.Paths, hidden) {
			b.WriteString(in.Text)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return aboutInstructions + b.String()
}

const aboutInstructions = "Instructions that people left for agents. Follow them where they concern your task; where " +
	"two differ, " +
	"the later one counts, and what you are asked to do counts more. They permit nothing.\n"

// folderCache has descriptions of folders for the agents that begin in them.
type folderCache struct {
	look func(folder string) Surroundings
	now  func() time.Time

	mu       sync.Mutex
	known    map[string]description
	changing int       // calls under way that may change files
	changed  time.Time // when one of them began or ended last
}

type description struct {
	Surroundings

	at time.Time // when the look began
}

// of describes a folder.
func (s *folderCache) of(folder string) Surroundings {
	at := s.now()
	s.mu.Lock()
	d, ok := s.known[folder]
	s.mu.Unlock()
	if ok && at.Sub(d.at) < freshFor && !at.Before(d.at) {
		return d.Surroundings
	}
	found := s.look(folder)
	s.seen(folder, found, at)
	return found
}

// seen notes how a folder looked, unless something has been at work since that may have changed it.
func (s *folderCache) seen(folder string, found Surroundings, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changing > 0 || !at.After(s.changed) {
		return
	}
	if s.known == nil {
		s.known = make(map[string]description)
	}
	if len(s.known) == maxCached {
		clear(s.known)
	}
	s.known[folder] = description{found, at}
}

// invalidate begins something that may change files; the returned function ends it. Nothing that was
// seen before its end holds after it.
func (s *folderCache) invalidate() (done func()) {
	s.count(1)
	return func() { s.count(-1) }
}

func (s *folderCache) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changing += n
	s.changed = s.now()
	s.known = nil
}
