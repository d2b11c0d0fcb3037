package sandbox

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestChores(t *testing.T) {
	t.Parallel()
	const home = "/home/u"
	for _, c := range []struct {
		exe, args string
		op        troupe.AttemptOp
		path      string
		want      bool
	}{
		{"/usr/bin/git", "git diff", troupe.OpCreate, "/p/.git/index.lock", true},
		{"/usr/bin/git", "git -C x -c a=b --git-dir .git --no-pager diff HEAD", troupe.OpCreate, "/p/.git/index.lock",
			true},
		{"/usr/bin/git", "git -C diff add .", troupe.OpCreate, "/p/.git/index.lock", false},
		{"/usr/bin/git", "git -c diff", troupe.OpCreate, "/p/.git/index.lock", false},
		{"/usr/bin/git", "git --exec-path=/x status", troupe.OpCreate, "/p/.git/index.lock", true},
		{"/usr/bin/git", "git", troupe.OpCreate, "/p/.git/index.lock", false},
		{"/usr/bin/git", "", troupe.OpCreate, "/p/.git/index.lock", false},
		{"/usr/bin/git", "git diff", troupe.OpRemove, "/p/.git/index.lock", false},
		{"/usr/bin/git", "git diff", troupe.OpCreate, "/p/.git/index", false},
		{"/usr/bin/git", "git add .", troupe.OpWrite, "/p/.git/objects/37/d7e734864bd350186d5b907e57928a91cf2244",
			true},
		{"/usr/bin/git", "git add .", troupe.OpWrite, "/p/.git/objects/pack/pack-1.pack", true},
		{"/usr/bin/git", "git add .", troupe.OpCreate, "/p/.git/objects/37/d7e734864bd350186d5b907e57928a91cf2244",
			false},
		{"/usr/bin/git", "git add .", troupe.OpRemove, "/p/.git/objects/37/d7e734864bd350186d5b907e57928a91cf2244",
			false},
		{"/usr/bin/git", "git add .", troupe.OpWrite, "/p/.git/objects/info/alternates", false},
		{"/usr/bin/git", "git add .", troupe.OpWrite, "/p/objects/37/Main.java", false},
		{"/usr/bin/python3", "git add .", troupe.OpWrite, "/p/.git/objects/pack/pack-1.pack", false},
		{"/usr/bin/git-lfs", "git diff", troupe.OpCreate, "/p/.git/index.lock", false},
		{"/opt/py/bin/python3.12", "python3 x.py", troupe.OpCreate, "/p/__pycache__/x.pyc.1", true},
		{"/opt/py/bin/python3.12", "python3 x.py", troupe.OpWrite, "/p/__pycache__", true},
		{"/opt/py/bin/python3.12", "python3 x.py", troupe.OpRemove, "/p/__pycache__", false},
		{"/opt/py/bin/python3.12", "python3 -m py_compile x.py", troupe.OpCreate, "/p/__pycache__", false},
		{"/opt/py/bin/python3.12", "python3 x.py", troupe.OpCreate, "/p/my__pycache__/x", false},
		{"/opt/py/bin/python3.12", "python3", troupe.OpWrite, home + "/.python_history", true},
		{"/opt/py/bin/python3.12", "python3", troupe.OpWrite, "/p/.python_history", false},
		{"/usr/local/go/bin/go", "go list", troupe.OpCreate, home + "/go/pkg", true},
		{"/usr/local/go/bin/go", "go list", troupe.OpCreate, home + "/go/bin", false},
		{"/usr/local/go/bin/go", "go list", troupe.OpCreate, "/p/go", false},
		{"/usr/local/go/pkg/tool/linux_amd64/compile", "compile", troupe.OpCreate, home + "/.config", true},
		{"/c/go-build/b0/b01ffe-d/nm", "nm x", troupe.OpCreate, home + "/.config/go/telemetry/local/nm.count", true},
		{"/c/go-build/b0/b01ffe-d/nm", "nm x", troupe.OpCreate, home + "/.config/go/env", false},
		{"/p/b0/nm", "nm x", troupe.OpCreate, home + "/.config/go/telemetry/local/nm.count", false},
		{"/usr/local/go/pkg/tool/compile", "compile", troupe.OpCreate, home + "/.config", false},
		{"/usr/local/go/bin/go", "go env -w A=b", troupe.OpCreate, home + "/.config", false},
		{"/usr/local/go/bin/go", "go env GOPATH", troupe.OpCreate, home + "/.config", true},
		{"/usr/local/go/bin/go", "go vet", troupe.OpWrite, "/srv/config/go/telemetry/local/x.count", true},
		{"/usr/bin/node", "npm ls", troupe.OpCreate, home + "/.npm/_logs/x", true},
		{"/usr/bin/node", "npm ls", troupe.OpCreate, home + "/.npm/_cacache/x", false},
		{"/usr/bin/java", "java -version", troupe.OpRemove, "/tmp/hsperfdata_u/1", true},
		{"/usr/bin/java", "java -version", troupe.OpCreate, "/tmp/hsperfdata_u/1/2", false},
		{"/usr/bin/java", "java -version", troupe.OpConnect, "/tmp/hsperfdata_u/1", false},
		{"/usr/bin/man", "man ls", troupe.OpCreate, "/var/cache/man/de/cat1/x", true},
		{"/usr/bin/rm", "rm diff", troupe.OpCreate, "/p/.git/index.lock", false},
		{"", "git diff", troupe.OpCreate, "/p/.git/index.lock", false},
	} {
		if got := (tool{exe: c.exe, home: home, args: strings.Fields(c.args)}).does(c.op, c.path); got != c.want {
			t.Errorf("%s (%s): %s %s: %v", c.exe, c.args, c.op, c.path, got)
		}
	}
	if (tool{exe: "/usr/bin/node"}).does(troupe.OpCreate, "/.npm") {
		t.Error("a home of nobody")
	}
}
