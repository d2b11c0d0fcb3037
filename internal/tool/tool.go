// Package tool is the contract of the tools a model can call, and the strict decoding of
// their inputs. Tools live in subpackages, one per family; each tool's description for the
// model is a Markdown file beside its code. A Descriptor says all there is to know of a tool;
// the list of them is package all.
//
// There are two kinds. A Runner does work in the world and returns what it found. An intent
// (see package agent) only decodes its input into a value of the vocabulary; the session's
// driver carries it out and waits for the answer.
package tool

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
)

// Runner is a tool that works in the world. Implementations are safe for concurrent use
// and keep no state between calls: what a session has read is in its Env.
type Runner interface {
	// Prepare decodes the input strictly and says what the call would do. It reads and
	// changes nothing. An *InputError explains to the model what is wrong with its call.
	Prepare(env Env, input string) (Prepared, error)
}

// Prepared is one call, decoded and ready to be judged and run.
type Prepared interface {
	Access() troupe.Access
	// Run does the work once. An error means that the runtime itself failed; what went
	// wrong with the call belongs into an Output with IsError. After ctx is cancelled it
	// returns soon, leaving no process behind.
	Run(ctx context.Context, env Env) (Output, error)
}

// Env is what a call may know of the session it runs for.
type Env struct {
	Cwd     string           // absolute; relative paths are taken from here
	Session troupe.SessionID // who calls
	Fork    bool             // forks are the default of calls that start agents
	// Service says what a program may touch that is started for the call and stays: for all of the tree if it is
	// shared, else for the session alone. It is nil before the call may run.
	Service Service
	// Seen returns the content hash (see Hash) that the session last read from or wrote
	// to a file, by absolute path.
	Seen func(path string) (hash string, ok bool)
	// OutputDir is a folder for output too large to return. It exists or can be made.
	OutputDir string
	// CallID names the call within its session, for files in OutputDir: "r3c0".
	CallID string
	// Hidden reports files that rules keep from being read: tools that walk folders leave
	// them out. It is nil if there are none.
	Hidden func(path string) bool
	// HiddenIn is Hidden for the entries of a folder that is not hidden, nor below anything
	// that is, by their names: it returns nil if none of them can be. Nil asks Hidden.
	HiddenIn func(folder string) func(name string) bool
	// Mask takes secrets out of text before it is kept in OutputDir or Log; nil if there are none.
	// What is returned is masked by the caller.
	Mask func(string) string
	// Environ is the environment of started commands.
	Environ []string
	// Keep stores the content that a file is about to lose, so that the change can be undone,
	// and returns its hash (see Hash); nil if nobody keeps it.
	Keep func(content []byte) (hash string, err error)
	// Check says why a file may not hold a content, nil if it may. It is asked before anything is written; nil: every
	// content is fine.
	Check func(path string, content []byte) error
	// Absent is what a Lander said of its file before it ran; false if that is not known.
	Absent bool
	// Kept is what was stored under a hash. It is set for a Lander, and nil if nobody keeps it.
	Kept func(hash string) (content []byte, err error)
	// Confine is what a command that is started may touch; nil: nothing but its user's own
	// permissions confine it.
	Confine *troupe.Confinement
	// Ask has a small model answer a question about a text that a tool found; what it cost is
	// on the session's bill. It is nil if there is none.
	Ask func(ctx context.Context, question, text string) (answer string, err error)
	// Question puts questions of a server to a person, while the call runs. It is nil where the call cannot ask.
	Question func(ctx context.Context, server string, list []troupe.Question) (troupe.Answer, error)
	// Shows is called now and then with the end of what a command has printed so far, for people who
	// watch; it does not block. It is nil if nobody can.
	Shows func(tail string)
	// Stage is called when something keeps the call from running, and when that is over, for the same
	// people; it does not block. It is nil if nobody can.
	Stage func(troupe.Stage)
	// Renew, for a Monitor, is an env with what rules keep from being read by now; nil: nothing changes.
	Renew func(Env) Env
	// Line is called with each line that a Monitor tells its session; it does not block. It is nil for other calls.
	Line func(string)
	// Log is, for a call that runs in the background, the file its output goes to while it
	// runs; "" in the foreground.
	Log string
}

// Service is what a program that stays may touch, at most as far as the level says, and what its environment has
// besides. Without a confinement nothing here can confine it.
type Service func(ctx context.Context, level troupe.Level, shared bool) (*troupe.Confinement, []string, error)

// Lander is a Prepared that can find out whether it took effect, after the process that ran it has died
// without a word.
type Lander interface {
	// Absent reports whether the file that it is about to write is not there.
	Absent() bool
	// Landed returns the call's result if it certainly did. It changes nothing. Of env, Cwd, Seen,
	// Kept and Absent are set.
	Landed(env Env) (Output, bool)
}

// Backgrounder is a Prepared whose call may be asked to run in the background. Its Run is
// then called with Env.Log set, after the model has been told that it goes on; what Run
// returns is told when it ends.
type Backgrounder interface {
	// Background reports whether that was asked for, and a short name for what runs.
	Background() (name string, ok bool)
}

// Monitor is a Backgrounder whose call may be asked to tell its session, while it runs, what there is to tell: Env.Line
// is set then.
type Monitor interface {
	Monitors() bool
}

// Mover is a Prepared whose Run, once it is under way, may be asked to go on in the background.
type Mover interface {
	// Move has what Run prints go to the file log, what it has printed included, and gives it the time of
	// calls in the background. It returns a short name for what runs. An error says why it cannot be moved, and
	// nothing has changed: it goes on as it was, if it runs. Move may be called beside Run.
	Move(log string) (name string, err error)
}

// Queuer is a Prepared that takes turns with other calls, so that it may have to wait before it begins. A call that
// the log announces is announced when its turn has come: one that still waits has not begun.
type Queuer interface {
	// TakeTurn reports whether the call may begin. If wait is set it waits for that until ctx ends. Run waits no
	// more once the call has its turn.
	TakeTurn(ctx context.Context, env Env, wait bool) bool
	// LeaveTurn gives the turn to another call. Run may have done so before, and so may LeaveTurn.
	LeaveTurn()
}

// Output is what a call returns: to the model its blocks, to the record its evidence.
type Output struct {
	Blocks   []troupe.Block
	IsError  bool
	Evidence troupe.Evidence
	// Skill is the skill that the session uses from here on; nil: the call began none.
	Skill *troupe.SkillUse
	// Reported is what the call gives as the result of the run; nil: it gives none.
	Reported *troupe.Reported
}

// Errorf is an Output that tells the model what went wrong.
func Errorf(format string, args ...any) Output {
	return Output{Blocks: []troupe.Block{troupe.Text(fmt.Sprintf(format, args...))}, IsError: true}
}

// InputError says what is wrong with a call's input, in words that let the model mend it.
type InputError struct {
	Tool    string
	Problem string
}

func (e *InputError) Error() string { return e.Tool + ": " + e.Problem }
