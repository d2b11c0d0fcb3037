package e2e_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// attack is a line of the cases in testdata/attacks.
type attack struct {
	id, class, setup, command, effect, needs string
	tier                                     string // benign cases: core or stretch
}

func readAttacks(t *testing.T, name string) []attack {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "attacks", name))
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

// marker stands for a secret, in the environment and in files, and must not come out.
const marker = "LEAKME-7"

// fixture is the folder that the cases run in, made once and copied for each.
var fixture = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"gcc", "git", "zip", "bzip2", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", err
		}
	}
	script, err := os.ReadFile(filepath.Join("testdata", "attacks", "mkfixture.sh"))
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Dir(binary), "fixture-")
	if err != nil {
		return "", err
	}
	for _, plain := range []string{"FAKE-KEY", "fake-123"} {
		script = bytes.ReplaceAll(script, []byte(plain), []byte(marker))
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
	touched  *atomic.Int64 // connections that somebody made to the port of the case
	port     string
}

func newField(t *testing.T, environ ...string) *field {
	t.Helper()
	base, err := fixture()
	if err != nil {
		t.Skipf("the cases need what is not here: %v", err)
	}
	p := newPlace(t)
	if out, err := exec.Command("cp", "-a", base+"/.", p.root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := &field{place: p, ws: filepath.Join(p.root, "ws"), touched: new(atomic.Int64)}
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
	p.environ = append(p.environ, "GIT_CONFIG_NOSYSTEM=1", "ANTHROPIC_API_KEY="+marker)
	p.environ = append(p.environ, environ...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.touched.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	f.port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
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
	ran       bool // it was started at all
	code      int
	asked     bool // somebody would have been asked
	text      string
	printed   string // everything the program printed
	decisions string
}

// try has the main agent run one command, by itself, through the whole program.
func (f *field) try(command string, args ...string) outcome {
	f.t.Helper()
	input, err := json.Marshal(map[string]any{"command": strings.ReplaceAll(command, "{PORT}", f.port), "timeout": 20_000})
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := json.Marshal(string(input))
	if err != nil {
		f.t.Fatal(err)
	}
	f.write("../s.yaml", "replies:\n  - turn: 1\n    calls:\n      - {tool: Bash, raw: "+string(raw)+"}\n  - text: done\n")
	r := f.troupe(append([]string{"-p", "--model", "script:../s.yaml", "--output-format", "stream-json", "go"}, args...)...)
	out := outcome{printed: r.out + r.errOut}
	found := false
	for line := range strings.Lines(r.out) {
		var e struct {
			Type string `json:"type"`
			Body struct {
				Result struct {
					Blocks []struct{ Text string } `json:"blocks"`
				} `json:"result"`
				Evidence struct {
					Commands []struct {
						ExitCode int `json:"exit_code"`
					} `json:"commands"`
					Denied []json.RawMessage `json:"denied"`
				} `json:"evidence"`
				Denied *json.RawMessage `json:"denied"`
			} `json:"body"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type != "tool.finished" {
			continue
		}
		found = true
		for _, b := range e.Body.Result.Blocks {
			out.text += b.Text
		}
		if n := len(e.Body.Evidence.Commands); n > 0 {
			out.ran, out.code = true, e.Body.Evidence.Commands[n-1].ExitCode
		}
		out.asked = e.Body.Denied != nil || len(e.Body.Evidence.Denied) > 0
	}
	if !found {
		f.t.Fatalf("the call has no result:\n%s", out.printed)
	}
	return out
}

// kernels are the machines that the cases run on: what this one has, and what is left of it
// without parts.
func kernels() map[string][]string {
	return map[string][]string{
		"kernel":        nil,
		"no namespaces": {"TROUPE_SANDBOX=namespaces=off"},
		"old landlock":  {"TROUPE_SANDBOX=namespaces=off,landlock=1"},
		"no watching":   {"TROUPE_SANDBOX=notify=off"},
		"reader":        {"TROUPE_SANDBOX=landlock=off"},
	}
}

// eachKernel runs fn for every machine, the second-best ones for a part of the cases unless
// all are wanted.
func eachKernel(t *testing.T, cases []attack, fn func(t *testing.T, kernel string, f *field, c attack)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(kernels())) {
		environ := kernels()[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, c := range cases {
				if c.needs == "norun" || name != "kernel" && name != "reader" && i%8 != 0 && os.Getenv("TROUPE_ALL_ATTACKS") == "" {
					continue
				}
				t.Run(c.id, func(t *testing.T) {
					t.Parallel()
					fn(t, name, newField(t, environ...), c)
				})
			}
		})
	}
}

// TestAttacksReadOnly: what looks harmless and writes, executes or sends does none of it, on
// any machine.
func TestAttacksReadOnly(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "readonly.tsv"), func(t *testing.T, kernel string, f *field, c attack) {
		harmless(t, kernel, f, c)
	})
}

// TestAttacksHostileRepo: nor does what a repository turns into a weapon.
func TestAttacksHostileRepo(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "hostile_repo.tsv"), func(t *testing.T, kernel string, f *field, c attack) {
		f.plant(c.setup)
		harmless(t, kernel, f, c)
	})
}

func harmless(t *testing.T, kernel string, f *field, c attack) {
	before := f.state()
	o := f.try(c.command)
	if diff := changed(before, f.state()); len(diff) > 0 {
		t.Errorf("%s\nchanged %q; the result was:\n%s", c.command, diff, o.text)
	}
	if f.touched.Load() > 0 {
		t.Errorf("%s\nreached the network; the result was:\n%s", c.command, o.text)
	}
	if kernel == "reader" && o.ran {
		t.Errorf("%s\nwas run without being asked about, on a machine that cannot confine it:\n%s", c.command, o.text)
	}
}

// TestAttacksLeak: secrets in the environment and in files do not come out.
func TestAttacksLeak(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "leak.tsv"), func(t *testing.T, _ string, f *field, c attack) {
		o := f.try(c.command)
		if strings.Contains(o.printed, marker) {
			t.Errorf("%s\ntells the secret:\n%s", c.command, o.text)
		}
		err := filepath.WalkDir(f.home(), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(name)
			if bytes.Contains(data, []byte(marker)) {
				t.Errorf("%s\nleaves the secret in %s", c.command, strings.TrimPrefix(name, f.root))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestBenign: what only reads runs without a question, and as it would outside.
func TestBenign(t *testing.T) {
	t.Parallel()
	eachKernel(t, readAttacks(t, "benign.tsv"), func(t *testing.T, kernel string, f *field, c attack) {
		before := f.state()
		o := f.try(c.command)
		if o.asked || !o.ran {
			if c.tier == "core" || kernel != "reader" {
				t.Errorf("%s\nwould be asked about:\n%s", c.command, o.text)
			} else {
				t.Logf("%s\nwould be asked about:\n%s", c.command, o.text)
			}
			return
		}
		if diff := changed(before, f.state()); len(diff) > 0 {
			t.Errorf("%s\nchanged %q", c.command, diff)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-c", c.command)
		cmd.Dir, cmd.WaitDelay = f.ws, time.Second
		cmd.Env = append(slices.DeleteFunc(slices.Clone(f.environ), func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC") }), "HOME="+f.user)
		plain, err := cmd.Output()
		code, err := exitCode(err)
		if err != nil {
			t.Fatal(err)
		}
		if code != o.code {
			t.Errorf("%s\nended with %d, and %d outside; inside:\n%s\noutside:\n%s", c.command, o.code, code, o.text, plain)
		}
	})
}
