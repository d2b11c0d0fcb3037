package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// advised is a rule that a message says to give.
var advised = regexp.MustCompile(`--allowed-tools ('(?:[^']|'\\'')*')`)

// needed are several.
var needed = regexp.MustCompile(`it needs the rules (.+?); this run cannot ask`)

// protectedRepository is a project whose last commits change files that are protected, and others.
func protectedRepository(t *testing.T) (p *place, git func(args ...string) string) {
	t.Helper()
	p = newPlace(t)
	p.environ = append(p.environ, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = p.dir, p.environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "a")
	git("config", "user.email", "a@b")
	commit := func(text string, names ...string) {
		t.Helper()
		for _, name := range names {
			p.write(name, text+"\n")
		}
		git("add", ".")
		git("commit", "-q", "-m", text)
	}
	commit("one", "a.txt", "b.txt", ".github/workflows/ci.yml", ".github/workflows/old.yml")
	commit("two", "a.txt", ".github/workflows/ci.yml")
	git("branch", "side", "HEAD~1")
	git("branch", "plain")
	git("rm", "-q", ".github/workflows/old.yml")
	commit("three", ".github/workflows/ci.yml", ".github/workflows/new.yml")
	git("checkout", "-q", "plain")
	commit("four", "b.txt")
	git("branch", "near", "HEAD~1")
	return p, git
}

// bash has the main agent run one command, with these rules.
func (p *place) bash(command string, rules ...string) ran {
	p.t.Helper()
	p.calls("main", "{tool: Bash, input: {command: "+quoteYAML(command)+"}}")
	args := []string{"-p", "--model", "script:../s.yaml", "--output-format", "stream-json", "go"}
	for _, r := range rules {
		args = append(args, "--allowed-tools", r)
	}
	return p.troupe(args...)
}

func quoteYAML(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// TestGitIsWhole: git that would change protected files is asked about before it starts, and whole once rules
// name them; what changes none just runs.
func TestGitIsWhole(t *testing.T) {
	t.Parallel()
	for command, asked := range map[string]bool{
		"git checkout main": true, "git checkout -q side": true, "git switch main": true, "git merge main": true,
		"git reset --hard side": true, "git cherry-pick main": true, "git rebase main": true, "git pull . main": true,
		"git restore --source=main .": true, "git checkout main -- .": true, "git -C . checkout main": true,
		"cd . && git checkout main": true, "git checkout $(echo main)": true, "git stash pop": false,
		"git checkout near": false, "git checkout -b new": false, "git reset --hard near": false,
		"git merge --abort": false, "git reset --soft near": false, "git revert --no-edit HEAD": false,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			p, git := protectedRepository(t)
			if len(p.explainLevels()) == 0 {
				t.Skip("this machine cannot confine commands")
			}
			before := git("rev-parse", "HEAD") + git("status", "--porcelain")
			r := p.bash(command, "Bash")
			named := strings.Contains(r.out, "which are protected") || strings.Contains(r.out, "that are protected")
			if named != asked {
				t.Fatalf("asked: %v, want %v\n%s", named, asked, r.out)
			}
			if !asked {
				if strings.Contains(r.out, "Permission denied") {
					t.Errorf("it was refused something:\n%s", r.out)
				}
				return
			}
			if now := git("rev-parse", "HEAD") + git("status", "--porcelain"); now != before {
				t.Errorf("it was refused, and did half of it: %s, before it %s", now, before)
			}
			m := needed.FindStringSubmatch(r.out)
			if m == nil {
				t.Fatalf("no rule is advised:\n%s", r.out)
			}
			rules := strings.Split(strings.ReplaceAll(m[1], `\u0026`, "&"), " and ")
			r = p.bash(command, rules...)
			if strings.Contains(command, "$(") || strings.Contains(command, "pull") {
				return // what it leads to is not known, so it may want more than it was asked about
			}
			if strings.Contains(r.out, "unable to") || strings.Contains(r.out, "error: ") {
				t.Errorf("with %s git complains:\n%s", rules, r.out)
			}
			if status := git("status", "--porcelain", "-uno"); status != "" &&
				!strings.Contains(command, "main -- .") &&
				!strings.Contains(command, "--source") {
				t.Errorf("with %s it is not whole: %s\n%s", rules, status, r.out)
			}
			if data, err := os.ReadFile(filepath.Join(p.dir, ".github/workflows/ci.yml")); err != nil ||
				string(data) == "two\n" {
				t.Errorf("ci.yml holds %q (%v)\n%s", data, err, r.out)
			}
		})
	}
}

// TestAdviceWorks: what a denial advises, given, allows the same call.
func TestAdviceWorks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ call, file string }{
		"a redirect": {"{tool: Bash, input: {command: 'echo x > new.txt'}}", "new.txt"},
		"a redirect to what is protected": {"{tool: Bash, input: {command: 'echo x > .github/workflows/y.yml'}}",
			".github/workflows/y.yml"},
		"a redirect that adds":  {"{tool: Bash, input: {command: 'echo x >> .envrc'}}", ".envrc"},
		"a command":             {"{tool: Bash, input: {command: 'touch new.txt'}}", "new.txt"},
		"a command with quotes": {`{tool: Bash, input: {command: "printf '%s' \"it's\" > new.txt"}}`, "new.txt"},
		"a Write":               {"{tool: Write, input: {file_path: new.txt, content: x}}", "new.txt"},
		"a Write of what is protected": {"{tool: Write, input: {file_path: .vscode/settings.json, content: x}}",
			".vscode/settings.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if len(p.explainLevels()) == 0 {
				t.Skip("this machine cannot confine commands")
			}
			p.write(".github/workflows/ci.yml", "x\n")
			p.calls("main", c.call)
			args := []string{"-p", "--model", "script:../s.yaml", "go"}
			r := p.troupe(append(args, "--output-format", "stream-json")...)
			m := advised.FindStringSubmatch(strings.ReplaceAll(strings.ReplaceAll(r.out, `\"`, `"`), `\\`, `\`))
			if m == nil {
				t.Fatalf("no rule is advised:\n%s", r.out)
			}
			if _, err := os.Stat(filepath.Join(p.dir, c.file)); err == nil {
				t.Fatalf("%s was written unasked", c.file)
			}
			rules := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(m[1], "'"), "'"), `'\''`, "'")
			rules = strings.NewReplacer(`\u003e`, ">", `\u0026`, "&").Replace(rules)
			r = p.troupe(append(args, "--allowed-tools", rules, "--output-format", "stream-json")...)
			if _, err := os.Stat(filepath.Join(p.dir, c.file)); err != nil {
				t.Errorf("with %s: %v\n%s%s", rules, err, r.out, r.errOut)
			}
		})
	}
	t.Run("Edit for a redirect", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.write(".github/workflows/ci.yml", "x\n")
		r := p.bash("echo y > .github/workflows/y.yml", "Edit(.github/workflows/y.yml)")
		if p.read(".github/workflows/y.yml") != "y\n" {
			t.Error(r.out)
		}
	})
}

// TestSettingWorks: where no rule helps, for a command writes outside of its folder, the denial names a setting, and
// with it the command works. What is protected is opened by none.
func TestSettingWorks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if len(p.explainLevels()) == 0 {
		t.Skip("this machine cannot confine commands")
	}
	const command = "mkdir -p ~/tools/x && cp tool ~/tools/x/"
	p.write("tool", "x\n")
	r := p.bash(command, "Bash")
	m := regexp.MustCompile(`sandbox\.write: (\[.*?\])`).FindStringSubmatch(strings.ReplaceAll(r.out, `\"`, `"`))
	if m == nil {
		t.Fatalf("no setting is named:\n%s", r.out)
	}
	p.write("../home/settings.json", `{"sandbox": {"write": `+m[1]+`}}`)
	if r := p.bash(command, "Bash"); strings.Contains(r.out, "Permission denied") ||
		p.read("../user/tools/x/tool") != "x\n" {
		t.Errorf("with %s:\n%s", m[1], r.out)
	}
	for _, command := range []string{"cp tool ~/.bashrc", "mkdir -p ~/go/bin", "cp tool .envrc", "cp tool /tmp/x-$$"} {
		if r := p.bash(command, "Bash"); strings.Contains(r.out, "sandbox.write") {
			t.Errorf("%s: a setting is named:\n%s", command, r.out)
		}
	}
}

// explainLevels are the sandboxes of this machine.
func (p *place) explainLevels() []string {
	if k := p.kernel(); !k.landlock {
		return nil
	}
	return []string{"read-only"}
}

// TestCommitsTakeTurns: agents that commit in one folder at once all do.
func TestCommitsTakeTurns(t *testing.T) {
	t.Parallel()
	p, git := protectedRepository(t)
	const n = 12
	calls := make([]string, n)
	for i := range n {
		calls[i] = fmt.Sprintf("{tool: Agent, input: {name: a%d, description: d, prompt: p, subagent_type: "+
			"general-purpose}}", i)
	}
	p.write("../s.yaml", "replies:\n  - agent: main\n    turn: 1\n    calls:\n      - "+
		strings.Join(calls, "\n      - ")+
		"\n  - agent: general-purpose\n    turn: 1\n    calls:\n      - "+
		bash("n=$(basename $(mktemp -u)) && echo x > $n && git add $n && git commit -qm $n")+"\n  - text: done\n")
	before := git("rev-list", "--count", "HEAD")
	r := p.troupe("-p", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions", "--output-format",
		"stream-json", "go")
	if before, after := number(t, before), number(t, git("rev-list", "--count", "HEAD")); after != before+n {
		t.Errorf("%d of %d commits were made", after-before, n)
		for _, line := range regexp.MustCompile(`fatal: [^"]*`).FindAllString(r.out+r.errOut, 3) {
			t.Log(line)
		}
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOfflineEndsSoon: a command that only wants the network, where it has none, ends at once, and is asked about.
// By itself npm waits ten seconds, and then sixty: what it took on a busy machine is far from that.
func TestOfflineEndsSoon(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm")
	}
	p := newPlace(t)
	if len(p.explainLevels()) == 0 {
		t.Skip("this machine cannot confine commands")
	}
	p.write(".npmrc", "registry=http://127.0.0.1:9/\nfetch-retries=2\n")
	ev, out := p.do("npm view left-pad")
	if len(ev.Commands) != 1 || ev.Commands[0].DurationMS > 60_000 || len(ev.Denied) != 1 ||
		!strings.Contains(ev.Denied[0].Why, "127.0.0.1:9") {
		t.Errorf("%+v\n%s", ev, out)
	}
}
