package e2e_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	corpus       = flag.String("corpus", "", "a folder of agent files of which each must be loaded or explained")
	updateCorpus = flag.Bool("update-corpus", false, "write down how the files of the corpus are read")
)

// checkedAgent is a line of `troupe agents check --json`.
type checkedAgent struct {
	Path        string   `json:"path"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Loaded      bool     `json:"loaded"`
	Document    bool     `json:"document"`
	Warnings    []string `json:"warnings"`
}

// TestCorpus: files of agents in each of the shapes that are found in the wild have the name, the description and the
// tools that they should, or say why not; and of each file of a folder that -corpus names the same is true.
func TestCorpus(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "profile", "testdata", "corpus")
	if *corpus != "" {
		dir = *corpus
	}
	files := 0
	if err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(d.Name(), ".md") {
			files++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	if err := os.CopyFS(filepath.Join(p.dir, "corpus"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	r := p.troupe("agents", "check", "--json", "corpus")
	if r.code > 1 || r.out == "" {
		t.Fatalf("exit code %d: %s%s", r.code, r.out, r.errOut)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(r.out)); dec.More(); seen++ {
		var c checkedAgent
		if err := dec.Decode(&c); err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Loaded && (c.Name == "" || c.Description == ""):
			t.Errorf("%s is loaded without a name or a description: %+v", c.Path, c)
		case !c.Loaded && len(c.Warnings) == 0:
			t.Errorf("%s is not loaded, and nothing says why", c.Path)
		case c.Loaded && c.Document:
			t.Errorf("%s is an agent and a document", c.Path)
		}
	}
	if seen != files {
		t.Errorf("%d files are told of, and there are %d", seen, files)
	}
	if *corpus != "" {
		t.Logf("%d files", seen)
		return
	}
	said, golden := strings.ReplaceAll(r.out, p.dir, "PROJECT"), dir+".golden"
	if *updateCorpus {
		if err := os.WriteFile(golden, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(said, "\n")); d != "" {
		t.Errorf("they are read otherwise than before (-update-corpus writes it down):\n%s", d)
	}
}
