package shell

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Confine starts a program confined, as os.StartProcess starts one that is not. It is called
// on a thread that lives longer than the program.
type Confine func(c troupe.Confinement, bin string, argv []string, attr *os.ProcAttr) (Confined, error)

// Confined is a program that was started.
type Confined interface {
	Process() *os.Process
	// Done is called once, after it and all that it started have ended, and tells what was
	// seen of them.
	Done() troupe.Watched
}

// free is a program that nothing confines and nobody watches.
type free struct{ process *os.Process }

func (f free) Process() *os.Process { return f.process }
func (free) Done() troupe.Watched   { return troupe.Watched{} }

// confinedError says that a command was not run because it could not be confined, or not
// started confined.
type confinedError struct{ err error }

func (e *confinedError) Error() string { return e.err.Error() }
func (e *confinedError) Unwrap() error { return e.err }

// confine is how a command of this confinement is started; nil: as it is.
func (s *Shell) confine(c *troupe.Confinement) func(string, []string, *os.ProcAttr) (Confined, error) {
	if c == nil || c.Level == troupe.LevelNone {
		return nil
	}
	return func(bin string, argv []string, attr *os.ProcAttr) (Confined, error) {
		if s.options.Confine == nil {
			return nil, &confinedError{fmt.Errorf("nothing here can confine it to %s", c.Level.Meet(troupe.LevelNone))}
		}
		p, err := s.options.Confine(*c, bin, argv, attr)
		if err != nil {
			return nil, &confinedError{err}
		}
		return p, nil
	}
}

// advice is how to do without what was not let.
func advice(attempts []troupe.Attempt, cwd string) string {
	temporary := func(path string) bool {
		return strings.HasPrefix(path, "/tmp/") || strings.HasPrefix(path, "/var/tmp/")
	}
	if !temporary(cwd) && slices.ContainsFunc(attempts, func(a troupe.Attempt) bool {
		return !a.Network() && temporary(a.Path)
	}) {
		return " Its own folder for temporary files is $TMPDIR."
	}
	return ""
}

// untraced explains what LeakSanitizer says of itself in a sandbox, which lets no process look into another as a
// debugger does.
func untraced(w *troupe.Watched, output string) string {
	if w == nil || !strings.Contains(output, "LeakSanitizer has encountered a fatal error") {
		return ""
	}
	return "(The sandbox lets no process trace another, so LeakSanitizer cannot look for leaks here. " +
		"ASAN_OPTIONS=detect_leaks=0 runs everything else of AddressSanitizer.)"
}

const maxRefusals = 8 // that are told

// refusals is what the model is told about what was not let: a command may hide it, and what
// it prints then explains nothing.
func refusals(w *troupe.Watched, cwd string) string {
	if w == nil {
		return ""
	}
	var list []string
	for _, a := range w.Attempts[:min(len(w.Attempts), maxRefusals)] {
		list = append(list, fmt.Sprintf("%s %s", a.Op, clean([]byte(a.Path))))
	}
	if more := len(w.Attempts) - len(list) + w.More; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	var told []string
	if len(list) > 0 {
		told = append(told, "(The sandbox did not let it: "+strings.Join(list, "; ")+"."+advice(w.Attempts, cwd)+")")
	}
	if len(w.Restored) > 0 {
		told = append(told, "(It changed what is protected, which was put back: "+
			clean([]byte(strings.Join(w.Restored, "; ")))+".)")
	}
	return strings.Join(told, "\n")
}
