package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A command makes folders that not even their owner may look into, in the scratchpad and in its temporary folder. The
// run removes the one at its end, rm the other; what a killed rm left goes with a later run.
func TestUnremovable(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `replies:
  - turn: 1
    calls: [{tool: Bash, input: {command: 'for d in $TROUPE_SCRATCHPAD $TMPDIR; do mkdir -p $d/z/b; echo x > $d/z/b/left; chmod 000 $d/z; done; stat -c %a $TROUPE_SCRATCHPAD/z'}}]
  - text: end
`)
	for dir := p.root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		mode(t, dir, 0o755)
	}
	giveAway := func(dir string) {
		if os.Geteuid() != 0 { // whom no mode keeps out
			return
		}
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, 65534, 65534)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	giveAway(p.root)
	do := func(args ...string) ran {
		r, ok := p.other(args...)
		if !ok {
			t.Skip("only one user here, who may do everything")
		}
		if r.code != 0 {
			t.Fatalf("%q: exit %d\n%s%s", args, r.code, r.out, r.errOut)
		}
		return r
	}
	left := func(pattern string) []string {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	pads := p.home() + "-scratchpads/*"
	do("-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode", "plan")
	if list := left(filepath.Join(p.root, "troupe-*")); len(list) > 0 {
		t.Errorf("the run left %q", list)
	}
	if list := left(pads + "/z"); len(list) != 1 {
		t.Fatalf("nothing to remove: %q", list)
	}
	r := do("rm", "job")
	if !strings.HasPrefix(r.out, "removed ") || len(left(pads)) > 0 {
		t.Fatalf("%s%s\nleft %q", r.out, r.errOut, left(pads))
	}

	gone := filepath.Join(filepath.Dir(pads), strings.Fields(r.out)[1]) // as if it had been killed
	if err := os.MkdirAll(filepath.Join(gone, "z"), 0o700); err != nil {
		t.Fatal(err)
	}
	giveAway(gone)
	mode(t, filepath.Join(gone, "z"), 0)
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(gone, old, old); err != nil {
		t.Fatal(err)
	}
	for range 5 { // it is done beside a run, which does not wait for it
		do("-p", "go", "--model", "script:../s.yaml", "--permission-mode", "plan")
		if len(left(gone)) == 0 {
			return
		}
	}
	t.Errorf("later runs left %q", left(gone))
}
