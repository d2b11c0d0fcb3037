package gate

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// The model of mode auto is asked about files, folders and hosts. A link, a repository, a moved folder and a socket are
// a person's, whatever they are called, and so is a change elsewhere or of what is protected: alone, and beside what is
// not.
func TestAskedOf(t *testing.T) {
	t.Parallel()
	file := troupe.Attempt{Op: troupe.OpCreate, Path: "/proj/a"}
	of := func(kind troupe.Made) troupe.Attempt {
		return troupe.Attempt{Op: troupe.OpCreate, Path: "/proj/b", Kind: kind, To: "a"}
	}
	connect := func(address string) troupe.Attempt { return troupe.Attempt{Op: troupe.OpConnect, Path: address} }
	for _, c := range []struct {
		name string
		want troupe.Attempt
		ok   bool
	}{
		{"a file", file, true},
		{"a folder", of(troupe.KindFolder), true},
		{"a host", connect("93.184.216.34:443"), true},
		{"a host by name", connect("example.com:443"), true},
		{"a host of version 6", connect("[::1]:80"), true},
		{"a file outside", troupe.Attempt{Op: troupe.OpCreate, Path: "/else/a"}, false},
		{"a protected file", troupe.Attempt{Op: troupe.OpCreate, Path: "/proj/.envrc"}, false},
		{"a link", of(troupe.KindLink), false},
		{"another name", of(troupe.KindName), false},
		{"a moved folder", of(troupe.KindMoved), false},
		{"a repository with all in it", of(troupe.KindTree), false},
		{"what makes a repository", of(troupe.KindRepository), false},
		{"a socket", of(troupe.KindSocket), false},
		{"a socket in the file system", connect("/run/docker.sock"), false},
		{"a socket with a name of its own", connect("@docker"), false},
		{"one that looks like a host", connect("@docker:80"), false},
		{"no address", connect(""), false},
		{"no port", connect("example.com"), false},
		{"to listen", troupe.Attempt{Op: troupe.OpListen, Path: "127.0.0.1:80"}, false},
	} {
		q := &Query{Protected: []string{"/proj/.envrc"}}
		if got := AskedOf(q, "/proj", []troupe.Attempt{c.want}); got != c.ok {
			t.Errorf("%s: %v", c.name, got)
		}
		if AskedOf(q, "/proj", []troupe.Attempt{file, c.want}) != c.ok {
			t.Errorf("a file and %s: %v", c.name, !c.ok)
		}
	}
}
