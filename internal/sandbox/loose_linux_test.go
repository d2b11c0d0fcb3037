//go:build amd64 || arm64

package sandbox

import (
	"strings"
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
