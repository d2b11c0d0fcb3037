package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// corpus reads a table of cases: one map by column for each line.
func corpus(t *testing.T, name string) []map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "attacks", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	columns := strings.Split(strings.TrimPrefix(lines[0], "#"), "\t")
	var out []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, v := range strings.Split(line, "\t") {
			row[columns[i]] = v
		}
		if err := json.Unmarshal([]byte(row["command_json"]), new(string)); err != nil {
			t.Fatalf("%s: %v", row["id"], err)
		}
		out = append(out, row)
	}
	return out
}

func commandOf(t *testing.T, row map[string]string) string {
	t.Helper()
	var s string
	if err := json.Unmarshal([]byte(row["command_json"]), &s); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(s, "{PORT}", "8080")
}

// plainly are the attacks that their rule allows because it says so: they do what the words
// of the rule mean, which is not to read.
func plainly(rule string) bool {
	switch rule {
	case "Bash(git stash:*)", "Bash(curl:*)", "Bash(git:*)", "Bash(gzip:*)", "Bash(split:*)", "Bash(openssl:*)":
		return true
	}
	return strings.HasPrefix(rule, "Bash($") // it names the command as it is disguised
}

// A rule that was meant for reading does not let through what only looks like it, also where
// no kernel is there to hold it.
func TestNaiveRules(t *testing.T) {
	t.Parallel()
	ruleText := regexp.MustCompile(`Bash\([a-z]+(?: [a-z-]+)?(?::| )?\*\)`)
	tried := 0
	for _, row := range corpus(t, "readonly.tsv") {
		command := commandOf(t, row)
		texts := append(ruleText.FindAllString(row["naive_rule"], -1), "Bash(ls:*)", "Bash(cat:*)", "Bash(echo:*)",
			"Bash(git status:*)", "Bash(git log:*)")
		texts = append(texts, "Bash("+strings.Fields(command)[0]+":*)")
		for _, text := range texts {
			if own := strings.HasSuffix(text, "("+strings.Fields(command)[0]+":*)"); own && row["disguised"] != "yes" &&
				!strings.Contains(row["naive_rule"], text) {
				continue
			}
			if startsInterpreter(command) && strings.HasSuffix(text, "("+strings.Fields(command)[0]+":*)") {
				continue // a rule for an interpreter is a rule for everything
			}
			rule, err := ParseRule(troupe.Rule{Effect: troupe.Allow, Text: text})
			if err != nil {
				continue
			}
			tried++
			if d := run(command, nil, rule); d.Effect == troupe.Allow && !plainly(text) {
				t.Errorf("%s %s, %q: %+v", row["id"], text, command, d)
			}
			if d := run(command, bothLevels, rule); d.Effect == troupe.Allow && d.Sandbox != troupe.LevelReadOnly &&
				!plainly(text) {
				t.Errorf("%s %s, %q with a sandbox: %+v", row["id"], text, command, d)
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d rules were tried", tried)
	}
}

func startsInterpreter(command string) bool {
	switch name := strings.Fields(command)[0]; name {
	case "python3", "node", "npm", "make", "bash", "perl", "go", "gcc", "vim", "vi":
		return true
	}
	return false
}

// With the read-only sandbox nothing of the corpus is asked about, and nothing gets out.
func TestCorpusConfined(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"readonly.tsv", "benign.tsv"} {
		for _, row := range corpus(t, name) {
			for _, mode := range []troupe.Mode{troupe.ModeDefault, troupe.ModePlan, troupe.ModeDontAsk} {
				q := query("Bash", bash(commandOf(t, row)))
				q.Levels, q.Chain[0].Mode = bothLevels, mode
				if d := Decide(q); d.Effect != troupe.Allow || d.Sandbox != troupe.LevelReadOnly ||
					d.Step != StepReadOnlyRun {
					t.Errorf("%s, %s, %q: %+v", mode, row["id"], commandOf(t, row), d)
				}
			}
		}
	}
}

// Where nothing confines, the table decides: no attack passes, and of what is harmless at most a
// third is asked about; neither where keys are hidden in the home and a file in the project.
func TestCorpusRead(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(string) troupe.Decision{
		"nothing hidden": func(c string) troupe.Decision { return run(c, nil) },
		"keys hidden":    func(c string) troupe.Decision { return readAlone(c, false) },
		"and a file":     func(c string) troupe.Decision { return readAlone(c, true) },
	} {
		for _, row := range corpus(t, "readonly.tsv") {
			if d := decide(commandOf(t, row)); d.Effect == troupe.Allow {
				t.Errorf("%s: %s passes, %q: %+v", name, row["id"], commandOf(t, row), d)
			}
		}
		harmless, asked := map[string]int{}, map[string]int{}
		for _, row := range corpus(t, "benign.tsv") {
			harmless[row["tier"]]++
			if d := decide(commandOf(t, row)); d.Effect != troupe.Allow {
				asked[row["tier"]]++
			}
		}
		t.Logf("%s: harmless asked: %d of %d core, %d of %d beyond; harmful passed: 0", name, asked["core"],
			harmless["core"], asked["stretch"], harmless["stretch"])
		if asked["core"]*3 > harmless["core"] {
			t.Errorf("%s: %d of %d harmless commands are asked about", name, asked["core"], harmless["core"])
		}
	}
}

// Files that rules hide stay hidden from commands that name them, and commands that might read
// them are asked about.
func TestCorpusLeaks(t *testing.T) {
	t.Parallel()
	rules := []rule.Rule{parse(t, troupe.Deny, "Read(.env)"), parse(t, troupe.Deny, "Read(~/.ssh/**)")}
	for _, row := range corpus(t, "leak.tsv") {
		if row["class"] != "leakfile" {
			continue
		}
		q := query("Bash", bash(commandOf(t, row)), rules...)
		q.Home, q.SafeGit, q.Chain[0].Mode = "/home", true, troupe.ModeDefault // beside the project, as in the fixture
		if d := Decide(q); d.Effect == troupe.Allow {
			t.Errorf("%s, %q: %+v", row["id"], commandOf(t, row), d)
		}
	}
}

// A denial of what an attack runs holds wherever in it that stands.
func TestCorpusDenied(t *testing.T) {
	t.Parallel()
	touch := parse(t, troupe.Deny, "Bash(touch:*)")
	for _, row := range corpus(t, "readonly.tsv") {
		command := commandOf(t, row)
		switch row["family"] {
		case "expansion", "operators", "xargs", "wrappers", "find":
		default:
			continue
		}
		q := query("Bash", bash(command), touch)
		q.Chain[0].Mode = troupe.ModeBypass
		if d := Decide(q); d.Effect == troupe.Allow && strings.Contains(command, "touch") && !insideOther(command) {
			t.Errorf("%s, %q: %+v", row["id"], command, d)
		}
	}
}

// insideOther: the command stands in a text that is another language than the shell's, or in
// one that is only code by a detour.
func insideOther(command string) bool {
	for _, s := range []string{"sqlite3", "perl", "python3", "node", "vim", "ssh", "npm", "capsh", "script", "PS4=",
		"echo 'touch PWNED' | xargs -I{}"} {
		if strings.HasPrefix(command, s) {
			return true
		}
	}
	return false
}
