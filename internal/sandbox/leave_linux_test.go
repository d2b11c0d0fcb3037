//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A yes to one operation at a place is a yes to that one: what else a command does there is refused, and told.
func TestLeaveIsForOneOperation(t *testing.T) {
	t.Parallel()
	remove := func(path string) troupe.Attempt { return troupe.Attempt{Op: troupe.OpRemove, Path: path} }
	write := func(path string) troupe.Attempt { return troupe.Attempt{Op: troupe.OpWrite, Path: path} }
	create := func(path string, kind troupe.Made) troupe.Attempt {
		return troupe.Attempt{Op: troupe.OpCreate, Path: path, Kind: kind}
	}
	for name, tt := range map[string]struct {
		granted []troupe.Attempt
		command string
		// evil are places that must not come to be, or to hold "evil".
		evil []string
		told string
	}{
		"delete, then write anew": {[]troupe.Attempt{remove("rc")}, "rm rc; echo evil > rc", []string{"rc"},
			"create rc"},
		"delete, and write": {[]troupe.Attempt{remove("rc")}, "echo evil >> rc", []string{"rc"}, "write rc"},
		"delete, and change": {[]troupe.Attempt{remove("rc")}, "chmod 777 rc; mv new rc", []string{"rc"},
			"write rc"},
		"write, and delete": {[]troupe.Attempt{write("rc")}, "rm rc; ln -s evil rc", []string{"rc"}, "remove rc"},
		"a guarded name": {[]troupe.Attempt{remove("ws/HEAD")}, "rm ws/HEAD; echo evil > ws/HEAD",
			[]string{"ws/HEAD"}, "create ws/HEAD"},
		"a folder, as a link": {[]troupe.Attempt{create("bin", troupe.KindFolder)}, "ln -s evil bin", []string{"bin"},
			"make the link bin to evil"},
		"a folder, as a link from elsewhere": {[]troupe.Attempt{create("bin", troupe.KindFolder)},
			"ln -s evil $TMPDIR/l; mv $TMPDIR/l bin; cp -P $TMPDIR/l bin", []string{"bin"},
			"make the link bin to evil"},
		"a folder, as a file": {[]troupe.Attempt{create("bin", troupe.KindFolder)}, "echo evil > bin", []string{"bin"},
			"create bin"},
		"a file, as a folder": {[]troupe.Attempt{create("bin", "")}, "mkdir bin; touch bin/evil", []string{"bin/evil"},
			"make the folder bin and write below it"},
		"a file, as a pipe": {[]troupe.Attempt{create("bin", "")}, "mkfifo bin", []string{"bin"},
			"make the named pipe bin"},
		"a file, as another name": {[]troupe.Attempt{create("bin", "")}, "ln rc bin; echo evil > bin", []string{"rc"},
			"make bin another name of rc"},
		"another link": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "bin", Kind: troupe.KindLink, To: "rc"}},
			"ln -s evil bin", []string{"bin"}, "make the link bin to evil"},
		"a moved folder": {[]troupe.Attempt{create("data2", troupe.KindMoved),
			{Op: troupe.OpRemoveFolder, Path: "data"}},
			"mv data data2; echo evil > data2/f; rm data2/f; echo evil > data2/new; ln -s evil data",
			[]string{"data2/f", "data2/new", "data"}, "write data2/f"},
		"a new folder's protected names": {[]troupe.Attempt{create("bin", troupe.KindFolder)},
			"mkdir bin; echo evil > bin/HEAD", []string{"bin/HEAD"}, "create bin/HEAD"},
		"a folder that is there by now": {[]troupe.Attempt{create("data", troupe.KindFolder)},
			"mkdir data; echo evil > data/f; echo evil > data/new", []string{"data/f", "data/new"}, "write data/f"},
		"what no leave opens": {[]troupe.Attempt{write("keep"), remove("keep")}, "echo evil > keep; mv new keep; " +
			"rm keep; ln -s evil keep", []string{"keep"}, "write keep"},
		"what no leave opens, in a tree": {[]troupe.Attempt{create("bin", troupe.KindTree)},
			"mkdir bin; echo evil > bin/keep", []string{"bin/keep"}, "create bin/keep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := attackedRoom(t)
			base := filepath.Dir(r.ws)
			for _, file := range []string{"rc", "new", "data/f", "ws/HEAD", "keep"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(base, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(base, file), []byte("as it was"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.conf.Level = troupe.LevelGranted
			r.conf.Closed = func(path string) bool { return filepath.Base(path) == "keep" }
			for _, a := range tt.granted {
				a.Path = filepath.Join(base, a.Path)
				r.conf.Granted = append(r.conf.Granted, a)
			}
			out, _, w := r.brief("cd " + base + "; " + tt.command)
			for _, path := range tt.evil {
				target, _ := os.Readlink(filepath.Join(base, path))
				data, _ := os.ReadFile(filepath.Join(base, path))
				if strings.Contains(target+string(data), "evil") ||
					path == "bin" && exists(filepath.Join(base, path)) ||
					strings.HasSuffix(path, "evil") && exists(filepath.Join(base, path)) {
					t.Errorf("%s is %q\n%s", path, target+string(data), out)
				}
			}
			var told []string
			for _, a := range w.Attempts {
				told = append(told, strings.ReplaceAll(strings.TrimSpace(a.String()), base+"/", ""))
			}
			if !strings.Contains(strings.Join(told, "\n"), strings.Replace(tt.told, "remove", "delete or move", 1)) {
				t.Errorf("it was told of %q\n%s", told, out)
			}
		})
	}
}

// What everyday programs do with a place that they were let make goes without another question.
func TestLeaveIsEnough(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		granted []troupe.Attempt
		command string
	}{
		"a file": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "x"}},
			"echo a > x; echo b >> x; chmod 600 x; touch x; rm -f x; echo c > x; grep c x"},
		"a guarded one": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "ws/HEAD"}},
			"echo a > ws/HEAD; echo b >> ws/HEAD"},
		"from a temporary": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "x"}},
			"echo a > $TMPDIR/t; mv $TMPDIR/t x; echo b >> x"},
		"another content": {[]troupe.Attempt{{Op: troupe.OpWrite, Path: "rc"}},
			"echo a > rc; echo b >> rc; truncate -s 0 rc; chmod 600 rc; touch rc"},
		"made anew": {[]troupe.Attempt{{Op: troupe.OpWrite, Path: "rc"}, {Op: troupe.OpRemove, Path: "rc"}},
			"rm rc; echo a > rc; echo b > $TMPDIR/t; mv $TMPDIR/t rc"}, // which copies: see isLoose
		"a folder": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "d", Kind: troupe.KindFolder}},
			"mkdir d; mkdir d/e; echo a > d/e/f.tmp; mv d/e/f.tmp d/e/f; ln d/e/f d/g; ln -s e d/l; echo b > d/l/f; " +
				"rm -r d; mkdir d; touch d/x"},
		"a tree": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "d", Kind: troupe.KindTree}},
			"mkdir d; echo a > d/HEAD; mkdir d/e; mv d/HEAD d/e/HEAD; rm -r d"},
		"a tree in the workspace": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "ws/d", Kind: troupe.KindTree}},
			"mkdir ws/d; echo a > ws/d/HEAD"},
		"a link": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "l", Kind: troupe.KindLink, To: "rc"}},
			"ln -s rc l; rm l; ln -s rc $TMPDIR/l; mv $TMPDIR/l l"},
		"a moved folder": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "d", Kind: troupe.KindMoved},
			{Op: troupe.OpRemoveFolder, Path: "data"}}, "mv data d; cat d/f"},
		"a socket": {[]troupe.Attempt{{Op: troupe.OpCreate, Path: "s", Kind: troupe.KindSocket}},
			`python3 -c "import socket,os; socket.socket(socket.AF_UNIX).bind('s'); os.unlink('s')"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := attackedRoom(t)
			base := filepath.Dir(r.ws)
			for _, file := range []string{"rc", "data/f"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(base, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(base, file), []byte("as it was"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, a := range tt.granted {
				a.Path = filepath.Join(base, a.Path)
				r.conf.Granted = append(r.conf.Granted, a)
			}
			out, code, w := r.brief("set -e; cd " + base + "; " + tt.command)
			if code != 0 || len(w.Attempts) > 0 {
				t.Errorf("exit %d, attempted %s\n%s", code, attempts(w), out)
			}
		})
	}
}

// What one run of a command has made by leave is its own in the next run, and no other command's.
func TestLeaveLastsForItsCommand(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	path := filepath.Join(filepath.Dir(r.ws), "x")
	r.conf.Granted = []troupe.Attempt{{Op: troupe.OpCreate, Path: path}}
	for range 2 {
		if out, code, w := r.brief("echo a >> " + path); code != 0 || len(w.Attempts) > 0 {
			t.Errorf("exit %d, attempted %s\n%s", code, attempts(w), out)
		}
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code, w := r.brief("echo a >> " + path); code == 0 || attempts(w) != "write "+path {
		t.Errorf("another program's: exit %d, attempted %s\n%s", code, attempts(w), out)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	r.conf.Temp = r.home
	if out, code, w := r.brief("echo a >> " + path); code == 0 || attempts(w) != "write "+path {
		t.Errorf("another session's: exit %d, attempted %s\n%s", code, attempts(w), out)
	}
}

// Leave to reach an address is no leave to listen there; leave to listen there is.
func TestLeaveToReachIsNoneToListen(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for _, listens := range []bool{false, true} {
		r, _ := attackedRoom(t)
		port, _ := listener(t)
		at := []string{"127.0.0.2:" + port, "@" + r.ws}
		if r.conf.Network.Addresses = at; listens {
			r.conf.Network = troupe.Network{Listens: at}
		}
		out, _, w := r.brief(python(`
for family,at in ((socket.AF_INET,('127.0.0.2',` + port + `)),(socket.AF_UNIX,'\0` + r.ws + `')):
    s=socket.socket(family)
    try: s.bind(at); s.listen(); socket.socket(family).connect(at); print('LISTENS')
    except OSError as e: print(e.errno)
`))
		var told []string
		for _, a := range w.Attempts {
			told = append(told, a.String())
		}
		want, tells := "13\n13\nDONE\n", "listen on "+at[0]+", and reach that; listen on "+at[1]+", and reach that"
		if listens {
			want, tells = "LISTENS\nLISTENS\nDONE\n", ""
		}
		if out != want || strings.Join(told, "; ") != tells {
			t.Errorf("listens %v: it told of %q\n%s", listens, told, out)
		}
	}
}
