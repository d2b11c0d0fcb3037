package replay

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestSame(t *testing.T) {
	t.Parallel()
	here := Place{Cwd: "/builds/7/porch", Home: "/var/ci", Config: "/tmp/t/config", Outputs: "/tmp/t/outputs"}
	p := play(t, sample(), here)
	other := strings.NewReplacer("linux/amd64", "darwin/arm64", "2026-03-01 (Sunday)", "2027-01-02 (Saturday)",
		"/home/ada/porch", here.Cwd,
		"branch main at 1a2b3c, clean", "no branch at 4d5e6f, 3 changed files").Replace(where)
	main, scout := p.main(), p.scout()
	main.want("Let me see.", user("fix it", other))
	scout.want("", user("look at /builds/7/porch/a.go", other))
	served, err := p.Serve(t.Context(), "main/Scout", 1, 0)
	if err != nil || served.Evidence.Files[0].Path != "/builds/7/porch/a.go" ||
		troupe.JoinText(served.Blocks) != "package a" {
		t.Errorf("the tool is served as %+v, %v", served, err)
	}
	scout.want("it takes 3 s", result(1, 0, "package a"))
	main.fails(troupe.FaultRetry, result(1, 0, strings.Replace(ended, "812 ms", "2 ms", 1)))
	main.want("Done.")
	p.same(5)
	if info, ok := p.Info("anthropic/m"); !ok || info.Window != 1000 {
		t.Errorf("what is known of the model is %+v", info)
	}
	if _, ok := p.Info("local/n"); ok || !p.Knows("local") || !p.Knows("anthropic") || p.Knows("anthro") {
		t.Error("what is known of the other models is not what was")
	}
}

func TestAnyOrder(t *testing.T) {
	t.Parallel()
	p := play(t, sample(), Place{})
	main, scout := p.main(), p.scout()
	scout.want("", user("look at /home/ada/porch/a.go", where))
	scout.want("it takes 3 s", result(1, 0, "package a"))
	main.want("Let me see.", user("fix it", where))
	main.fails(troupe.FaultRetry, result(1, 0, ended))
	main.want("Done.")
	p.same(5)
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	prompt := user("fix it", where)
	for name, c := range map[string]struct {
		run  func(p player)
		kind Kind
		say  []string
	}{
		"another prompt": {
			func(p player) { p.main().fails(troupe.FaultBad, user("mend it", where)) },
			Request, []string{"main sent something else for reply 1 (its 1st call) than when it was recorded, from " +
				"message 1 on", "-    fix it\n", "+    mend it\n"},
		},
		"another system prompt": {
			func(p player) {
				p.agent("main", "You are mine.", "Agent", "Bash", "Read").fails(troupe.FaultBad, prompt)
			},
			Request, []string{"before the conversation", "-  You are main.", "+  You are mine."},
		},
		"another tool": {
			func(p player) { p.agent("main", "You are main.", "Agent", "Read").fails(troupe.FaultBad, prompt) },
			Request, []string{"-tool: Bash"},
		},
		"another duration in a prompt": {
			func(p player) {
				p.main().want("Let me see.", prompt)
				p.scout().fails(troupe.FaultBad, user("look at /home/ada/porch/a.go for 3 s", where))
			},
			Request, []string{"main/Scout", "+    look at /home/ada/porch/a.go for 3 s"},
		},
		"another result": {
			func(p player) {
				main := p.main()
				main.want("Let me see.", prompt)
				main.fails(troupe.FaultBad, result(1, 0, strings.Replace(ended, "20 tokens", "21 tokens", 1)))
			},
			Request, []string{"main sent something else for reply 2 (its 2nd call)", "from message 3 on",
				"-      usage: 20 tokens", "+      usage: 21 tokens"},
		},
		"a message more": {
			func(p player) { p.main().fails(troupe.FaultBad, prompt, user("and hurry")) },
			Request, []string{"+message 2, user:", "+    and hurry"},
		},
		"a message less": {
			func(p player) { p.main().fails(troupe.FaultBad) },
			Request, []string{"-message 1, user:"},
		},
		"an agent more": {
			func(p player) { p.agent("main/Other", "").fails(troupe.FaultBad, prompt) },
			Extra, []string{"there is no agent main/Other in the recording"},
		},
		"a call more": {
			func(p player) {
				scout := p.scout()
				scout.want("", user("look at /home/ada/porch/a.go", where))
				scout.want("it takes 3 s", result(1, 0, "package a"))
				scout.fails(troupe.FaultBad, user("go on"))
			},
			Extra, []string{"main/Scout made a 3rd call (for reply 3); the recording has 2"},
		},
		"a call less": {
			func(p player) { p.main().want("Let me see.", prompt) },
			Missing, []string{"main/Scout never made its 1st call (for reply 1); it made 0, and the recording has 2"},
		},
		"a tool that never ran": {
			func(p player) {
				if _, err := p.Serve(p.t.Context(), "main", 2, 0); !errors.Is(err, ErrNotRecorded) {
					p.t.Errorf("it is served with %v", err)
				}
			},
			Result, []string{"main ran call 2.0; the recording has no result for it"},
		},
		// The child's difference is found later and stands earlier in the recording.
		"two": {
			func(p player) {
				main, scout := p.main(), p.scout()
				main.want("Let me see.", prompt)
				main.fails(troupe.FaultBad, result(1, 0, "failed"))
				scout.fails(troupe.FaultBad, user("look elsewhere", where))
			},
			Request, []string{"main/Scout sent something else"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := play(t, sample(), Place{})
			c.run(p)
			p.mismatch(c.kind, c.say...)
			if name == "a call less" {
				return
			}
			select {
			case <-p.Broken():
			default:
				t.Error("nobody was told that the runs differ")
			}
		})
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Lines[4].Tool.Denied = true
	p := play(t, r, Place{})
	if _, err := p.Serve(t.Context(), "main/Scout", 1, 0); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("it is served with %v", err)
	}
	p.mismatch(Result, "main/Scout was denied its call 1.0 of Read then", "would be allowed now")
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	r := sample()
	said := func(text string) *Said {
		return &Said{Blocks: []troupe.Block{troupe.Text(text)}, Stop: troupe.StopEndTurn}
	}
	summary := user("Summary: all is well.", "<system-reminder>\nNow: 2026-03-01T09:00:00Z.\n</system-reminder>")
	pending := []troupe.Message{{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("Done.")}}, user("more")}
	r.Lines = append(r.Lines,
		Line{Call: &Call{Agent: "main", Reply: 3, Model: "anthropic/m", Compact: true, Messages: pending,
			Failed: &Failed{Fault: troupe.FaultBad}}},
		Line{Call: &Call{Agent: "main", Reply: 3, Model: "anthropic/m", Compact: true, Clip: true, Messages: pending,
			Said: said("all is well")}},
		Line{Call: &Call{Agent: "main", Reply: 3, Model: "anthropic/m", Generation: 2, Anew: true,
			Messages: []troupe.Message{summary}, Said: said("More.")}},
	)
	begin := func() (player, *agent) {
		p := play(t, r, Place{})
		main, scout := p.main(), p.scout()
		scout.want("", user("look at /home/ada/porch/a.go", where))
		scout.want("it takes 3 s", result(1, 0, "package a"))
		main.want("Let me see.", user("fix it", where))
		main.fails(troupe.FaultRetry, result(1, 0, ended))
		main.want("Done.")
		return p, main
	}
	p, main := begin()
	kept := main.messages
	main.fails(troupe.FaultBad, user("more", "Write a summary."))
	main.messages = nil
	main.want("all is well", user("in short", "Write a summary."))
	main.who.Reply--
	main.messages, main.generate = nil, 2
	main.want("More.", user("Summary: all is well.", "<system-reminder>\nNow: "+
		"2027-04-05T06:07:08Z.\n</system-reminder>"))
	p.same(8)

	p, main = begin()
	main.messages = kept
	main.fails(troupe.FaultBad, user("less", "Write a summary."))
	p.mismatch(Request, "-    more", "+    less")
}
