//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestLooseIsCopied: what lies where a command changes everything without the listener is not renamed or linked to
// where it is guarded. What was judged as a file could be a folder or a link by then.
func TestLooseIsCopied(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r, _ := attackedRoom(t)
	out, _, _ := r.run(python(`
import errno,os
t=os.environ['TMPDIR']+'/f'
open(t,'w').write('x')
for call in os.rename,os.link:
    try: call(t,'f'); print('MOVED')
    except OSError as e: print(errno.errorcode[e.errno])
`))
	if strings.Count(out, "EXDEV") != 2 {
		t.Error(out)
	}
}

// TestLooseChangesBetween: what lies in the temporary folder becomes another thing while it is judged as a file. It
// gets neither a guarded name that way nor one from which a link leads elsewhere.
func TestLooseChangesBetween(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call   string
		to     string
		change func(t *testing.T, file string)
		evil   string
	}{
		"a folder": {"rename", "held", func(t *testing.T, file string) {
			check(t, "make", os.Mkdir(file, 0o700))
			check(t, "write", os.WriteFile(filepath.Join(file, "hook"), nil, 0o600))
		}, "held/hook"},
		"a link": {"rename", "out", func(t *testing.T, file string) {
			check(t, "link", os.Symlink("../cache", file))
		}, "out"},
		"a link that gets another name": {"link", "out", func(t *testing.T, file string) {
			check(t, "link", os.Symlink("../cache", file))
		}, "out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := attackedRoom(t)
			file, guard, once := filepath.Join(r.temp, "f"), r.conf.Guarded, sync.Once{}
			r.conf.Guarded = func(path string) string {
				if path == filepath.Join(r.ws, tt.to) { // the place it goes to is judged
					once.Do(func() {
						check(t, "remove", os.Remove(file))
						tt.change(t, file)
					})
				}
				return guard(path)
			}
			out, _, _ := r.run(python(`
import errno,os
f=os.environ['TMPDIR']+'/f'
open(f,'w').close()
how={'follow_symlinks':False} if '` + tt.call + `'=='link' else {}
try: os.` + tt.call + `(f,'` + tt.to + `',**how); print('MOVED')
except OSError as e: print(errno.errorcode[e.errno])
`))
			if _, err := os.Lstat(filepath.Join(r.ws, tt.evil)); err == nil || !strings.Contains(out, "EXDEV") {
				t.Errorf("%s: %v\n%s", tt.evil, err, out)
			}
			if info, err := os.Lstat(file); err != nil || info.Mode().IsRegular() {
				t.Errorf("nothing has changed between: %v", err)
			}
		})
	}
}
