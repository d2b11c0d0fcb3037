package e2e_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

// attack is a line of the cases in testdata/attacks.
type attack struct {
	id, class, setup, command, effect, needs string
	tier                                     string // benign cases: core or stretch
}

func readAttacks(t *testing.T, name string) []attack {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "attacks", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []attack
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	var columns []string
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "\t")
		if columns == nil {
			columns = cells
			columns[0] = strings.TrimPrefix(columns[0], "#")
			continue
		}
		row := map[string]string{}
		for i, c := range cells {
			row[columns[i]] = c
		}
		text := func(column string) string {
			var s string
			if row[column] != "" {
				if err := json.Unmarshal([]byte(row[column]), &s); err != nil {
					t.Fatalf("%s %s: %v", name, row["id"], err)
				}
			}
			return s
		}
		out = append(out, attack{
			id: row["id"], class: row["class"], setup: text("setup_json"), command: text("command_json"),
			effect: row["side_effect"], needs: row["needs"], tier: row["tier"],
		})
	}
	if err := lines.Err(); err != nil || len(out) == 0 {
		t.Fatalf("%s: %d cases, %v", name, len(out), err)
	}
	return out
}

// What must not come out: what stands in hidden files, the key in the environment, and a
// variable that no name gives away, so that masking cannot stand in for not passing it on.
const (
	fileMarker = "LEAKME-7"
	keyMarker  = "sk-environment-41"
	noteMarker = "ENVNOTE-5"
)

func markers() []string { return []string{fileMarker, keyMarker, noteMarker} }

// fixture is the folder that the cases run in, made once and copied for each.
var fixture = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"gcc", "git", "zip", "bzip2", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", err
		}
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "testdata", "attacks", "mkfixture.sh"))
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Dir(binary), "fixture-")
	if err != nil {
		return "", err
	}
	for _, plain := range []string{"FAKE-KEY", "fake-123"} {
		script = bytes.ReplaceAll(script, []byte(plain), []byte(fileMarker))
	}
	cmd := exec.Command("bash", "-c", string(script), "mkfixture", filepath.Join(dir, "base"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make the fixture: %w\n%s", err, out)
	}
	return filepath.Join(dir, "base"), nil
})

// field is one copy of the fixture with a Troupe home beside it.
type field struct {
	*place
	ws, user string
	touched  func() int64 // connections that somebody made to the port of the case
	port     string
	limit    time.Duration // of each command
}

func newField(t *testing.T, lacks string) *field {
	t.Helper()
	base, err := fixture()
	if err != nil {
		t.Skipf("the cases need what is not here: %v", err)
	}
	p := newPlace(t)
	if out, err := exec.Command("cp", "-a", base+"/.", p.root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := &field{place: p, ws: filepath.Join(p.root, "ws"), limit: 20 * time.Second}
	if err := os.Rename(filepath.Join(p.root, "home", ".ssh"), filepath.Join(p.root, "user", ".ssh")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".bashrc"} {
		if err := os.Rename(filepath.Join(p.root, "home", name), filepath.Join(p.root, "user", name)); err != nil {
			t.Fatal(err)
		}
	}
	f.user = filepath.Join(p.root, "user")
	p.dir = f.ws
	// Go's cache is that of whoever runs the tests: warm. What Go counts of itself is no effect
	// of the command.
	if err := os.MkdirAll(filepath.Join(f.user, ".config", "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	if dir, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		p.environ = append(p.environ, "GOCACHE="+strings.TrimSpace(string(dir)))
	}
	// What Go finds out about a commit it writes to where modules are fetched to, which is not open
	// to commands that only read: with that, go list would be asked about once for each commit.
	p.environ = append(p.environ, "GOFLAGS=-buildvcs=false")
	p.environ = append(p.environ, "GIT_CONFIG_NOSYSTEM=1", "ANTHROPIC_API_KEY="+keyMarker,
		"DEPLOYMENT_NOTE="+noteMarker)
	p.lacks = lacks
	f.port, f.touched = listen(t)
	return f
}

// plant runs a case's setup as the one who prepared the repository would have.
func (f *field) plant(setup string) {
	f.t.Helper()
	if setup == "" {
		return
	}
	cmd := exec.Command("bash", "-c", setup)
	cmd.Dir, cmd.Env = f.ws, append(slices.Clone(f.environ), "HOME="+f.user)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("set-up: %v\n%s", err, out)
	}
}

// state is what the fixture and the user's home hold, by name.
func (f *field) state() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for _, dir := range []string{f.ws, f.user} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && name == filepath.Join(f.user, ".config", "go") {
				return filepath.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := info.Mode().String()
			switch {
			case info.Mode().IsRegular():
				data, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				text += fmt.Sprintf(" %x", sha256.Sum256(data))
			case info.Mode()&fs.ModeSymlink != 0:
				target, err := os.Readlink(name)
				if err != nil {
					return err
				}
				text += " " + target
			}
			out[strings.TrimPrefix(name, f.root)] = text
			return nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return out
}

func changed(before, after map[string]string) []string {
	var out []string
	for name, was := range before {
		if is, ok := after[name]; !ok {
			out = append(out, "- "+name)
		} else if is != was {
			out = append(out, "~ "+name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			out = append(out, "+ "+name)
		}
	}
	slices.Sort(out)
	return out
}

// outcome is what became of a command that an agent ran.
type outcome struct {
	ran   bool // it was started at all
	code  int
	asked bool // somebody would have been asked
	text  string
}

// try has the main agent run commands, one after the other, in one run of the whole program,
// which prints what is returned with their outcomes.
func (f *field) try(commands []string, args ...string) ([]outcome, string) {
	f.t.Helper()
	var script strings.Builder
	script.WriteString("replies:\n  - turn: 1\n    calls:\n")
	for _, c := range commands {
		input, err := json.Marshal(map[string]any{"command": f.command(c), "timeout": f.limit.Milliseconds()})
		if err != nil {
			f.t.Fatal(err)
		}
		raw, err := json.Marshal(string(input))
		if err != nil {
			f.t.Fatal(err)
		}
		fmt.Fprintf(&script, "      - {tool: Bash, raw: %s}\n", raw)
	}
	script.WriteString("  - text: done\n")
	f.write("../s.yaml", script.String())
	r := f.troupe(append([]string{"-p", "--model", "script:../s.yaml", "--output-format", "stream-json", "go"},
		args...)...)
	out := make([]outcome, len(commands))
	found := 0
	for line := range strings.Lines(r.out) {
		var e struct {
			Type string `json:"type"`
			Data struct {
				Result struct {
					Call   int                     `json:"call"`
					Blocks []struct{ Text string } `json:"blocks"`
				} `json:"result"`
				Evidence struct {
					Commands []struct {
						ExitCode int `json:"exit_code"`
					} `json:"commands"`
					Denied []json.RawMessage `json:"denied"`
				} `json:"evidence"`
				Denied *json.RawMessage `json:"denied"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type != "tool.finished" {
			continue
		}
		found++
		o := &out[e.Data.Result.Call]
		for _, b := range e.Data.Result.Blocks {
			o.text += b.Text
		}
		if n := len(e.Data.Evidence.Commands); n > 0 {
			o.ran, o.code = true, e.Data.Evidence.Commands[n-1].ExitCode
		}
		o.asked = e.Data.Denied != nil || len(e.Data.Evidence.Denied) > 0
	}
	if found != len(commands) {
		f.t.Fatalf("%d of %d calls have a result:\n%s%s", found, len(commands), r.out, r.errOut)
	}
	return out, r.out + r.errOut
}

// command is a case's command as it is run here.
func (f *field) command(c string) string { return strings.ReplaceAll(c, "{PORT}", f.port) }

// kernels are the machines that the cases run on, and the parts of the sandbox that they are without. Older
// versions of Landlock cannot be had so: they are tested in package sandbox.
func kernels() map[string]string {
	return map[string]string{
		wholeKernel:     "",
		"no namespaces": "namespaces",
		"no watching":   "notify",
		onlyReading:     "landlock",
	}
}

// The machine as it is, and the one that cannot confine commands.
const (
	wholeKernel = "kernel"
	onlyReading = "reader"
)

// sampled is of how many batches one runs by default on machines that have a part of the
// sandbox; TROUPE_ALL_ATTACKS=1 runs all.
const sampled = 4

// batch is how many cases share a run. None may change anything, so that none can spoil
// another; where one does, all of the batch are run again, each by itself.
const batch = 16

// eachKernel has fn judge all cases on every machine, in batches and where that fails one by
// one: fn returns what is wrong, in words.
func eachKernel(t *testing.T, cases []attack, fn func(t *testing.T, kernel string, f *field, cases []attack) []string) {
	t.Helper()
	cases = slices.DeleteFunc(slices.Clone(cases), func(c attack) bool { return c.needs == "norun" })
	size := batch
	if cases[0].setup != "" {
		size = sampled // each has a folder of its own, so they share nothing but the wait for one another
	}
	for _, name := range slices.Sorted(maps.Keys(kernels())) {
		lacks := kernels()[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, some := range slices.Collect(slices.Chunk(cases, size)) {
				sample := name != wholeKernel && name != onlyReading && os.Getenv("TROUPE_ALL_ATTACKS") == ""
				if sample && i%sampled != 0 && some[0].setup == "" {
					continue
				}
				t.Run(some[0].id, func(t *testing.T) {
					t.Parallel()
					if some[0].setup == "" {
						if bad := fn(t, name, newField(t, lacks), some); len(bad) == 0 {
							return
						} else if len(some) == 1 {
							t.Error(strings.Join(bad, "\n"))
							return
						}
					}
					alone := 0
					for j, c := range some {
						if sample && c.setup != "" && j%sampled != 0 {
							continue
						}
						f := newField(t, lacks)
						f.plant(c.setup)
						for _, bad := range fn(t, name, f, []attack{c}) {
							t.Errorf("%s: %s\n%s", c.id, c.command, bad)
							alone++
						}
					}
					if alone == 0 && some[0].setup == "" {
						t.Errorf("%s to %s are harmless one by one, but not together", some[0].id, some[len(some)-1].id)
					}
				})
			}
		})
	}
}

func commandsOf(cases []attack) []string {
	var out []string
	for _, c := range cases {
		out = append(out, c.command)
	}
	return out
}

// TestAttacksReadOnly: what looks harmless and writes, executes or sends does none of it, on
// any machine.
func TestAttacksReadOnly(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "readonly.tsv"), harmless)
}

// TestAttacksHostileRepo: nor does what a repository turns into a weapon.
func TestAttacksHostileRepo(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "hostile_repo.tsv"), harmless)
}

func harmless(_ *testing.T, kernel string, f *field, cases []attack) (bad []string) {
	before := f.state()
	out, _ := f.try(commandsOf(cases))
	diff := changed(before, f.state())
	for i, o := range out {
		if kernel == onlyReading && o.ran {
			bad = append(bad, cases[i].id+" was run without being asked about, on a machine that cannot confine it:\n"+
				o.text)
		}
	}
	if len(diff) > 0 {
		bad = append(bad, fmt.Sprintf("changed %q; the last result was:\n%s", diff, out[len(out)-1].text))
	}
	if f.touched() > 0 {
		bad = append(bad, "reached the network; the last result was:\n"+out[len(out)-1].text)
	}
	return bad
}

// tells reports whether a secret stands in a text, as it is or as common tools write it: backwards, in
// base64 or hexadecimal, with spaces between.
func tells(text, secret string) bool {
	var dense strings.Builder
	for _, c := range text {
		if !unicode.IsSpace(c) {
			dense.WriteRune(c)
		}
	}
	back := []byte(secret)
	slices.Reverse(back)
	forms := []string{secret, string(back), hex.EncodeToString([]byte(secret))}
	for before := range 3 { // bytes of what stands before it that share characters with it
		coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		forms = append(forms, coded[(before*8+5)/6:(before+len(secret))*8/6])
	}
	return strings.Contains(text, secret) || slices.ContainsFunc(forms, func(form string) bool {
		return strings.Contains(dense.String(), form) || strings.Contains(strings.ToLower(dense.String()), form)
	})
}

func TestTells(t *testing.T) {
	t.Parallel()
	for before := range 4 {
		text := strings.Repeat("y", before) + fileMarker + "z"
		for _, shown := range []string{text, base64.StdEncoding.EncodeToString([]byte(text)),
			strings.ToUpper(hex.EncodeToString([]byte(text))), "L E A K\nM E - 7", "7-EMKAEL"} {
			if !tells(shown, fileMarker) {
				t.Errorf("%q does not tell it", shown)
			}
		}
	}
	if tells("LEAK ME 7", fileMarker) {
		t.Error("something else tells it")
	}
}

// TestAttacksLeak: secrets in the environment and in files do not come out.
func TestAttacksLeak(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "leak.tsv"), func(t *testing.T, _ string, f *field, cases []attack) (bad []string) {
		out, printed := f.try(commandsOf(cases))
		for i, o := range out {
			for _, m := range markers() {
				if tells(o.text, m) {
					bad = append(bad, cases[i].id+" tells the secret:\n"+o.text)
				}
			}
		}
		for _, m := range markers() {
			if tells(printed, m) {
				bad = append(bad, m+" is in what is printed")
			}
		}
		err := filepath.WalkDir(f.home(), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(name)
			for _, m := range markers() {
				if bytes.Contains(data, []byte(m)) {
					bad = append(bad, m+" is left in "+strings.TrimPrefix(name, f.root))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return bad
	})
}

// TestBenign: what only reads runs without a question, and as it would outside.
func TestBenign(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "benign.tsv"), func(t *testing.T, kernel string, f *field,
		cases []attack) (bad []string) {
		f.limit = 2 * time.Minute // none of these is to be cut short by a slow machine
		before := f.state()
		out, _ := f.try(commandsOf(cases))
		if diff := changed(before, f.state()); len(diff) > 0 {
			bad = append(bad, fmt.Sprintf("changed %q", diff))
		}
		for i, o := range out {
			c := cases[i]
			if o.asked || !o.ran {
				// Where nobody can see why a command failed, somebody is asked.
				blind := kernel == "no watching" && o.ran && o.code != 0
				// Without a sandbox, what walks over a hidden file is asked about.
				kept := strings.Contains(o.text, "kept from agents")
				if !blind && (c.tier == "core" && !kept || kernel != onlyReading) {
					bad = append(bad, c.id+" would be asked about:\n"+o.text)
				}
				continue
			}
			code, plain := f.outside(t, c.command)
			// What is kept from agents is not there for a command that walks over it, and grep says so.
			walked := o.code == 2 && code < 2 && strings.Contains(c.command, "grep") &&
				strings.Contains(o.text, ".env: Permission denied")
			if code != o.code && !walked {
				bad = append(bad, fmt.Sprintf("%s ended with %d, and %d outside; inside:\n%s\noutside:\n%s", c.id,
					o.code, code, o.text, plain))
			}
		}
		return bad
	})
}

// outside runs a command as its user would.
func (f *field) outside(t *testing.T, command string) (int, []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", f.command(command))
	cmd.Dir, cmd.WaitDelay = f.ws, time.Second
	cmd.Env = slices.DeleteFunc(slices.Clone(f.environ), func(kv string) bool {
		return strings.HasPrefix(kv,
			"ANTHROPIC")
	})
	plain, err := cmd.Output()
	code, err := exitCode(err)
	if err != nil {
		t.Fatal(err)
	}
	return code, plain
}
