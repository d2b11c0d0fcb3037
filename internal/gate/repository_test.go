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
	const folder, tree, git, bare, net = "folder /ws/x", "tree /ws/x", "tree /ws/x/.git", "repository /ws/x", " udp"
	for command, want := range map[string][]string{
		"git clone https://host/a/x.git":              {tree, net},
		"git clone git@host:a/x":                      {tree, net},
		"git clone --depth 1 -b main ssh://h/x x":     {tree, net},
		"git clone ../a x":                            {tree},
		"git clone file:///a/x":                       {tree},
		"cd /ws && git -c a.b=c clone ./a:b x && ls":  {tree},
		"git clone ../a x/deep/er":                    {folder, "tree /ws/x/deep/er"},
		"git clone ../a /ws/x/y":                      {folder, "tree /ws/x/y"},
		"git init x":                                  {folder, git},
		"git init --initial-branch main -q x":         {folder, git},
		"git init --bare x":                           {folder, bare},
		"git clone --mirror https://host/x x":         {folder, bare, net},
		"git clone https://host/y":                    {folder},
		"git status; mkdir x":                         {folder},
		"echo git clone https://host/x; mkdir x":      {folder},
		"git clone \"$url\" x":                        {tree},
		"git clone \"$url\"":                          {folder}, // which of the two?
		"timeout 9 git clone https://host/a/x.git x ": {tree, net},
		"git clone":                                   {folder},
		"git clone (":                                 {folder},
	} {
		var got []string
		for _, a := range gate.NewTools(nil).Completes(troupe.Access{Command: command},
			[]troupe.Attempt{{Op: troupe.OpCreate, Path: "/ws/log"},
				{Op: troupe.OpCreate, Path: "/ws/x", Kind: troupe.KindFolder}}) {
			if a.Path != "/ws/log" {
				got = append(got, string(a.Kind)+" "+a.Path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
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
			[]troupe.Attempt{gate.Whole(troupe.Attempt{Op: troupe.OpCreate, Path: "/ws/x/.git",
				Kind: troupe.KindFolder})})
		if has := slices.Contains(got, troupe.Attempt{Op: troupe.OpCreate, Path: "/ws/x",
			Kind: troupe.KindTree}); has != (want != "") {
			t.Errorf("%s completes %v, want the folder %q", command, got, want)
		}
	}
}
