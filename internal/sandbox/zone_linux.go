//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"github.com/troupe-dev/troupe"
)

// zone is where a path lies, as far as changing it goes.
type zone int

const (
	zoneOutside   zone = iota // the kernel refuses
	zoneFree                  // nothing that happens there lasts, or is anybody's concern
	zoneOpen                  // the kernel lets it: nothing is guarded there
	zoneGranted               // let, but the kernel cannot be told what of it is guarded: the listener does it
	zoneProtected             // below what may be written, and yet not
)

func (p *plan) zone(path string) zone {
	switch {
	case slices.Contains(devices(), path):
		return zoneFree
	case p.isHidden(path):
		return zoneOutside
	case troupe.WithinAny(path, p.protected):
		if outermost(path, p.changeable()) == "" && !troupe.WithinAny(path, p.late) {
			return zoneOutside
		}
		return zoneProtected
	case p.temp != "" && path != p.temp && troupe.Within(path, p.temp), troupe.WithinAny(path, p.private()):
		return zoneFree
	case slices.ContainsFunc(p.scratch, func(dir string) bool { return path != dir && troupe.Within(path, dir) }):
		return zoneOpen
	case p.isHeld(path):
		return zoneGranted
	case !troupe.WithinAny(path, p.changeable()) && !troupe.WithinAny(path, p.late):
		return zoneOutside
	case p.guarded(path):
		return zoneProtected
	default:
		return zoneGranted
	}
}

// ofCache is the zone of the folder that a cache itself is, for one operation. What lies in it is a command's to
// change; the folder is what all projects share. It is made where it is missing, and only as a folder, and only a
// command that may write the project changes its mode and times.
func (p *plan) ofCache(z zone, try troupe.Attempt, at place) zone {
	nameless := try.Op == troupe.OpCreate && at.exists // a file in it
	if !slices.Contains(p.shared, at.path) || nameless || at.exists && p.level == troupe.LevelWorkspace ||
		!at.exists && try.Kind == troupe.KindFolder {
		return z
	}
	return zoneOutside
}

// onTheWay reports whether a folder is missing on the way to something that was granted.
func (p *plan) onTheWay(path string) bool {
	return slices.ContainsFunc(p.late, func(l string) bool { return l != path && troupe.Within(l, path) }) &&
		p.zone(path) == zoneOutside
}

// modeOf is the mode of a new folder. One of a cache, or on the way to one, is its user's to use, and no other's to
// write.
func (p *plan) modeOf(path string, mode uint32) uint32 {
	if slices.Contains(p.shared, path) || p.onTheWay(path) {
		return mode&0o755 | 0o700
	}
	return mode & 0o1777 // as the kernel does it
}

// guarded reports whether a path that may be written otherwise stays as it is.
func (p *plan) guarded(path string) bool {
	return troupe.WithinAny(path, p.protected) || p.guard != nil && !p.isHeld(path) && p.guard(path) != ""
}

// isHeld reports whether a path lies in a cache in which the listener makes each change, and guards nothing.
func (p *plan) isHeld(path string) bool {
	return slices.ContainsFunc(p.held, func(dir string) bool { return path != dir && troupe.Within(path, dir) })
}

// leads reports whether something that is guarded could come to lie below a path, whatever is
// there now: what is not an empty folder may not get that name.
func (p *plan) leads(path string) bool {
	return p.above != nil && !p.isHeld(path) && p.above(path) ||
		slices.ContainsFunc(p.protected, func(g string) bool { return g != path && troupe.Within(g, path) })
}

// private are the places where the command has a file system of its own.
func (p *plan) private() []string {
	var list []string
	for _, m := range p.mounts {
		switch m.kind {
		case mountPrivate:
			list = append(list, m.path)
		case mountTerminals:
			list = append(list, pseudoTerminals, multiplexer)
		default:
		}
	}
	return list
}

// alias reports whether a file would get a name in two zones: where the kernel lets it be changed by
// whoever has the one, and where it is not to be changed but by what the listener lets.
func (p *plan) alias(from, to string) bool {
	return p.unguarded(from) != p.unguarded(to)
}

// unguarded reports whether a path is one that a command may change with nothing guarded there.
func (p *plan) unguarded(path string) bool {
	z := p.zone(path)
	return z == zoneFree || z == zoneOpen || p.isHeld(path) || p.isInPad(path)
}

// isInPad reports whether a path lies in the scratchpad.
func (p *plan) isInPad(path string) bool {
	return p.pad != "" && path != p.pad && troupe.Within(path, p.pad)
}
