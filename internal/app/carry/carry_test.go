package carry

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestTableNamesFields: each kind of event stands in the table, and each name there is one of a field that its body
// has.
func TestTableNamesFields(t *testing.T) {
	t.Parallel()
	all := carried()
	for _, kind := range troupe.Kinds() {
		spec, ok := all[kind]
		if !ok {
			t.Errorf("%s is not in the table: an export of a session that has one could not be imported", kind)
			continue
		}
		delete(all, kind)
		body, err := troupe.DecodeBody(kind, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if spec != "" {
			named(t, string(kind), parse(spec), reflect.TypeOf(body))
		}
	}
	for kind := range all {
		t.Errorf("%s is no kind of event", kind)
	}
	named(t, "mail", parse("mail" + piece).sub["mail"], reflect.TypeFor[troupe.Mail]())
}

func named(t *testing.T, at string, f *field, typ reflect.Type) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	fields := map[string]reflect.Type{}
	for _, sf := range reflect.VisibleFields(typ) {
		if name, _, _ := strings.Cut(sf.Tag.Get("json"), ","); name != "" {
			fields[name] = sf.Type
		}
	}
	for name, sub := range f.sub {
		in, ok := fields[name]
		switch {
		case !ok:
			t.Errorf("%s has no field %s", at, name)
		case sub.sub != nil:
			named(t, at+"."+name, sub, in)
		case in == reflect.TypeFor[time.Time]() != (sub.how == "time"):
			t.Errorf("%s.%s is a time, or is none", at, name)
		case (name == "output" && in.Kind() == reflect.String) != (sub.how == "output"):
			t.Errorf("%s.%s names a file", at, name)
		}
	}
}

// TestNothingElseComes: of events in which every field is set those of the table come, and none that says where
// something is or what was allowed.
func TestNothingElseComes(t *testing.T) {
	t.Parallel()
	f := newFilter(time.Now(), func(string) string { return "/here/output" })
	never := []string{"authority", "rules", "caps", "settings", "caller", "cwd", "memory", "offer", "skills", "folder",
		"file", "path", "top", "from_", "files", "hash", "before", "raw", "provider", "provider_id", "opens", "grant",
		"wants",
		"reserved", "request", "answer", "rule", "mode", "judged", "granted", "head", "linked", "changed", "into",
		"merged",
		"unkept", "read", "watched", "stop"}
	for _, b := range storetest.Bodies() {
		data, err := troupe.EncodeBody(b)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.body(b.Kind(), data)
		if err != nil {
			t.Errorf("%s: %v", b.Kind(), err)
			continue
		}
		if out == nil {
			continue
		}
		data, err = troupe.EncodeBody(out)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		for _, name := range keys(v) {
			why := slices.Contains(never, name)
			if b.Kind() == troupe.KindCreated && (name == "mode" || name == "cwd" || name == "authority") ||
				b.Kind() == troupe.KindReplied && name == "stop" {
				why = false // checked where it is made anew, or another thing of that name
			}
			if why {
				t.Errorf("%s: %s comes: %s", b.Kind(), name, data)
			}
		}
	}
}

func keys(v any) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			out = append(out, keys(x)...)
		}
	case map[string]any:
		for name, x := range v {
			if _, number := x.(float64); !number && x != "" {
				out = append(append(out, name), keys(x)...)
			}
		}
	}
	return out
}

// here is a home for tests.
func here() Here {
	return Here{Now: time.Now(), Folder: "/here", Source: "elsewhere", DenySource: "deny",
		Caller: troupe.You(troupe.SurfaceCommand),
		Output: func(string) string { return "" }, Model: func(string) (string, error) { return "script/x", nil },
		Plan: func(troupe.Session) string { return "/plans/x" },
		Place: func(was troupe.Workspace) (troupe.Workspace, error) {
			return troupe.Workspace{Kind: was.Kind, Owner: was.Owner, Name: "x", From: "/here", Of: "/here",
				Top:    "/own/x",
				Folder: "/own/x"}, nil
		}}
}

const testRoot = troupe.SessionID("0123456789ab")

// file is a file with one log.
func file(lines string) []byte {
	var out bytes.Buffer
	dir, err := os.MkdirTemp("", "carry")
	if err == nil {
		defer os.RemoveAll(dir)
		s := NewStage(dir)
		s.Root, s.Sessions = testRoot, []troupe.SessionID{testRoot}
		err = errors.Join(s.Put(LogPart(testRoot), func(w io.Writer) error {
			_,
				err := io.WriteString(w, lines)
			return err
		}),
			s.Put(Mail, func(w io.Writer) error {
				_,
					err := io.WriteString(w,
					`{"id":"m","to":"0123456789ab","kind":"prompt","blocks":[{"type":"text","text":"x"}]}`)
				return err
			}), s.Write(&out))
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

const aLog = `{"seq":1,"at":"2026-01-02T03:04:05Z","kind":"session.created","body":{"cwd":"/x","profile":{"type":"main","prompt":"p","tools":["Bash"],"model":"a/b"},"authority":{"mode":"bypassPermissions"}}}
{"seq":2,"at":"2026-01-02T03:04:05Z","kind":"session.started","body":{"run":1}}
{"seq":3,"at":"2026-01-02T03:04:05Z","kind":"mail.delivered","body":{"mail":[{"id":"p","root":"0123456789ab","to":"0123456789ab","kind":"prompt","blocks":[{"type":"text","text":"go"}]}]}}
{"seq":4,"at":"2026-01-02T03:04:05Z","kind":"authority.changed","body":{"authority":{"mode":"acceptEdits"}}}
{"seq":5,"at":"2026-01-02T03:04:05Z","kind":"model.sealed","body":{"reply":1,"generation":1,"model":"a/b","refs":[3]}}
{"seq":6,"at":"2026-01-02T03:04:05Z","kind":"model.replied","body":{"reply":1,"blocks":[{"type":"call","call":{"reply":1,"index":0,"name":"Bash","input":"{}"}}],"usage":{},"cost":3}}
{"seq":7,"at":"2026-01-02T03:04:05Z","kind":"tool.started","body":{"reply":1,"call":0,"name":"Bash"}}
`

// open reads a file and makes its logs anew, as an import does.
func open(data []byte, dir string) (out []*Carried, err error) {
	s, err := Read(bytes.NewReader(data), dir)
	if err != nil {
		return nil, err
	}
	tree := NewTree(s.Manifest, here())
	for _, id := range s.Sessions {
		lines, err := s.Log(id)
		if err != nil {
			return nil, err
		}
		c, err := tree.Session(id, lines)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	mail, err := s.Waiting()
	for _, line := range mail {
		if _, err := tree.Unread(line); err != nil {
			return nil, err
		}
	}
	return out, err
}

// TestLogAnew: what is left out of a log has those behind it numbered anew, and the call that was open has a result.
func TestLogAnew(t *testing.T) {
	t.Parallel()
	out, err := open(file(aLog), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for i, e := range out[0].Events {
		if e.Seq != int64(i)+1 {
			t.Errorf("event %d has the number %d", i+1, e.Seq)
		}
		kinds = append(kinds, strings.TrimPrefix(string(e.Body.Kind()), "session."))
	}
	want := "created started mail.delivered model.sealed model.replied tool.started tool.finished imported slept"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("the log is %s", got)
	}
	if st := out[0].State; st.Session.Cwd != "/here" || st.Authority.Mode != "" || st.Session.Tally.Cost != 3 {
		t.Errorf("it is %+v, %+v", st.Session, st.Authority)
	}
}

// TestWriteWhatIsRead: a file is written only if it would be read.
func TestWriteWhatIsRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *Stage) error{
		"": func(*Stage) error { return nil },
		"too long": func(s *Stage) error {
			s.Name = strings.Repeat("n", 401)
			return nil
		},
		"hold": func(s *Stage) error {
			return s.Put(Folders+string(testRoot)+".pack", func(w io.Writer) error {
				_, err := io.CopyN(w, zeros{}, 2*freeRatio)
				return err
			})
		},
		"has no log": func(s *Stage) error {
			s.Sessions = append(s.Sessions, "0123456789ac")
			return nil
		},
	} {
		s := NewStage(t.TempDir())
		s.Root, s.Sessions = testRoot, []troupe.SessionID{testRoot}
		err := errors.Join(s.Put(LogPart(testRoot), func(io.Writer) error { return nil }), change(s))
		if err != nil {
			t.Fatal(err)
		}
		var to bytes.Buffer
		err = s.Write(&to)
		if (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
		if _, rerr := Read(&to, t.TempDir()); (rerr == nil) != (err == nil) {
			t.Errorf("%q is written: %v; and read: %v", name, err, rerr)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// FuzzRead: whatever a file holds, reading it comes to an end, and what is made of it gives no leave.
func FuzzRead(f *testing.F) {
	f.Add(file(aLog))
	f.Add(file(strings.ReplaceAll(aLog, "acceptEdits", "plan")))
	f.Add(file(aLog[:300]))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := open(data, t.TempDir())
		harmless(t, out, err)
	})
}

// FuzzLog is FuzzRead behind the sums, which no mutation gets past.
func FuzzLog(f *testing.F) {
	f.Add(aLog)
	for _, b := range storetest.Bodies() {
		body, err := troupe.EncodeBody(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.TrimSuffix(aLog, "\n") + `
{"seq":8,"at":"2026-01-02T03:04:05Z","kind":"` + string(b.Kind()) + `","body":` + string(body) + `}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var lines []Line
		for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
			var l Line
			if d.Decode(&l) != nil {
				return
			}
			lines = append(lines, l)
		}
		tree := NewTree(Manifest{Root: testRoot, Sessions: []troupe.SessionID{testRoot}}, here())
		c, err := tree.Session(testRoot, lines)
		harmless(t, []*Carried{c}, err)
	})
}

func harmless(t *testing.T, out []*Carried, err error) {
	t.Helper()
	if err != nil {
		if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Hint == "" {
			t.Errorf("it is refused without advice: %v", err)
		}
		return
	}
	for _, c := range out {
		st := &c.State
		if st.Session.AsleepAt.IsZero() || st.Authority.Mode != "" && !narrows(st.Authority.Mode) ||
			st.Profile.Memory != nil ||
			st.Session.Cwd != "/here" || len(st.Files) > 0 || st.Session.Tally.Cost < 0 ||
			st.Session.Reserved != (troupe.Reservation{}) {
			t.Errorf("it is %+v with %+v", st.Session, st.Authority)
		}
		for _, r := range st.Authority.Rules {
			if r.Effect != troupe.Deny {
				t.Errorf("it has the rule %+v", r)
			}
		}
	}
}

// TestLeast: of two limits the stricter holds, and one that is none is no limit.
func TestLeast(t *testing.T) {
	t.Parallel()
	for _, x := range [][3]int{{0, 0, 0}, {0, 5, 5}, {5, 0, 5}, {3, 5, 3}, {5, 3, 3}, {4, 4, 4}} {
		if got := lesser(x[0], x[1]); got != x[2] {
			t.Errorf("of %d and %d it is %d", x[0], x[1], got)
		}
	}
	a := troupe.Limits{MaxTurns: 1, MaxTokens: 20, MaxCost: 3, MaxTime: 40}
	b := troupe.Limits{MaxTurns: 10, MaxTokens: 2, MaxCost: 30, MaxTime: 4}
	if got, want := least(a, b), (troupe.Limits{MaxTurns: 1, MaxTokens: 2, MaxCost: 3, MaxTime: 4}); got != want {
		t.Errorf("%+v", got)
	}
}

// TestLeftOut: what does not come with an event is written down, so that it has to be decided of each new field whether
// it comes.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	var out []string
	all := carried()
	for _, kind := range troupe.Kinds() {
		body, err := troupe.DecodeBody(kind, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if all[kind] == "" {
			out = append(out, string(kind))
			continue
		}
		out = append(out, leftOut(string(kind), parse(all[kind]), reflect.TypeOf(body))...)
	}
	slices.Sort(out)
	got, golden := strings.Join(out, "\n")+"\n", filepath.Join("testdata", "left_out.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) == got {
		if err != nil {
			t.Error(err)
		}
		return
	}
	had := strings.Fields(string(want))
	for _, name := range out {
		if !slices.Contains(had, name) {
			t.Errorf("%s does not come, and nobody has decided so: put it into the table of what comes, or write it "+
				"down with -update", name)
		}
	}
	for _, name := range had {
		if !slices.Contains(out, name) {
			t.Errorf("%s comes, or is none any more: look at what it may do here, and write it down with -update", name)
		}
	}
}

// leftOut are the fields of a value that do not come. One that is no plain value and of which no field is named does
// not.
func leftOut(at string, f *field, typ reflect.Type) (out []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	for _, sf := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		in := sf.Type
		for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
			in = in.Elem()
		}
		switch sub := f.sub[name]; {
		case sub == nil, sub.sub == nil && sub.how == "" && (in.Kind() == reflect.Struct || in.Kind() == reflect.Map):
			out = append(out, at+"."+name)
		case sub.sub != nil:
			out = append(out, leftOut(at+"."+name, sub, in)...)
		}
	}
	return out
}

// TestWhatHoldsOn: words that a hook kept from the model do not come, a session that planned goes on to plan, with a
// plan of this home, and no time of a file is one to come.
func TestWhatHoldsOn(t *testing.T) {
	t.Parallel()
	log := strings.ReplaceAll(aLog, `{"authority":{"mode":"acceptEdits"}}`,
		`{"authority":{"mode":"plan","planning":{"before":"bypassPermissions","file":"/there/plan"}}}`)
	log = strings.ReplaceAll(log, `"kind":"prompt","blocks"`,
		`"kind":"prompt","sent_at":"2999-01-02T03:04:05Z","blocks"`)
	log = strings.ReplaceAll(log, `"at":"2026-`, `"at":"2999-`) +
		`{"seq":8,"at":"2999-01-02T03:04:05Z","kind":"hook.ran","body":{"event":"` + string(troupe.HookPrompt) +
		`","effect":"` + string(troupe.HookDenied) + `","mail":"p"}}` + "\n"
	began := time.Now()
	out, err := open(file(log), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, e := range out[0].Events {
		if e.At.After(now) || e.At.Before(began) {
			t.Errorf("%s is of %v", e.Body.Kind(), e.At)
		}
		m, ok := e.Body.(troupe.MailDelivered)
		if ok && (len(m.Mail) != 1 || len(m.Mail[0].Blocks) > 0 || m.Mail[0].SentAt.After(now)) {
			t.Errorf("mail: %+v", m.Mail)
		}
	}
	want := troupe.Planning{Before: troupe.ModeDefault, File: "/plans/x"}
	if a := out[0].State.Authority; a.Mode != troupe.ModePlan || a.Planning == nil || *a.Planning != want {
		t.Errorf("it may %+v, and plans %+v", a, a.Planning)
	}
}
