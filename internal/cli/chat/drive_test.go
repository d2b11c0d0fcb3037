package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestOrders(t *testing.T) {
	t.Parallel()
	long := `{"type":"user","text":"` + strings.Repeat("x", maxOrder) + `"}`
	in := strings.Join([]string{
		`{"type":"user","text":"hello"}`, ``, `not JSON`, `{"type":"user"}`, `{"type":"dance"}`, `{}`, `[]`,
		`{"type":"stop","now":true} {}`,
		`{"type":"stop","nwo":true}`, `{"type":"answer","request":"r"}`,
		`{"type":"answer","request":"r","allow":false,"note":"no"}`, long,
		`{"type":"user","text":"a","images":[{"media_type":"image/png","data":"iVBORw=="}]}`,
		`{"type":"user","images":[{"media_type":"image/tiff","data":"iVBORw=="}]}`,
		"{\"type\":\"user\",\"text\":\"\xff\"}", `{"type":"user","text":"\u0000"}`, `{"type":"end"}`,
	}, "\n") // the last line has no end
	var got []string
	r := newOrders(strings.NewReader(in))
	for {
		o, err := r.next()
		var bad *badLine
		if errors.As(err, &bad) {
			got = append(got, fmt.Sprintf("%d bad", bad.line))
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, fmt.Sprintf("%d %s", r.line, o.Type))
	}
	want := []string{"1 user", "3 bad", "4 bad", "5 bad", "6 bad", "7 bad", "8 bad", "9 bad", "10 bad", "11 answer",
		"12 bad", "13 user", "14 bad", "15 bad", "16 bad", "17 end"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// FuzzOrders puts anything between two orders: both must be read, and every line in between
// is an order or a problem.
func FuzzOrders(f *testing.F) {
	for _, s := range []string{`{"type":"end"}`, "{", "\x00", `{"type":"user","text":"`, "null", "\r", "\xff\n\n{}"} {
		f.Add([]byte(s))
	}
	const order = `{"type":"compact","hint":"x"}`
	f.Fuzz(func(t *testing.T, between []byte) {
		in := io.MultiReader(strings.NewReader(order+"\n"), bytes.NewReader(between), strings.NewReader("\n"+order))
		r := &orders{r: bufio.NewReaderSize(in, 16)} // every line comes in pieces
		n := 0
		var last string
		for {
			o, err := r.next()
			var bad *badLine
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
			n++
			last = o.Type
		}
		if lines := bytes.Count(between, []byte("\n")) + 3; n > lines || n < 2 || r.line != lines {
			t.Fatalf("%d orders of %d lines; the reader counts %d", n, lines, r.line)
		}
		if last != orderCompact {
			t.Fatalf("the last order was lost: %q", last)
		}
	})
}

// driven is a program that drives a conversation.
type driven struct {
	t    *testing.T
	in   chan<- string
	out  *bufio.Scanner
	late func() // ends the output: what was waited for does not come
	done chan error
	run  wire.Report
}

func startDrive(t *testing.T, f *fake, b wire.Begin) *driven {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &console.Console{In: inR, Out: outW, Err: io.Discard, Interrupts: &console.Interrupts{Leave: func(int) {}}}
	in := make(chan string, 100)
	go func() {
		for l := range in {
			io.WriteString(inW, l+"\n") //nolint:errcheck // the program has ended
		}
		inW.Close()
	}()
	d := &driven{t: t, in: in, out: bufio.NewScanner(outR), done: make(chan error, 1),
		late: func() { outR.Close() }}
	go func() {
		run, err := Drive(t.Context(), c, f, b)
		d.run = run
		outW.Close()
		d.done <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return d
}

func (d *driven) write(lines ...string) {
	for _, l := range lines {
		d.in <- l
	}
}

// patience is how long a program is waited for that has nothing to wait for.
const patience = 20 * time.Second

// until reads lines until one of a type; seen are the types on the way.
func (d *driven) until(typ string) (line string, seen []string) {
	d.t.Helper()
	defer time.AfterFunc(patience, d.late).Stop()
	for d.out.Scan() {
		var v struct{ Type string }
		if err := json.Unmarshal(d.out.Bytes(), &v); err != nil {
			d.t.Fatalf("not JSON: %s", d.out.Bytes())
		}
		seen = append(seen, v.Type)
		if v.Type == typ {
			return d.out.Text(), seen
		}
	}
	d.t.Fatalf("no %q came before the output ended, or within %s; there were %q", typ, patience, seen)
	return "", nil
}

// ends waits until the program has ended.
func (d *driven) ends() error {
	d.t.Helper()
	select {
	case err := <-d.done:
		return err
	case <-time.After(patience):
		d.t.Fatalf("it has not ended within %s", patience)
		return nil
	}
}

func TestDrive(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) {
		switch what {
		case "may I":
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Bash", Action: "ls"})
		case "answer r1 allow=true session=false go on":
			f.says("I could")
		case "hang": // until it is stopped
		default:
			f.says("heard: " + what)
		}
	})
	d := startDrive(t, f, wire.Begin{})
	d.write(`{"type":"stop"}`)
	if line, _ := d.until("error"); !strings.Contains(line, `"line":1,`) ||
		!strings.Contains(line, "nothing has begun") {
		t.Errorf("%s", line)
	}
	d.write(`{"type":"user","text":"one"}`)
	line, seen := d.until("result")
	if !strings.Contains(line, "heard: one") || !slices.Equal(seen,
		[]string{"session.created", "session.started", "model.replied", "session.ended", "result"}) {
		t.Errorf("%s %q", line, seen)
	}
	d.write(`{"type":"user","text":"may I"}`)
	line, _ = d.until("request")
	if !strings.Contains(line, `"id":"r1"`) || !strings.Contains(line, `"action":"ls"`) {
		t.Errorf("%s", line)
	}
	d.write(`oops`, `{"type":"answer","request":"r9","allow":true}`,
		`{"type":"answer","request":"r1","allow":true,"note":"go on"}`)
	if line, _ := d.until("error"); !strings.Contains(line, `"line":4,`) {
		t.Errorf("%s", line)
	}
	if line, _ := d.until("error"); !strings.Contains(line, `"line":5,`) || !strings.Contains(line, "not found") {
		t.Errorf("%s", line)
	}
	d.until("result")
	d.write(`{"type":"user","text":"hang"}`, `{"type":"compact","hint":"names"}`, `{"type":"stop","now":true}`)
	d.until("result")
	d.write(`{"type":"user","text":"last"}`)
	close(d.in)
	d.until("result")
	if d.out.Scan() {
		t.Errorf("there is more: %s", d.out.Text())
	}
	if err := <-d.done; err != nil || d.run.Result != "heard: last" || !f.closed {
		t.Errorf("%v, %+v, closed %v", err, d.run, f.closed)
	}
	f.heardAll(t, "begin false", "one", "may I", "answer r1 allow=true session=false go on", "hang", "compact names",
		"stop m00000000000 now=true tree=false", "last")
}

// TestDriveEnds: the end of the input waits for what is under way, and nobody is left to be asked.
func TestDriveEnds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := newFake(func(f *fake, what string) {
		switch what {
		case "go":
			f.add(childID, troupe.Created{Name: "kid"}, troupe.Started{Run: 1})
			f.says("the kid goes on")
			go func() {
				<-release
				f.ask(wire.Request{ID: "r1", Session: childID, Path: "main/kid", Tool: "Bash", Action: "ls"})
			}()
		case "answer r1 allow=false session=false the conversation was left":
			f.add(childID, ended(troupe.Completed))
		}
	})
	d := startDrive(t, f, wire.Begin{})
	d.write(`{"type":"user","text":"go"}`)
	d.until("result")
	d.write(`{"type":"end"}`)
	close(release)
	d.until("request")
	_, seen := d.until("session.ended")
	// The request may be found open before its event is read.
	seen = slices.DeleteFunc(seen, func(s string) bool { return s == "request.opened" })
	if !slices.Equal(seen, []string{"request.answered", "session.ended"}) {
		t.Errorf("%q", seen)
	}
	if err := d.ends(); err != nil {
		t.Error(err)
	}
	close(d.in)
}

// TestDriveResult: the result of a run is how that run ended, whatever the next one has come to when
// it is written.
func TestDriveResult(t *testing.T) {
	t.Parallel()
	outcomes := []troupe.Outcome{
		{Status: troupe.MaxTurns, Cause: troupe.CauseLimit, Result: "half of it", Error: "its turns are used up"},
		{Status: troupe.Completed, Result: "all of it"},
	}
	var n int
	f := newFake(func(f *fake, _ string) {
		f.add(rootID, troupe.Ended{Outcome: outcomes[n]})
		n++
	})
	f.next = &wire.Report{Type: "result", SessionID: rootID, Status: troupe.Cancelled, Cause: troupe.CauseInterrupt,
		Result: "of the next", Error: "of the next"}
	d := startDrive(t, f, wire.Begin{})
	for _, o := range outcomes {
		d.write(`{"type":"user","text":"go"}`)
		line, _ := d.until("result")
		var r wire.Report
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != o.Status || r.Cause != o.Cause || r.Result != o.Result || r.Error != o.Error {
			t.Errorf("the run ended as %+v, and its result is %s", o, line)
		}
	}
	close(d.in)
	if err := d.ends(); err != nil || d.run.Status != troupe.Completed || d.run.Cause != troupe.CauseNone {
		t.Errorf("it ended with %+v: %v", d.run, err)
	}
}

// TestClockSetBack: what a session did stays in the order in which it did it, whatever the clock
// says, for programs and for people.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	heard := func(f *fake, what string) { f.says("heard: " + what) }
	f := newFake(heard)
	f.back = true
	d := startDrive(t, f, wire.Begin{})
	d.write(`{"type":"user","text":"one"}`)
	close(d.in)
	if _, seen := d.until("result"); !slices.Equal(seen, []string{"session.created", "session.started", "model.replied",
		"session.ended", "result"}) {
		t.Errorf("%q", seen)
	}
	if err := <-d.done; err != nil {
		t.Error(err)
	}
	var out [2]bytes.Buffer
	for i := range out {
		f := newFake(heard)
		f.back = i == 1
		c := &console.Console{
			In: strings.NewReader("one\ntwo"), Out: &out[i], Err: io.Discard, Interrupts: &console.Interrupts{},
			Lookup: func(string) (string, bool) { return "", false },
		}
		if err := Run(t.Context(), c, f, wire.Begin{Cwd: t.TempDir()}, Options{Local: time.UTC}); err != nil {
			t.Fatal(err)
		}
	}
	if out[0].String() != out[1].String() {
		t.Errorf("got\n%s\nwant\n%s", &out[1], &out[0])
	}
}

func TestDriveWithoutConversation(t *testing.T) {
	t.Parallel()
	d := startDrive(t, newFake(nil), wire.Begin{})
	close(d.in)
	if err := <-d.done; console.Code(err) != troupe.ExitUsage {
		t.Errorf("%v", err)
	}
	d = startDrive(t, newFake(nil), wire.Begin{Resume: "nobody"})
	if err := <-d.done; err == nil {
		t.Error("a session that is not there was resumed")
	}
	close(d.in)
}

func TestDriveInterrupt(t *testing.T) {
	t.Parallel()
	f := newFake(func(*fake, string) {})
	inR, inW := io.Pipe()
	defer inW.Close()
	var out bytes.Buffer
	var mu sync.Mutex
	left := 0
	in := &console.Interrupts{Leave: func(int) { mu.Lock(); left++; mu.Unlock() }}
	c := &console.Console{In: inR, Out: &out, Err: io.Discard, Interrupts: in}
	done := make(chan error, 1)
	go func() {
		_, err := Drive(t.Context(), c, f, wire.Begin{Prompt: "hang"})
		done <- err
	}()
	f.heardAll(t, "begin false", "hang")
	in.Raise()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the interrupt ended nothing")
	}
	f.heardAll(t, "begin false", "hang", "stop m00000000000 now=true tree=true")
	if !strings.Contains(out.String(), `"type":"result"`) || left > 0 {
		t.Errorf("left %d: %s", left, &out)
	}
}
