package panes

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the recorded calls again, with the answers that they had")

const (
	root  = troupe.SessionID("r00000000000")
	ann   = troupe.SessionID("a00000000000")
	ben   = troupe.SessionID("b00000000000")
	carla = troupe.SessionID("c00000000000")
)

// recorded plays what a program said, call by call: a line that begins with $ is a call, what is below it the answer.
type recorded struct {
	t     *testing.T
	file  string
	calls []string
	at    int
	wrote strings.Builder
}

func replay(t *testing.T, name string) *recorded {
	t.Helper()
	r := &recorded{t: t, file: filepath.Join("testdata", name)}
	data, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	r.calls = strings.Split(string(data), "$ ")[1:]
	t.Cleanup(func() {
		if r.at != len(r.calls) {
			t.Errorf("%s: %d of %d calls were made", name, r.at, len(r.calls))
		}
		if *update {
			if err := os.WriteFile(r.file, []byte(r.wrote.String()), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	return r
}

func (r *recorded) call(_ context.Context, program string, args ...string) (string, error) {
	r.t.Helper()
	got := fmt.Sprintf("%s %q", program, args)
	if r.at == len(r.calls) {
		r.t.Fatalf("one call too many: %s", got)
	}
	want, answer, _ := strings.Cut(r.calls[r.at], "\n")
	r.at++
	fmt.Fprintf(&r.wrote, "$ %s\n%s", got, answer)
	if got != want && !*update {
		r.t.Errorf("call %d is\n%s\nand was recorded as\n%s", r.at, got, want)
	}
	if problem, failed := strings.CutPrefix(answer, "! "); failed {
		return "", errors.New(strings.TrimSpace(problem))
	}
	return answer, nil
}

func placeOf(r *recorded) Place {
	return Place{Viewer: []string{"env", "HOME=/h;", "/bin/troupe", "attach"}, Root: root, Call: r.call}
}

// TestTmuxCalls: panes are opened beside the conversation's, which keeps the keyboard, without a shell between, evened
// out, labelled, found again, and closed; nothing but ids, numbers and words of ours is an argument.
func TestTmuxCalls(t *testing.T) {
	t.Parallel()
	r := replay(t, "tmux.txt")
	b := newTmux(placeOf(r), "%0")
	exercise(t, b, []Pane{{"%1", ann}, {"%2", ben}})
}

// TestTmuxApart: outside of tmux the panes are in a session of their own.
func TestTmuxApart(t *testing.T) {
	t.Parallel()
	r := replay(t, "tmux_apart.txt")
	exercise(t, newTmux(placeOf(r), ""), []Pane{{"%1", ann}, {"%2", ben}})
}

// TestITermCalls: the same through it2, by the calls and answers of that program (TestITermContract).
func TestITermCalls(t *testing.T) {
	t.Parallel()
	r := replay(t, "it2.txt")
	p := placeOf(r)
	p.Viewer[1] = "HOME=/it's"
	exercise(t, newITerm(p, "LEAD"), []Pane{{"NEW-1", ann}, {"NEW-2", ben}})
}

// TestITermContract: each call of the recording is one that it2 takes, by what its source says, and each answer one
// that
// it prints.
func TestITermContract(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("testdata/it2_contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	takes, used := map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(string(contract)) {
		if name, rest, ok := strings.Cut(line, " |"); ok && line[0] != '#' {
			takes[name] = strings.SplitN(rest, "|", 4)
		}
	}
	data, err := os.ReadFile("testdata/it2.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range strings.Split(string(data), "$ ")[1:] {
		line, answer, _ := strings.Cut(rec, "\n")
		var args []string
		list := strings.ReplaceAll(strings.TrimPrefix(line, "it2 "), `\x04`, `\u0004`)
		if err := json.Unmarshal([]byte(strings.ReplaceAll(list, `" "`, `","`)), &args); err != nil || len(args) < 2 ||
			args[0] != "session" {
			t.Fatalf("%s: %v", line, err)
		}
		c := takes[args[1]]
		if used[args[1]] = true; c == nil {
			t.Errorf("there is no such command: %s", line)
			continue
		}
		if why := refuses(strings.Fields(c[0]), strings.Fields(c[1]), strings.Fields(c[2]), args[2:]); why != "" {
			t.Errorf("%s: %s", line, why)
		}
		if says := strings.TrimSpace(c[3]); !regexp.MustCompile(`^(` + says + `)$`).MatchString(answer) {
			t.Errorf("%s does not print %q", line, answer)
		}
		var panes []map[string]any
		if args[1] != "list" {
			continue
		}
		if err := json.Unmarshal([]byte(answer), &panes); err != nil {
			t.Fatal(err)
		}
		for _, p := range panes {
			want := slices.Sorted(slices.Values(strings.Fields(takes["list fields"][0])))
			if got := slices.Sorted(maps.Keys(p)); !slices.Equal(got, want) {
				t.Errorf("a session of the list has %v, and not %v", got, want)
			}
		}
	}
	if len(used) != len(takes)-1 {
		t.Errorf("of %d commands %d are used", len(takes)-1, len(used))
	}
}

// refuses says what click would say of a command's arguments; "": nothing.
func refuses(names, flags, values, args []string) string {
	plain := 0
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			plain += len(args) - i - 1
			i = len(args)
		case slices.Contains(flags, args[i]):
		case slices.Contains(values, args[i]):
			if i++; i == len(args) {
				return args[i-1] + " takes a value"
			}
		case strings.HasPrefix(args[i], "-"):
			return "there is no option " + args[i]
		default:
			plain++
		}
	}
	if plain != len(names) {
		return fmt.Sprintf("it takes %v, and has %d", names, plain)
	}
	return ""
}

// exercise uses the five verbs for two agents.
func exercise(t *testing.T, b Backend, want []Pane) {
	t.Helper()
	ctx := t.Context()
	for i, p := range want {
		id, err := b.Spawn(ctx, p.Agent)
		if err == nil {
			err = b.Send(ctx, id, Label{Name: "-Ann #[fg=red]", Color: 36 + 60*i})
		}
		if err != nil || id != p.ID {
			t.Fatalf("%s: %q, %v", p.Agent, id, err)
		}
	}
	if _, err := b.Spawn(ctx, carla); !errors.Is(err, ErrFull) {
		t.Errorf("where there is no room: %v", err)
	}
	active, err := b.Active(ctx)
	if err != nil || fmt.Sprint(active) != fmt.Sprint(want) {
		t.Errorf("active are %v, %v", active, err)
	}
	if err := errors.Join(b.Terminate(ctx, want[0].ID), b.Kill(ctx, want[1].ID)); err != nil {
		t.Error(err)
	}
}

// TestTmuxOthers: panes that another tree's viewers are in are none of ours, whoever opened them: they are not found
// again, not counted, and not closed. Of ours those are that an earlier process opened.
func TestTmuxOthers(t *testing.T) {
	t.Parallel()
	const rows = "%0 0 0 200 50 0 0 200x50  \n%1 101 0 99 25 0 0 200x50 other0000000 a00000000000\n" +
		"%2 101 26 99 24 0 0 200x50 r00000000000 b00000000000\n%3 0 0 80 24 1 0 80x24 r00000000000 c00000000000\n"
	p := Place{Root: root, Call: func(context.Context, string, ...string) (string, error) { return rows, nil }}
	active, err := newTmux(p, "%0").Active(t.Context())
	if err != nil || fmt.Sprint(active) != fmt.Sprint([]Pane{{"%2", ben}}) {
		t.Errorf("of this tree are %v, %v", active, err)
	}
}

// TestTmuxFit: the conversation's pane is given its width, or its height, when its window has become smaller than
// leaves it that; never otherwise, not twice for one size, and not for the panes of another tree.
func TestTmuxFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, lead, other, want string
	}{
		{"wide enough", "0 0 60 50", "61 0 39 50 0 0 100x50 " + string(root), ""},
		{"too narrow", "0 0 59 50", "60 0 40 50 0 0 100x50 " + string(root), "resize-pane -t %0 -x 60"},
		{"high enough", "0 0 80 15", "0 16 80 14 0 0 80x30 " + string(root), ""},
		{"too low", "0 0 80 14", "0 15 80 15 0 0 80x30 " + string(root), "resize-pane -t %0 -y 15"},
		{"another tree's", "0 0 59 50", "60 0 40 50 0 0 100x50 other0000000", ""},
		{"zoomed", "0 0 59 50", "60 0 40 50 0 1 100x50 " + string(root), ""},
	} {
		size := strings.Fields(c.other)[6]
		var did []string
		b := newTmux(Place{Root: root, Call: func(_ context.Context, _ string, args ...string) (string, error) {
			if args[0] == "list-panes" {
				return "%0 " + c.lead + " 0 0 " + size + "  \n%1 " + c.other + " " + string(ann) + "\n", nil
			}
			did = append(did, strings.Join(args, " "))
			return "", nil
		}}, "%0")
		for range 2 {
			if err := b.fit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(did, "; "); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// TestPlace: wherever a pane is opened, the conversation's keeps what it needs, and each has what it needs itself.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, halves := range []bool{false, true} {
		for width := 20; width < 260; width += 3 {
			for height := 5; height < 90; height += 2 {
				lead := rect{id: "%0", width: width, height: height}
				var others []rect
				for n := 0; ; n++ {
					s, err := place(lead, others, halves)
					if err != nil {
						if n == 0 && width >= 122 {
							t.Errorf("%d x %d: no room for any", width, height)
						}
						break
					}
					if n == 0 && !halves && s.beside != (width > leadColumns+memberColumns) {
						t.Errorf("%d x %d: the first is beside the lead's: %v", width, height, s.beside)
					}
					lead, others = divide(lead, others, s, n)
					if n > 20 || lead.width < leadColumns && s.beside ||
						lead.height < leadRows && !s.beside && s.from == "%0" {
						t.Fatalf("%d x %d, pane %d: the lead has %d x %d", width, height, n, lead.width, lead.height)
					}
					for _, o := range others {
						if o.height < memberRows && height >= memberRows || s.beside && o.width < memberColumns {
							t.Fatalf("%d x %d, pane %d: one has %d x %d", width, height, n, o.width, o.height)
						}
					}
				}
			}
		}
	}
}

// divide carries a split out.
func divide(lead rect, others []rect, s split, n int) (rect, []rect) {
	cut := func(r *rect) rect {
		out := *r
		out.id = ID(fmt.Sprint("%", n+1))
		if s.beside {
			r.width -= s.size + 1
			out.left, out.width = r.left+r.width+1, s.size
		} else {
			r.height -= s.size + 1
			out.top, out.height = r.top+r.height+1, s.size
		}
		return out
	}
	if s.from == lead.id {
		return lead, append(others, cut(&lead))
	}
	for i := range others {
		if others[i].id == s.from {
			fresh := cut(&others[i])
			return lead, append(others, fresh)
		}
	}
	return lead, others
}

// TestPain40NoSilentFallback: where no panes can be had, what is missing is named, with how to get it; only where none
// are wanted nothing is missing.
func TestPain40NoSilentFallback(t *testing.T) {
	t.Parallel()
	const inTmux, inITerm = "TMUX=/s,1,0 TMUX_PANE=%3", "ITERM_SESSION_ID=w0t0p0:UUID"
	for _, c := range []struct {
		mode          troupe.TeammateMode
		env, programs string
		backend       string
		missing, how  string
	}{
		{"auto", inTmux, "tmux", "*panes.tmux", "", ""},
		{"auto", inTmux + " " + inITerm, "tmux it2", "*panes.tmux", "", ""},
		{"auto", inTmux, "", "<nil>", "apt install tmux", ""},
		{"auto", inITerm, "tmux it2", "*panes.iterm", "", ""},
		{"auto", inITerm, "tmux", "*panes.tmux", "", "tmux attach -t troupe-" + string(root)},
		{"auto", inITerm, "", "<nil>", "uv tool install it2", ""},
		{"auto", "", "tmux", "*panes.tmux", "", "tmux attach -t troupe-" + string(root)},
		{"auto", "", "", "<nil>", "brew install tmux) is not installed", ""},
		{"auto", inTmux, "old", "<nil>", "tmux 3.0 or later: this is tmux 2.9a", ""},
		{"tmux", inITerm, "it2", "<nil>", "apt install tmux", ""},
		{"iterm2", "", "it2", "<nil>", "this terminal is not one of iTerm2's", ""},
		{"iterm2", inITerm, "tmux", "<nil>", "uv tool install it2", ""},
		{"iterm2", inTmux + " " + inITerm, "it2", "*panes.iterm", "", ""},
		{"in-process", inTmux, "tmux", "<nil>", "", ""},
	} {
		env := make(map[string]string)
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		got := Detect(t.Context(), c.mode, Place{Root: root,
			Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
			Find: func(program string) (string, error) {
				if strings.Contains(c.programs, program) || program == "tmux" && c.programs == "old" {
					return program, nil
				}
				return "", os.ErrNotExist
			},
			Call: func(context.Context, string, ...string) (string, error) {
				if c.programs == "old" {
					return "tmux 2.9a\n", nil
				}
				return "tmux next-3.6\n", nil
			}})
		if kind := fmt.Sprintf("%T", got.Backend); kind != c.backend || got.How != c.how ||
			(c.missing == "") != (got.Missing == "") || !strings.Contains(got.Missing, c.missing) {
			t.Errorf("%s with %q and %q: %s, missing %q, %q", c.mode, c.env, c.programs, kind, got.Missing, got.How)
		}
	}
}

// TestLeft: a viewer that ends as it should has its pane close, which tmux is told by the pane's own id and nothing
// else; one outside of tmux tells it nothing.
func TestLeft(t *testing.T) {
	for _, x := range []struct{ server, pane, want string }{
		{"/tmp/t,1,0", "%12", "tmux if-shell -F -t %12 #{@troupe_session} set-option -p -t %12 remain-on-exit off"},
		{"", "%12", ""},
		{"/tmp/t,1,0", "", ""},
		{"/tmp/t,1,0", "%1 ; kill-server", ""},
	} {
		said := ""
		env := map[string]string{"TMUX": x.server, "TMUX_PANE": x.pane}
		Place{
			Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
			Call: func(_ context.Context, program string, args ...string) (string, error) {
				said = program + " " + strings.Join(args, " ")
				return "", nil
			},
		}.Left(t.Context())
		if said != x.want {
			t.Errorf("TMUX=%s TMUX_PANE=%s: %q, want %q", x.server, x.pane, said, x.want)
		}
	}
}

// TestTmuxSilent: a tmux that does not answer is not taken for one without panes: that is said, and no session is made.
func TestTmuxSilent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := run(ctx, "sleep", "60"); !errors.Is(err, errSilent) {
		t.Errorf("a program that hangs: %v", err)
	}
	calls := 0
	b := newTmux(Place{Root: root, Call: func(context.Context, string, ...string) (string, error) {
		calls++
		return "", fmt.Errorf("tmux %w", errSilent)
	}}, "")
	if panes, err := b.Active(t.Context()); !errors.Is(err, errSilent) {
		t.Errorf("%v, %v", panes, err)
	}
	if id, err := b.Spawn(t.Context(), "m00000000000"); !errors.Is(err, errSilent) || calls != 2 {
		t.Errorf("%q, %v, %d calls", id, err, calls)
	}
}
