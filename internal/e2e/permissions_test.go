package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call names the calls that try makes; each has a trace in the world that shows whether it ran.
const (
	readIn  = "read inside"
	readOut = "read outside"
	edit    = "edit"
	command = "bash"
)

// tries is a script in which agents of a type make all four calls in one reply.
const tries = `
  - agent: %s
    turn: 1
    calls:
      - {tool: Read, input: {file_path: in.txt}}
      - {tool: Read, input: {file_path: %s}}
      - {tool: Edit, input: {file_path: in.txt, old_string: before, new_string: after}}
      - {tool: Bash, input: {command: touch made}}
`

// TestPermissionTable drives every mode, alone and with rules, through the real binary, once for
// the main agent and once for a child of it: a child may do what the same words allow at
// the top, and no more. A command that nothing forbids always runs; what a mode or a rule
// decides is whether it takes effect.
func TestPermissionTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode  string
		flags []string
		may   []string
	}{
		{mode: "default", may: []string{readIn}},
		{mode: "acceptEdits", may: []string{readIn, edit}},
		{mode: "plan", may: []string{readIn}},
		{mode: "dontAsk", may: []string{readIn}},
		{mode: "bypassPermissions", may: []string{readIn, readOut, edit, command}},

		{mode: "default", flags: []string{"--allowed-tools", "Bash(touch made)"}, may: []string{readIn, command}},
		{mode: "default", flags: []string{"--allowed-tools", "Bash(touch made too)"}, may: []string{readIn}},
		{mode: "default", flags: []string{"--allowed-tools", "Edit, Bash"}, may: []string{readIn, edit, command}},
		{mode: "dontAsk", flags: []string{"--allowed-tools", "Edit(/in.txt)"}, may: []string{readIn, edit}},
		{mode: "default", flags: []string{"--allowed-tools", "Read(OUTSIDE)"}, may: []string{readIn, readOut}},
		{mode: "plan", flags: []string{"--allowed-tools", "Edit, Bash"}, may: []string{readIn}},
		{mode: "default", flags: []string{"--allowed-tools", "Bash", "--disallowed-tools", "Bash(touch made)"},
			may: []string{readIn}},
		{mode: "bypassPermissions", flags: []string{"--disallowed-tools", "Bash", "--disallowed-tools", "Edit"},
			may: []string{readIn, readOut}},
		{mode: "bypassPermissions", flags: []string{"--disallowed-tools", "Read(in.txt)"},
			may: []string{readOut, command}},
	} {
		for _, child := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.mode, tt.flags, child), func(t *testing.T) {
				t.Parallel()
				tryCalls(t, child, tt.mode, tt.flags, tt.may)
			})
		}
	}
}

func tryCalls(t *testing.T, child bool, mode string, flags, may []string) {
	p := newPlace(t)
	p.write("in.txt", "before, and INSIDE\n")
	p.write("../out.txt", "OUTSIDE\n")
	outside := filepath.Join(p.root, "out.txt")
	script := "replies:" + fmt.Sprintf(tries, "main", outside)
	if child {
		script = "replies:" + fmt.Sprintf(tries, "general-purpose", outside) +
			"  - agent: main\n    turn: 1\n    calls: [{tool: Agent, input: {name: kid, description: d, prompt: p}}]\n"
	}
	p.write("../s.yaml", script+"  - text: done\n")
	args := []string{"-p", "--model", "script:../s.yaml", "--permission-mode", mode}
	for _, f := range flags {
		args = append(args, strings.ReplaceAll(f, "OUTSIDE", "/"+outside))
	}
	run := p.run(0, append(args, "go")...)

	agent := "main"
	if child {
		agent = "main/kid"
	}
	log := p.troupe("log", agent).out
	did := map[string]bool{
		readIn:  strings.Contains(log, "and INSIDE"),
		readOut: strings.Contains(log, "\tOUTSIDE"),
		edit:    strings.HasPrefix(p.read("in.txt"), "after"),
	}
	_, err := os.Stat(filepath.Join(p.dir, "made"))
	did[command] = err == nil
	forbidden := strings.Contains(strings.Join(flags, " "), "--disallowed-tools") && !did[command]
	if ran := strings.Contains(log, "cannot touch") || did[command]; ran == forbidden && confines(p) {
		t.Errorf("the command ran: %v; it is forbidden: %v\n%s", ran, forbidden, log)
	}
	for _, c := range []string{readIn, readOut, edit, command} {
		want := false
		for _, m := range may {
			want = want || m == c
		}
		if did[c] != want {
			t.Errorf("%s: ran %v, want %v", c, did[c], want)
		}
	}
	refused := 4 - len(may)
	// An edit of a file that could not be read fails by itself and is not a denial.
	if n := len(run.Denials); n != refused && n != refused-1 {
		t.Errorf("%d denials, want %d: %+v", n, refused, run.Denials)
	}
	for _, d := range run.Denials {
		if d.Agent != agent || d.Why == "" {
			t.Errorf("a denial without its agent or reason: %+v", d)
		}
	}
	p.audit("main")
}

// confines reports whether this machine can run commands read-only.
func confines(p *place) bool {
	return strings.Contains(p.troupe("doctor").out, "commands can run read-only")
}
