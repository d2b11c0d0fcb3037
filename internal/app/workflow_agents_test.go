package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/profile"
)

// TestKeptWorkflows: of workflows with one name that of the nearer folder is meant, a person's own before those of a
// project that they were given, and no project has a run keep more than fits.
func TestKeptWorkflows(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dirs := config.Dirs{Home: filepath.Join(top, "home"), Config: filepath.Join(top, "own")}
	project := filepath.Join(top, "p")
	write := func(folder, name, says string) {
		t.Helper()
		folder = filepath.Join(folder, workflowFolder)
		text := "description: " + says + "\nsteps:\n  - {name: a, prompt: x}\n"
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(project, ".claude"), "one", "project's claude")
	write(filepath.Join(project, ".troupe"), "one", "project's")
	write(filepath.Join(project, ".troupe"), "two", "project's")
	write(filepath.Join(dirs.Home, ".claude"), "two", "home's")
	write(dirs.Config, "two", "own")
	says := make(map[string]string)
	for _, w := range keptWorkflows(dirs, project) {
		says[w.Name] = w.Says
	}
	if len(says) != 2 || says["one"] != "project's" || says["two"] != "own" {
		t.Errorf("kept are %v", says)
	}
	write(dirs.Config, "one", "x\nsteps: broken") // the project's is not run in its place
	if kept := keptWorkflows(dirs, project); len(kept) != 1 || kept[0].Name != "two" {
		t.Errorf("beside a broken one of the user's are kept %+v", kept)
	}
	for i := range 2 * mostWorkflows {
		write(filepath.Join(project, ".troupe"), fmt.Sprintf("w%03d", i), "project's")
	}
	if kept := keptWorkflows(dirs, project); len(kept) != mostWorkflows {
		t.Errorf("%d are kept", len(kept))
	}
	for i := range 2 * mostWorkflows {
		write(filepath.Join(project, ".troupe"), fmt.Sprintf("w%03d", i), strings.Repeat("x", workflowBytes/20))
	}
	size := 0
	for _, w := range keptWorkflows(dirs, project) {
		size += len(w.Text)
	}
	if size > workflowBytes || size == 0 {
		t.Errorf("%d bytes are kept", size)
	}
}

// TestWorkflowsAreToldTo: an agent that may start no workflow is told of none.
func TestWorkflowsAreToldTo(t *testing.T) {
	t.Parallel()
	p := &profiles{definitions: definitions{Workflows: []keptWorkflow{{Name: "fix", Says: "mends"}}}}
	p.Types, _ = profile.Load(profile.Sources{})
	may := func(yes bool) func(string) bool {
		return func(kind string) bool { return yes || kind != profile.Workflow }
	}
	if told := p.workflows(nil); !strings.Contains(told, "- fix: mends") || p.workflows(may(true)) != told {
		t.Errorf("who may is told %q", told)
	}
	if told := p.workflows(may(false)); told != "" {
		t.Errorf("who may not is told %q", told)
	}
	if p.Workflows = nil; p.workflows(nil) != "" {
		t.Error("that there are none is told")
	}
}
