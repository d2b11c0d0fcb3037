package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestDamaged damages copies of a real database in every way and looks at what is said and saved.
func TestDamaged(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {name: kid, description: d, prompt: p}}, {tool: Agent, input: {name: kit, description: d, prompt: p}}]}
  - {agent: main, turn: 2, calls: [{tool: Bash, input: {command: "seq 3000"}}]}
  - {agent: main, text: all done}
  - {turn: 1, calls: [{tool: Bash, input: {command: "seq 1000; echo kid"}}]}
  - {turn: 2, calls: [{tool: Bash, input: {command: "seq 50"}}]}
  - text: seen
`)
	for n := range 4 {
		p.run(0, "-p", "go", "--name", fmt.Sprint("job", n), "--model", "script:../s.yaml", "--permission-mode",
			"bypassPermissions")
	}
	whole, err := os.ReadFile(filepath.Join(p.home(), "troupe.db"))
	if err != nil {
		t.Fatal(err)
	}
	logs := map[string]string{}
	for _, s := range p.sessions() {
		logs[string(s.ID)] = p.troupe("log", string(s.ID), "--json").out
	}
	if len(logs) != 12 || len(whole) < 12*8192 {
		t.Fatalf("%d sessions, %d bytes", len(logs), len(whole))
	}
	for seed := range uint64(48) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			q := newPlace(t, "ANTHROPIC_API_KEY=sk-ant-none", "ANTHROPIC_BASE_URL=http://127.0.0.1:9")
			q.write("../n.yaml", "replies: [{text: done}]")
			q.write("../s.yaml", "replies: [{text: done}]")
			d := damaged{t: t, place: q, logs: logs, how: int(seed % 6), rng: rand.New(rand.NewPCG(seed, 7))}
			d.run(whole)
		})
	}
}

// TestRepairInUse: nothing is repaired under a process that has the home open.
func TestRepairInUse(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - {turn: 1, calls: [{tool: Bash, input: {command: "echo > gone; cat go"}}]}
  - text: done
`)
	p.mkfifo("go")
	gone := p.fifo("gone")
	cmd := p.command("-p", "go", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone()
	path := filepath.Join(p.home(), "troupe.db")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, 20*8192), 8192) // all tables, as far as they are not in the log
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r := p.troupe("doctor", "--repair")
	if want := fmt.Sprint("process ", cmd.Process.Pid, " is using"); r.code != 1 || !strings.Contains(r.errOut, want) {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 1 { // its lock
		t.Errorf("left over: %v, %v", left, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
}

// sessions lists all sessions of the home.
func (p *place) sessions() (out []wire.Session) {
	p.t.Helper()
	var list []wire.Session
	r := p.troupe("sessions", "--json")
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		p.t.Fatalf("%v\n%s%s", err, r.out, r.errOut)
	}
	for _, s := range list {
		var tree struct{ Agents []wire.Session }
		r := p.troupe("show", string(s.ID), "--json")
		if err := json.Unmarshal([]byte(r.out), &tree); err != nil {
			p.t.Fatalf("%v\n%s%s", err, r.out, r.errOut)
		}
		out = append(out, tree.Agents...)
	}
	return out
}

// damaged is one damaged copy.
type damaged struct {
	*place

	t    *testing.T
	logs map[string]string // of the undamaged one
	how  int
	rng  *rand.Rand
}

// Ways to damage a file.
const (
	oneBit = iota
	manyBits
	zeroPage
	zeroPages
	truncated
	junkHeader
)

func (d damaged) damage(db []byte) []byte {
	db = bytes.Clone(db)
	flip := func() { db[d.rng.IntN(len(db))] ^= 1 << d.rng.IntN(8) }
	zero := func() { clear(db[d.rng.IntN(len(db)/8192)*8192:][:8192]) }
	switch d.how {
	case oneBit:
		flip()
	case manyBits:
		for range 40 {
			flip()
		}
	case zeroPage:
		zero()
	case zeroPages:
		for range 4 {
			zero()
		}
	case truncated:
		db = db[:1+d.rng.IntN(len(db)-1)]
	case junkHeader:
		for i := range 100 {
			db[i] = byte(d.rng.Uint32())
		}
	}
	return db
}

func (d damaged) run(db []byte) {
	t := d.t
	if err := os.WriteFile(filepath.Join(d.home(), "troupe.db"), d.damage(db), 0o600); err != nil {
		t.Fatal(err)
	}
	readable := map[string]bool{}
	for id, want := range d.logs {
		readable[id] = d.plain("log", id, "--json").out == want // job1 may go on then
	}
	d.plain("sessions")
	d.plain("show", "job0")
	d.plain("tasks")
	d.plain("-p", "--resume", "job1", "more", "--model", "script:../s.yaml")
	doctor := d.plain("doctor")
	r := d.troupe("doctor", "--repair", "--json")
	t.Logf("doctor: exit %d\n%s%s\nrepair: exit %d\n%s%s", doctor.code, doctor.out, doctor.errOut, r.code, r.out,
		r.errOut)
	if r.code != 0 {
		if !strings.Contains(r.errOut, "nothing of a session could be found") || d.how != truncated {
			t.Errorf("repair: exit %d\n%s%s", r.code, r.out, r.errOut)
		}
		return
	}
	var repaired wire.Repair
	if err := json.Unmarshal([]byte(r.out), &repaired); err != nil {
		t.Fatal(err)
	}
	d.after(repaired, readable)
}

// plain runs a command on the damaged home: it may fail, but in plain words.
func (d damaged) plain(args ...string) ran {
	d.t.Helper()
	begun := time.Now()
	r := d.troupe(args...)
	said := r.out + r.errOut
	if strings.Contains(said, "goroutine") || strings.Contains(said, "panic") || time.Since(begun) > 20*time.Second {
		d.t.Errorf("%s: exit %d after %v\n%s", args, r.code, time.Since(begun), said)
	}
	if r.code != 0 && (!strings.Contains(r.errOut, "troupe doctor") && !strings.Contains(said, "--repair") ||
		strings.Contains(said, "newer")) && !strings.Contains(said, "no session") {
		d.t.Errorf("%s: exit %d\n%s", args, r.code, said)
	}
	return r
}

// after looks at the repaired home.
func (d damaged) after(r wire.Repair, readable map[string]bool) {
	t := d.t
	for id, want := range d.logs {
		got := d.troupe("log", id, "--json")
		if !strings.HasPrefix(got.out, want) && (readable[id] || d.how == junkHeader) {
			t.Errorf("%s was intact, and is now (exit %d) %s\n%s", id, got.code, got.errOut, cmp.Diff(want, got.out))
		}
	}
	if out := d.troupe("sessions"); out.code != 0 {
		t.Errorf("sessions: exit %d\n%s", out.code, out.errOut)
	}
	if out := d.troupe("doctor"); strings.Contains(out.out, "damaged") {
		t.Errorf("doctor after the repair:\n%s", out.out)
	}
	if out := d.troupe("doctor", "--repair"); out.code != 0 || !strings.Contains(out.out, "is not damaged") {
		t.Errorf("a second repair: exit %d\n%s%s", out.code, out.out, out.errOut)
	}
	if r.Damaged != "" {
		if _, err := os.Stat(r.Damaged); err != nil {
			t.Error(err)
		}
	}
	if run := d.troupe("-p", "go", "--model", "script:../n.yaml"); run.code != 0 {
		t.Errorf("a new run: exit %d\n%s", run.code, run.errOut)
	}
}
