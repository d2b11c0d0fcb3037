package shell

import (
	"os"
)

// waitThenRun is a shell program that waits for a word on descriptor 3 and then becomes the
// command it was given. If whoever would give the word is gone, it is gone too.
const waitThenRun = `read -r _ <&3 || exit; exec "$@" 3<&-`

// hold wraps a command so that it does not begin before release(true): the guard has to know
// of it first. Were we killed in between, a command that had already begun could leave
// children that nobody ends. Where there is no sh, the command is not held.
func hold(argv []string, lookPath func(string) (string, error)) (wrapped []string, files []*os.File,
	release func(run bool), err error) {
	sh, err := lookPath("sh")
	if err != nil {
		return argv, nil, func(bool) {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	release = func(run bool) {
		_ = r.Close() // the command has its own
		if run {
			_, _ = w.WriteString("\n") // if it is gone already, its end says so
		}
		_ = w.Close()
	}
	return append([]string{sh, "-c", waitThenRun, "sh"}, argv...), []*os.File{r}, release, nil
}
