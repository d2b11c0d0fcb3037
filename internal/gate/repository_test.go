package gate_test

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// A command that makes a repository is asked about once, with its folder, the folder in it that is
// git's, and the network if it needs that.
func TestCompletes(t *testing.T) {
	t.Parallel()
	const dir, git, head, net = "create /ws/x", "create /ws/x/.git", "create /ws/x/HEAD", "connect udp"
	for command, want := range map[string][]string{
		"git clone https://host/a/x.git":              {git, net},
		"git clone git@host:a/x":                      {git, net},
		"git clone --depth 1 -b main ssh://h/x x":     {git, net},
		"git clone ../a x":                            {git},
		"git clone file:///a/x":                       {git},
		"cd /ws && git -c a.b=c clone ./a:b x && ls":  {git},
		"git clone ../a x/deep/er":                    {"create /ws/x/deep/er", "create /ws/x/deep/er/.git"},
		"git clone ../a /ws/x/y":                      {"create /ws/x/y", "create /ws/x/y/.git"},
		"git init x":                                  {git},
		"git init --initial-branch main -q x":         {git},
		"git init --bare x":                           {head},
		"git clone --mirror https://host/x x":         {head, net},
		"git clone https://host/y":                    nil,
		"git status; mkdir x":                         nil,
		"echo git clone https://host/x; mkdir x":      nil,
		"git clone \"$url\" x":                        {git},
		"git clone \"$url\"":                          nil, // which of the two?
		"timeout 9 git clone https://host/a/x.git x ": {git, net},
		"git clone":                                   nil,
		"git clone (":                                 nil,
	} {
		var got []string
		for _, a := range gate.NewTools(nil).Completes(troupe.Access{Command: command},
			[]troupe.Attempt{{Op: troupe.OpCreate, Path: "/ws/log"}, {Op: troupe.OpCreate, Path: "/ws/x"}}) {
			got = append(got, string(a.Op)+" "+a.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q besides %s, want %q", command, got, dir, want)
		}
	}
}

// TestCompletesClone: in the workspace only git's own folder is wanted; the files that come with a clone belong to it.
func TestCompletesClone(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"git clone ../a x": "/ws/x", "git clone https://host/a/x.git": "/ws/x", "git init x": "",
		"git clone ../a y": "",
	} {
		got := gate.NewTools(nil).Completes(troupe.Access{Command: command},
			[]troupe.Attempt{{Op: troupe.OpCreate, Path: "/ws/x/.git"}})
		if has := slices.Contains(got, troupe.Attempt{Op: troupe.OpCreate, Path: "/ws/x"}); has != (want != "") {
			t.Errorf("%s completes %v, want the folder %q", command, got, want)
		}
	}
}
