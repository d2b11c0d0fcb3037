package app

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/memory"
	"github.com/troupe-dev/troupe/internal/model/replay"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
)

// memoryPlaces are where memories lie of agents that work in a folder.
func memoryPlaces(dirs config.Dirs, cwd string, tree troupe.SessionID) memory.Places {
	out := memory.Places{Project: config.Folders(resolved(cwd)), Data: memoryData(dirs), Tree: tree}
	if dirs.Home != "" {
		out.Home = resolved(dirs.Home)
	}
	return out
}

// memoryData is where memories of trees lie. Tools follow links before they are judged, so that links in the name of
// the home are followed here too.
func memoryData(dirs config.Dirs) string { return filepath.Join(resolved(dirs.Data), "memory") }

// findsMemory finds the memory of a type of agents.
type findsMemory = func(profile.Definition) (*troupe.Memory, error)

// memories finds the memories of types of agents that are born in a tree.
func (p *profiles) memories(tree troupe.SessionID, cwd string) findsMemory {
	return func(d profile.Definition) (*troupe.Memory, error) {
		name, err := memory.FolderName(d.Name)
		if err != nil {
			return nil, err
		}
		if other, err := p.kinds().Lookup(name); err == nil && !strings.EqualFold(other.Name, d.Name) &&
			other.Memory == d.Memory {
			return nil, fmt.Errorf("the agent %s has the folder that would be its own", other.Name)
		}
		return memoryPlaces(p.dirs, cwd, tree).Of(d.Memory, d.Name)
	}
}

// remembers gives a session the memory of another type of agents.
func (p *profiles) remembers(d profile.Definition, of string, find findsMemory) (profile.Definition, findsMemory,
	error) {
	other, err := p.Types.Lookup(of)
	if err != nil {
		return d, nil, p.noSuchAgent(of, err)
	}
	switch other.Memory {
	case "":
		return d, nil, &troupe.UserError{Problem: "agents of the type " + other.Name + " keep nothing",
			Hint: "A definition with `memory: user` or `memory: project` has them keep what they learn.",
			Code: troupe.ExitUsage}
	case troupe.MemoryLocal:
		return d, nil, &troupe.UserError{Problem: "what agents of the type " + other.Name + " keep is of one session " +
			"and goes with it", Hint: "Resume that session and ask for it there.", Code: troupe.ExitUsage}
	case troupe.MemoryUser, troupe.MemoryProject:
	}
	m, err := find(other)
	if err != nil {
		return d, nil, &troupe.UserError{Problem: "the memory of " + other.Name + " cannot be had: " + err.Error(),
			Code: troupe.ExitUsage, Err: err}
	}
	d.Memory = other.Memory
	return d, func(profile.Definition) (*troupe.Memory, error) { return m, nil }, nil
}

// memories implements session.Memories.
type memories struct{ app *App }

// Told implements session.Memories. What cannot be read is left out: an agent is born without it. A replay tells what
// was told then: the run that it plays may have written these files itself, and nothing is written again.
func (m memories) Told(id troupe.SessionID, replies int, of troupe.Memory) (out []session.Instruction) {
	if p := m.app.models.player; p != nil {
		if told, ok := p.Memory(id, replies); ok {
			return toldThen(told)
		}
	}
	for _, folder := range []string{of.Also, of.Folder} {
		if folder == "" {
			continue
		}
		text, file, err := memory.Head(folder)
		if err != nil {
			m.app.env.Log.Warn("a memory is left out", "file", file, "err", err)
			continue
		}
		if text != "" {
			block := fmt.Sprintf("%s%s>\n%s\n%s", replay.MemoryTag, troupe.Escape(fmt.Sprintf("%q", file)),
				troupe.Escape(text), replay.MemoryEnd)
			out = append(out, session.Instruction{Paths: []string{file}, Text: m.app.Mask(block)})
		}
	}
	return out
}

// toldThen are the blocks of a memory as they were told, by their files.
func toldThen(text string) (out []session.Instruction) {
	for block := range strings.SplitAfterSeq(text, replay.MemoryEnd) {
		in := session.Instruction{Text: block}
		if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(block, replay.MemoryTag)); err == nil {
			if file, err := strconv.Unquote(quoted); err == nil {
				in.Paths = []string{file}
			}
		}
		if block != "" {
			out = append(out, in)
		}
	}
	return out
}

// Check implements session.Memories.
func (m memories) Check(of troupe.Memory, path string, content []byte) error {
	return memory.Check(of.Folder, path, content, secretIn(m.app))
}

// secretIn reports whether a text holds what looks like a credential.
func secretIn(a *App) func(text string) bool {
	return func(text string) bool { return a.Mask(text) != text || masked(text) }
}
