package app

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/trust"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestHooksOfEachDefinition: the files that hooks of definitions name are not written by agents, whether a definition
// counts, waits for trust, or has its name taken by another one.
func TestHooksOfEachDefinition(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	g.app.env.Log = slog.New(slog.DiscardHandler)
	agent := func(folder, name, script string) {
		writeFile(t, filepath.Join(folder, "agents", name+".md"),
			"---\nname: "+name+"\ndescription: d\nhooks:\n  Stop:\n"+
				"    - hooks:\n        - type: command\n          command: sh "+script+"\n---\nx")
		writeFile(t, filepath.Join(dir, script), "true\n")
	}
	agent(g.app.dirs.Config, "both", "mine.sh")
	agent(filepath.Join(dir, ".troupe"), "both", "theirs.sh")
	agent(filepath.Join(dir, ".claude"), "theirs", "other.sh")
	agent(g.app.dirs.Config, "mine", "own.sh")
	at := g.Protected(session.Place{Cwd: dir})
	tools, err := g.app.known()
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.app.policyOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	profiles, _, err := newProfiles(g.app, &toolbox{Set: tools}, p, wire.Begin{Cwd: dir},
		p.readAhead(t.Context(), g.app, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine.sh", "theirs.sh", "other.sh", "own.sh"} {
		path := filepath.Join(dir, name)
		if !slices.Contains(at.Places, path) {
			t.Errorf("%s is not protected: %q", name, at.Places)
		}
		if !slices.Contains(profiles.runs, path) {
			t.Errorf("%s is not protected where a run begins: %q", name, profiles.runs)
		}
	}
}

// TestServerFilesBeforeTrust: the files that servers of a project name are not written by agents before anybody trusts
// the project: they would run once that is done.
func TestServerFilesBeforeTrust(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	g.app.env.Log = slog.New(slog.DiscardHandler)
	names := []string{"listed.sh", "set.sh"}
	for i, file := range []string{".mcp.json", ".claude/settings.json"} {
		writeFile(t, filepath.Join(dir, names[i]), "true\n")
		writeFile(t, filepath.Join(dir, file),
			fmt.Sprintf(`{"mcpServers": {"s%d": {"command": "sh", "args": [%q]}}}`, i, names[i]))
	}
	p, err := g.app.policyOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p.trusted() {
		t.Fatal("the folder is trusted")
	}
	at := g.Protected(session.Place{Cwd: dir})
	for _, name := range names {
		if !slices.Contains(at.Places, filepath.Join(dir, name)) {
			t.Errorf("%s is not protected: %q", name, at.Places)
		}
	}
}

// TestMadeIsAsRead: definitions that are opened in the process that made their document are those that it holds.
func TestMadeIsAsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plain": "---\nname: plain\ndescription: d\n---\nBody",
		"all": "---\nname: all\ndescription: d <b>\ntools: '*'\ncolor: red\nmaxTurns: 3\nskills: a, b\n---\nBody " +
			"& more",
		"none":   "---\nname: none\ndescription: d\ntools: []\n---\nBody",
		"empty":  "---\nname: empty\ndescription: d\ntools:\ndisallowedTools: []\nskills: []\n---\nBody",
		"starts": "---\nname: starts\ndescription: d\ntools: Read, Agent()\n---\nBody",
		"broken": "---\nname: broken\n",
		"hooks":  "---\nname: hooks\ndescription: d\nhooks:\n  Stop: 'true'\n---\nBody",
		"bad":    "---\nname: bad\ndescription: d\nhooks: 3\nmcpServers: [x, {y: {command: z}}]\n---\nBody",
	} {
		writeFile(t, filepath.Join(dir, name+".md"), text)
	}
	g, _ := guardedFolder(t)
	tools, err := g.app.known()
	if err != nil {
		t.Fatal(err)
	}
	set, _ := profile.Load(profile.Sources{Folders: []profile.Folder{{Path: dir, Scope: profile.ScopeUser}},
		Tools: tools.Callable()})
	d := definitions{Types: set, Depth: 1}
	doc, err := d.document()
	if err != nil {
		t.Fatal(err)
	}
	var made madeDefinitions
	made.put(doc.Body, d, "")
	opened := func(r roles) *profiles {
		o, err := r.Open(slices.Clone(doc.Body))
		if err != nil {
			t.Fatal(err)
		}
		p, ok := o.(*profiles)
		if !ok {
			t.Fatalf("opened is a %T", o)
		}
		return p
	}
	kept, read := opened(roles{made: &made}), opened(roles{made: &made})
	if len(kept.Types.Hooked()) == 0 || len(read.Types.Hooked()) != 0 {
		t.Error("the first one is not what was made, or the second one is")
	}
	for _, p := range []*profiles{kept, read} {
		again, err := p.document()
		if err != nil || string(again.Body) != string(doc.Body) {
			t.Errorf("%v\n%s\nwant\n%s", err, again.Body, doc.Body)
		}
	}
	offer := tools.Callable()
	for _, name := range set.Names() {
		a, errA := kept.Types.Lookup(name)
		b, errB := read.Types.Lookup(name)
		if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() {
			t.Errorf("%s: %v, or %v", name, errA, errB)
		}
		if (a.Starts == nil) != (b.Starts == nil) || (a.Servers.Named() == nil) != (b.Servers.Named() == nil) {
			t.Errorf("%s: %+v, or %+v", name, a, b)
		}
		for _, tool := range offer {
			has, _ := a.Holds(tool)
			if other, _ := b.Holds(tool); has != other {
				t.Errorf("%s has %s: %v, or %v", name, tool.Name, has, other)
			}
		}
	}
}

// TestTrustChangesDefinitions: who trusts a folder while agents are at work there has changed what definitions count:
// it is looked at before the next reply, though no definition has changed.
func TestTrustChangesDefinitions(t *testing.T) {
	t.Parallel()
	a := &App{dirs: config.Dirs{Data: t.TempDir()}}
	before := definedAs(a, nil)
	if definedAs(a, nil) != before {
		t.Fatal("nothing changed, and it looks as if")
	}
	if err := trust.In(trustFolder(a.dirs)).Grant(trust.Fingerprint{Folder: "/proj", Hash: "h"}, true); err != nil {
		t.Fatal(err)
	}
	if definedAs(a, nil) == before {
		t.Error("that a folder is trusted was not seen")
	}
}
