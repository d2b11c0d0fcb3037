package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
	"github.com/troupe-dev/troupe/internal/tool/worktree"
)

func find(t *testing.T, m worktree.Merger, name string) tool.Descriptor {
	t.Helper()
	all := worktree.Tools(m)
	i := slices.IndexFunc(all, func(d tool.Descriptor) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return all[i]
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]string{"EnterWorktree": `{"name":"x"}`, "ExitWorktree": `{}`} {
		d := find(t, nil, name)
		tooltest.Spec(t, d.Spec())
		tooltest.Inputs(t, d.Spec(), valid, func(in string) error {
			_, err := d.Intent(in)
			return err
		})
	}
	d := find(t, fakeMerger{}, "MergeWorktree")
	tooltest.Spec(t, d.Spec())
	tooltest.Inputs(t, d.Spec(), `{"worktree":"x","hand_back":true,"take":""}`, func(in string) error {
		_, err := d.Prepare(tool.Env{}, in)
		return err
	})
	if got, err := find(t, nil, "EnterWorktree").Intent(`{"name":" fix "}`); err != nil ||
		got != (troupe.EnterWorktree{Name: "fix"}) {
		t.Errorf("%+v %v", got, err)
	}
}

// fakeMerger knows a few worktrees by what becomes of them.
type fakeMerger struct{ applied *bool }

func (m fakeMerger) Merge(_ tool.Env, name, take string) (worktree.Merging, error) {
	out := worktree.Merging{Name: name + "-1"}
	switch name {
	case "none":
		return out, errors.New("there is no worktree")
	case "clash":
		if take == "mine" {
			out.Apply = func(context.Context, func([]byte) (string, error)) ([]troupe.FileTouch, error) {
				*m.applied = true
				return nil, nil
			}
			return out, nil
		}
		out.Conflicts, out.Conflicting = "a.go: both sides", []string{"/p/a.go"}
	case "clean":
		out.Writes, out.Text, out.Left = []string{"/p/a.go", "/p/b.go"}, "change a.go", []string{"vendor: a submodule"}
		out.Apply = func(context.Context, func([]byte) (string, error)) ([]troupe.FileTouch, error) {
			*m.applied = true
			return []troupe.FileTouch{{Path: "/p/a.go", Wrote: true, Added: 2},
				{Path: "/p/b.go", Wrote: true, Removed: 1}}, nil
		}
	case "same":
		out.Left = []string{"vendor: a submodule"}
	case "half":
		out.Writes, out.Text = []string{"/p/a.go", "/p/b.go"}, "change both"
		out.Apply = func(context.Context, func([]byte) (string, error)) ([]troupe.FileTouch, error) {
			*m.applied = true
			return []troupe.FileTouch{{Path: "/p/a.go", Wrote: true}, {}}, errors.New("b.go has changed")
		}
	case "moved":
		out.Writes, out.Text = []string{"/p/a.go"}, "change a.go"
		out.Apply = func(context.Context, func([]byte) (string, error)) ([]troupe.FileTouch, error) {
			return nil, errors.New("something else has changed it")
		}
	}
	return out, nil
}

func (fakeMerger) HandBack(_ context.Context, _ tool.Env, name string, judged []string) (string, error) {
	if name == "clean" {
		return "", errors.New("it has no conflicts")
	}
	return fmt.Sprint("it has the conflicts now in ", judged), nil
}

// TestMerge: a merge is judged as an edit of exactly the files that it writes, and writes nothing where it conflicts.
func TestMerge(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]struct {
		writes  int
		says    string
		isError bool
		applied bool
	}{
		`{"worktree":"clean"}`: {2, "Merged clean-1: 2 files (+2 -1 lines), uncommitted.\nNot brought over: vendor: " +
			"a submodule",
			false, true},
		`{"worktree":"clash"}`: {0, "Nothing was merged. a.go: both sides", true, false},
		`{"worktree":"same"}`: {0, "Nothing is left to be merged from same-1.\nNot brought over: " +
			"vendor: a submodule",
			false, false},
		`{"worktree":"half"}`:                   {2, "The merge stopped half way: b.go has changed", true, true},
		`{"worktree":"moved"}`:                  {1, "Nothing was merged: something else has changed it", true, false},
		`{"worktree":"clash","hand_back":true}`: {1, "it has the conflicts now in [/p/a.go]", false, false},
		`{"worktree":"clean","hand_back":true}`: {0, "Nothing was handed back: it has no conflicts", true, false},
	} {
		applied := false
		p, err := find(t, fakeMerger{&applied}, "MergeWorktree").Prepare(tool.Env{}, input)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := p.(tool.Previewer)
		if !ok {
			t.Fatal("a merge cannot be shown")
		}
		text, futile := v.Preview(tool.Env{})
		if back := strings.Contains(input, "hand_back"); text == "" || !back && futile == (want.writes > 0) {
			t.Errorf("%s: a person is shown %q (%v)", input, text, futile)
		}
		a := p.Access()
		if len(a.Writes) != want.writes || (a.Class == troupe.ClassEdit) != (want.writes > 0) {
			t.Errorf("%s: %+v", input, a)
		}
		out, err := p.Run(t.Context(), tool.Env{})
		if text := troupe.JoinText(out.Blocks); err != nil || text != want.says || out.IsError != want.isError ||
			applied != want.applied || want.applied && len(out.Evidence.Files) != 2 {
			t.Errorf("%s: %q %v %+v", input, text, err, out.Evidence)
		}
	}
	applied := false
	p, err := find(t, fakeMerger{&applied}, "MergeWorktree").Prepare(tool.Env{}, `{"worktree":"clash","take":"Mine"}`)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.Run(t.Context(), tool.Env{}); err != nil || !applied || out.IsError {
		t.Errorf("which side was taken is not noted: %+v %v", out, err)
	}
	for _, odd := range []string{`{"worktree":"x","take":"both"}`, `{"worktree":"x","take":"mine","hand_back":true}`} {
		if _, err := find(t, fakeMerger{}, "MergeWorktree").Prepare(tool.Env{}, odd); err == nil {
			t.Errorf("%s is taken", odd)
		}
	}
	if _, err := find(t, fakeMerger{}, "MergeWorktree").Prepare(tool.Env{}, `{"worktree":"none"}`); err == nil ||
		!strings.Contains(err.Error(), "no worktree") {
		t.Error(err)
	}
	if _, err := find(t, nil, "MergeWorktree").Prepare(tool.Env{}, `{"worktree":"x"}`); err == nil {
		t.Error("it merges without a merger")
	}
}
