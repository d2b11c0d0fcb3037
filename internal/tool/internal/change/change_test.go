package change

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
)

// A writer outside this process that slips in between the check and the rename is not
// overwritten; nor is a file that appears where a new one was to be.
func TestCommitSeesOtherWriters(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Cwd: dir}
	path := filepath.Join(dir, "f")
	for _, before := range []string{"", "old"} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if before != "" {
			if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, err := Do(t.Context(), env, tool.NewLocks(), NewTarget(path), func(f *File) (tool.Output, error) {
			if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := f.Commit([]byte("mine"))
			return tool.Output{}, err
		})
		if err != nil || !out.IsError {
			t.Errorf("before %q: not refused: %+v %v", before, out, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "theirs" {
			t.Errorf("before %q: the file holds %q, %v", before, got, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}
