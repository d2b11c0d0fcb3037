package e2e_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// together plays a coordinator and three workers that change this project, two of them the same line. It knows only
// what it is sent.
func together(r *modeltest.Request) modeltest.Reply {
	if m := regexp.MustCompile(`TASK<(\w+)>`).FindStringSubmatch(r.FirstText()); m != nil {
		return workers(m[1], r.Turn)
	}
	var said string
	for _, m := range r.Messages {
		said += string(m)
	}
	merge := func(name string, back bool) modeltest.Call {
		return toolCall("MergeWorktree", map[string]any{"worktree": name, "hand_back": back})
	}
	switch {
	case r.Turn == 1:
		var calls []modeltest.Call
		for _, name := range []string{"Docs", "Named", "Words"} {
			calls = append(calls, toolCall("Agent", map[string]any{"subagent_type": "worker", "name": name,
				"description": "change it", "prompt": "TASK<" + name + ">", "isolation": "worktree"}))
		}
		return modeltest.Calls(calls...)
	case !strings.Contains(said, "Docs has ended.") || !strings.Contains(said, "Named has ended.") ||
		!strings.Contains(said, "Words has ended."):
		return modeltest.Text("They are at it.")
	case !strings.Contains(said, `"hand_back":false`):
		return modeltest.Calls(merge("docs", false), merge("named", false), merge("words", false))
	case !strings.Contains(said, `"hand_back":true`):
		return modeltest.Calls(merge("named", true))
	case !strings.Contains(said, "Keep both"):
		return modeltest.Calls(toolCall("SendMessage", map[string]any{"to": "Named", "message": "Keep both sides."}))
	case !strings.Contains(said, "Both are kept."):
		return modeltest.Text("Named is resolving it.")
	case strings.Count(said, `"worktree":"named"`) < 3:
		return modeltest.Calls(merge("named", false))
	default:
		return modeltest.Text("All three are in the folder.")
	}
}

const bare = "internal/wire/bare.go"

func workers(name string, turn int) modeltest.Reply {
	edit := func(text string) modeltest.Call {
		return toolCall("Edit", map[string]any{"file_path": bare, "old_string": "func Bare() {}", "new_string": text})
	}
	read := modeltest.Calls(toolCall("Read", map[string]any{"file_path": bare}))
	bash := func(command string) modeltest.Call { return toolCall("Bash", map[string]any{"command": command}) }
	switch {
	case name == "Words" && turn == 1:
		return modeltest.Calls(bash("grep '// mine' internal/wire/problem.go && printf '\\n// by Words\\n' >> " +
			"internal/wire/run.go && gofmt -l internal/wire"))
	case name != "Words" && turn == 1, name == "Named" && turn == 4:
		return read
	case name == "Docs" && turn == 2:
		return modeltest.Calls(edit("// Bare does nothing.\nfunc Bare() {}"), bash("git commit -qam documented"))
	case name == "Named" && turn == 2:
		return modeltest.Calls(edit("func Bare() { named() }\n\nfunc named() {}"))
	case name == "Named" && turn == 5:
		return modeltest.Calls(toolCall("Write", map[string]any{"file_path": bare, "content": resolved}))
	case name == "Named" && turn == 6:
		return modeltest.Text("Both are kept.")
	}
	return modeltest.Text(name + " has ended.")
}

const resolved = "package wire\n\n// Bare does nothing.\nfunc Bare() { named() }\n\nfunc named() {}\n"

// TestCoordinatorOnOwnCheckout: three workers in worktrees change a checkout of this project that has uncommitted
// work, and a coordinator merges what they did, a conflict included. All of it is there, uncommitted, and nothing else.
func TestCoordinatorOnOwnCheckout(t *testing.T) {
	t.Parallel()
	srv := modeltest.NewAnthropic(together, modeltest.Options{})
	t.Cleanup(srv.Close)
	p := newPlace(t, "ANTHROPIC_API_KEY=test-key-0123456789", "ANTHROPIC_BASE_URL="+srv.URL())
	copySources(t, p)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"},
		{"config", "user.email", "a@b"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		p.git(args...)
	}
	mine := p.read("internal/wire/problem.go") + "\n// mine\n"
	p.write("internal/wire/problem.go", mine)
	words := p.read("internal/wire/run.go") + "\n// by Words\n"

	run := p.run(0, "-p", "--coordinator", "--name", "job", "--permission-mode", "bypassPermissions",
		"document it, name it, say it")
	if run.Result != "All three are in the folder." || len(run.Agents) != 4 {
		t.Errorf("%d agents: %s", len(run.Agents), run.Result)
	}
	for name, want := range map[string]string{bare: resolved, "internal/wire/run.go": words,
		"internal/wire/problem.go": mine} {
		if got := p.read(name); got != want {
			t.Errorf("%s ends with %q", name, got[max(len(got)-200, 0):])
		}
	}
	if got := p.git("status", "--porcelain"); got != " M "+bare+"\n M internal/wire/problem.go\n"+
		" M internal/wire/run.go\n" {
		t.Errorf("status: %q", got)
	}
	p.git("gc", "-q", "--prune=now")
	p.git("fsck", "--full")
	p.audit("job")
	if err := srv.Err(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Log(p.troupe("log", "--tree", "job").out)
	}
}
