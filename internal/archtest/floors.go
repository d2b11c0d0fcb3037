package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// room is one line of the map: a package and all below it.
type room struct {
	path  string // below the module; "" is the root package alone
	floor int
	// floors and packages are what it may import besides the root package; packages are
	// patterns. On floor 1 the room's own contract comes by itself.
	floors   []int
	packages []string
	why      string // what is lost when it imports more
}

// proof is the floor of what only tests and developers run. It may import everything, and
// nothing imports it.
const proof = 9

// house is the map. It follows the picture in ARCHITECTURE.md.
func house() []room {
	const (
		mechanism = "a mechanism knows the vocabulary and not its neighbours, or none of them can be replaced alone; " +
			"what it needs of another is a small interface of its own, wired on floor 3"
		surface = "a surface turns people and wires into calls of the use cases; what it did to the engine or the " +
			"store by itself, no other surface could do"
	)
	contracts := []string{"internal/store", "internal/model", "internal/tool", "internal/gate"}
	rooms := []room{
		{path: "", floor: 0, why: "everybody imports the vocabulary, so whatever it imported everybody would carry"},
		{
			path: "internal/turn", floor: 2,
			why: "Fold and Next are a function of the log alone, or replay, recovery and simulation prove nothing",
		},
		{
			path: "internal/fleet", floor: 2, packages: append([]string{"internal/turn"}, contracts...),
			why: "births and caps must hold over every database and for every kind of session, so they know the " +
				"contracts only",
		},
		{
			path: "internal/session", floor: 2, packages: append([]string{"internal/turn", "internal/fleet",
				"internal/handoff"}, contracts...),
			why: "the driver must run unchanged over every provider, tool and database, the simulated ones included, " +
				"so it knows the contracts only",
		},
		{
			path: "internal/wire", floor: 3, floors: []int{1, 2}, packages: []string{"internal/wire/..."},
			why: "a client in another process needs the JSON types without the use cases behind them",
		},
		{
			path: "internal/api", floor: 3, packages: []string{"internal/api/...", "internal/wire/..."},
			why: "what surfaces speak must be there without the use cases behind it, or a client would carry the " +
				"engine",
		},
		{
			path: "internal/app", floor: 3, floors: []int{1, 2},
			packages: []string{"internal/app/...", "internal/api", "internal/wire/..."},
			why:      "a use case that knew a surface could not be called by another",
		},
		{path: "internal/client", floor: 4, floors: []int{3}, packages: []string{"internal/client/..."}, why: surface},
		{path: "internal/httpd", floor: 4, floors: []int{3}, packages: []string{"internal/httpd/..."}, why: surface},
		{path: "internal/picture", floor: 4, packages: []string{"internal/picture/..."},
			why: "it turns text into a drawing and knows nothing of agents"},
		{
			path: "internal/tui", floor: 4, floors: []int{3},
			packages: []string{"internal/tui/...", "internal/client/..."}, why: surface,
		},
		{
			path: "internal/cli", floor: 4, packages: []string{"internal/cli/...", "internal/tui/...", "internal/api",
				"internal/wire/...", "internal/disk", "docs"},
			why: "a command that knew the app could be given only by the process that has the home open; what asks " +
				"the api alone works over a socket as well, and no verb is typed twice",
		},
		{
			path: "internal/cli/home", floor: 4, floors: []int{3},
			packages: []string{"internal/client", "internal/httpd", "internal/disk"},
			why:      "it opens homes for the command line and nothing else",
		},
		{
			path: "internal/cli/hometest", floor: 4, floors: []int{3},
			packages: []string{"internal/client", "internal/httpd", "internal/cli/console"},
			why:      "it opens homes for the tests of the command line and nothing else",
		},
		{
			path: "cmd/troupe", floor: 5, packages: []string{"internal/cli/..."},
			why: "main is one small file; what stands in it cannot be tested or called by anything else",
		},
		{path: "internal/archtest", floor: proof, why: "it reads the house from outside"},
		{path: "scripts", floor: proof, packages: []string{"internal/archtest", "internal/store/postgres/pgtest"},
			why: "small programs for developers; what users need is a command of troupe"},
		{path: "internal/bench", floor: proof, floors: []int{0, 1, 2, 3, 4}, packages: []string{"internal/bench/..."},
			why: "it measures the whole"},
		{path: "internal/e2e", floor: proof, why: "it uses the program as people do, from outside"},
		{path: "internal/sim", floor: proof, floors: []int{0, 1, 2, 3}, packages: []string{"internal/sim/..."},
			why: "it drives the engine without a surface"},
	}
	rooms = append(rooms, room{
		path: "internal/tool/all", floor: 1, packages: []string{"internal/tool/..."},
		why: "the list of tools knows each of them, and nothing that uses them",
	})
	rooms = append(rooms,
		room{path: "internal/handoff", floor: 1, why: "what a result says is judged by the words and the evidence " +
			"alone, or a replay would judge it otherwise"},
		room{path: "internal/schema", floor: 1, why: "whether a value follows a schema is a fact, whoever asks for it"},
		room{path: "internal/tool", floor: 1, packages: []string{"internal/schema"}, why: mechanism},
		room{path: "internal/disk", floor: 1, why: "how a file is read and replaced is the same whatever stands in it"},
		room{path: "internal/gate/rule", floor: 1, why: "what people wrote must be readable without what it is about"},
		room{path: "internal/gate/command", floor: 1, packages: []string{"internal/gate/rule"},
			why: "what a command does is a fact, whoever decides about it"},
		room{path: "internal/gate", floor: 1, packages: []string{"internal/gate/..."}, why: mechanism},
		room{path: "internal/config/gitconfig", floor: 1, why: "what git reads in a file is a fact, whoever asks for " +
			"it"},
		room{path: "internal/config", floor: 1, packages: []string{"internal/config/gitconfig"}, why: mechanism},
	)
	// What a Markdown file says is a fact, whoever reads it, and trust must see in it what is made of it.
	rooms = append(rooms,
		room{path: "internal/front", floor: 1, why: mechanism},
		room{path: "docs", floor: 1, why: "the documents are text, embedded for the agent and the command that tell " +
			"them"},
		room{path: "internal/mcp", floor: 1, packages: []string{"internal/mcp/entry"}, why: mechanism},
		room{path: "internal/mcp/entry", floor: 1, why: "what an entry says is a fact, and trust must see what is " +
			"started"},
		room{path: "internal/profile", floor: 1, packages: []string{"internal/front", "internal/mcp/entry",
			"internal/schema"}, why: mechanism},
		room{path: "internal/skill", floor: 1, packages: []string{"internal/front"}, why: mechanism},
		room{path: "internal/plugin", floor: 1, packages: []string{"internal/front"}, why: mechanism},
		room{path: "internal/instruction", floor: 1, packages: []string{"internal/front"}, why: mechanism},
		room{path: "internal/trust", floor: 1, packages: []string{"internal/front", "internal/mcp/entry",
			"internal/hook", "internal/skill"}, why: "it shows what the readers of these make of a file, and nothing " +
			"less"},
	)
	rooms = append(rooms,
		room{path: "internal/workspace/git", floor: 1, why: "how git is run on a stranger's repository is one thing, " +
			"whatever it is asked"},
		room{path: "internal/workspace", floor: 1, packages: []string{"internal/workspace/git"}, why: mechanism},
		room{path: "internal/workspace/worktree", floor: 1, packages: []string{"internal/workspace/git"},
			why: mechanism},
	)
	for _, name := range []string{
		"store", "model", "sandbox", "hook", "memory",
		"content", "proxy", "hidden",
	} {
		rooms = append(rooms, room{path: "internal/" + name, floor: 1, why: mechanism})
	}
	for i := range rooms {
		if rooms[i].floor == 1 && rooms[i].path != "internal/disk" { // reading a file is no neighbour's business
			rooms[i].packages = append(rooms[i].packages, "internal/disk")
		}
	}
	return rooms
}

// roomOf finds the line of the map for a package: the longest that fits.
func roomOf(rooms []room, p string) (room, bool) {
	var best room
	found := false
	for _, r := range rooms {
		fits := p == r.path || (r.path != "" && within(p, r.path))
		if fits && (!found || len(r.path) > len(best.path)) {
			best, found = r, true
		}
	}
	return best, found
}

// mapped: every package is on the map.
func mapped(rooms []room) func(*tree) []string {
	return func(t *tree) []string {
		var out []string
		for _, p := range t.packages {
			if _, ok := roomOf(rooms, p.path); !ok {
				out = append(out, fmt.Sprintf("%s: not on the map; add a room for it to house() in "+
					"internal/archtest/floors.go, with its floor, and to the table in ARCHITECTURE.md", p.title()))
			}
		}
		return out
	}
}

// downward: no package imports what its room does not allow. Tests are free: they put real
// parts together.
func downward(rooms []room) func(*tree) []string {
	return func(t *tree) []string {
		var out []string
		t.sources(false, func(p *pkg, s *source) {
			from, ok := roomOf(rooms, p.path)
			if !ok {
				return // mapped says so
			}
			for imp, spec := range s.imports() {
				rel, ours := t.local(imp)
				if !ours || rel == "" {
					continue
				}
				if to, known := roomOf(rooms, rel); known && allowed(from, p.path, to, rel) {
					continue
				}
				out = append(out, t.at(spec, "%s (floor %d) imports %s: it may import %s; %s",
					p.title(), from.floor, rel, from.allowance(), from.why))
			}
		})
		slices.Sort(out)
		return out
	}
}

func allowed(from room, fromPath string, to room, toPath string) bool {
	if slices.Contains(from.floors, to.floor) || coversAny(from.packages, toPath) {
		return true
	}
	if from.path != to.path || from.floor > 2 {
		return false
	}
	// Within a room: a package may use the contracts above it, parts of its own below it
	// and the room's internal folder. The room's own contract uses no implementation.
	return within(fromPath, toPath) || (fromPath != from.path && within(toPath, fromPath)) ||
		within(toPath, from.path+"/internal")
}

func (r room) allowance() string {
	parts := []string{"the root package"}
	if r.floor == 0 {
		parts = []string{"the standard library only"}
	}
	if r.floor == 1 {
		parts = append(parts, r.path+" (its contract)", r.path+"/internal", "its own subpackages")
	}
	for _, f := range r.floors {
		parts = append(parts, fmt.Sprintf("floor %d", f))
	}
	return strings.Join(append(parts, r.packages...), ", ")
}

// testOnly: what helps tests stays out of the program.
func testOnly(t *tree) []string {
	var out []string
	t.sources(false, func(p *pkg, s *source) {
		if isTestHelper(p.path) {
			return
		}
		for imp, spec := range s.imports() {
			rel, ours := t.local(imp)
			if (ours && isTestHelper(rel)) || imp == "testing" || strings.HasPrefix(imp, "testing/") {
				out = append(out, t.at(spec, "%s imports %s, which is for tests", p.title(), imp))
			}
		}
	})
	slices.Sort(out)
	return out
}

// isTestHelper: such packages carry their purpose in their name, like storetest, or have
// their room on the floor of proof.
func isTestHelper(p string) bool {
	r, ok := roomOf(house(), p)
	return strings.HasSuffix(p, "test") || (ok && r.floor == proof)
}

// ban keeps parts of the standard library out of a room.
type ban struct {
	rooms []string // patterns
	std   []string // patterns
	why   string
}

func bans() []ban {
	return []ban{
		{
			rooms: []string{""},
			std: []string{"os/...", "net/...", "io/fs", "io/ioutil", "syscall", "log/...", "database/sql/...",
				"context", "sync/...", "math/rand/...", "runtime/...", "embed", "unsafe"},
			why: "the vocabulary is plain values: it does no I/O, waits for nothing and starts nothing",
		},
		{
			rooms: []string{"internal/session/...", "internal/fleet/..."},
			std: []string{"os/...", "net/...", "io/fs", "io/ioutil", "syscall", "database/sql/...", "math/rand/...",
				"unsafe"},
			why: "the engine touches the world only through the contracts of the mechanisms, or the simulation " +
				"could not stand in for it",
		},
		{
			rooms: []string{"internal/..."},
			std:   []string{"log"},
			why:   "it writes to one global logger that belongs to nobody; take a *slog.Logger",
		},
		{
			rooms: []string{"internal/..."},
			std:   []string{"math/rand"},
			why:   "it has one global, shared source; use math/rand/v2 with a source of your own",
		},
	}
}

// pureStd is all of the standard library that internal/turn may use.
func pureStd() []string {
	return []string{
		"bytes", "cmp", "crypto/sha256", "encoding/...", "errors", "fmt", "hash/...", "html", "iter", "maps", "math",
		"math/bits",
		"path", "slices", "sort", "strconv", "strings", "time", "unicode/...",
	}
}

// standardBans: rooms leave alone what the table says, and internal/turn uses only what is pure.
func standardBans(t *tree) []string {
	var out []string
	t.sources(false, func(p *pkg, s *source) {
		for imp, spec := range s.imports() {
			if !standard(imp) {
				continue
			}
			if within(p.path, "internal/turn") && !coversAny(pureStd(), imp) {
				out = append(out, t.at(spec, "%s imports %s, which is not in pureStd(): Fold and Next do no I/O, "+
					"read no clock and wait for nothing", p.title(), imp))
			}
			for _, b := range bans() {
				if coversAny(b.rooms, p.path) && coversAny(b.std, imp) {
					out = append(out, t.at(spec, "%s imports %s: %s", p.title(), imp, b.why))
				}
			}
		}
	})
	slices.Sort(out)
	return out
}
