package troupe

import (
	"path"
	"strings"
)

// Level is how far the kernel confines a command. The zero value means that nothing was
// decided; it confines like LevelReadOnly.
type Level string

// Levels, the closest first.
const (
	// LevelReadOnly: it reads and computes. It writes its own temporary folder and the build
	// caches that were named, and reaches nobody.
	LevelReadOnly Level = "read-only"
	// LevelGranted: besides it changes and reaches what was granted for this one run, and nothing
	// else. No machine offers it and no rule gives it: it is what an answer gives.
	LevelGranted Level = "granted"
	// LevelWorkspace: it also writes the session's folder, without what is protected there,
	// and reaches what its Network says.
	LevelWorkspace Level = "workspace"
	// LevelNone: nothing but its user's own permissions confine it.
	LevelNone Level = "none"
)

// Meet is the closer of two levels.
func (l Level) Meet(o Level) Level {
	if l.openness() <= o.openness() {
		return l.known()
	}
	return o.known()
}

func (l Level) openness() int {
	switch l {
	case LevelGranted:
		return 1
	case LevelWorkspace:
		return 2
	case LevelNone:
		return 3
	default:
		return 0
	}
}

func (l Level) known() Level {
	if l.openness() == 0 {
		return LevelReadOnly
	}
	return l
}

// Confinement is everything one command may touch. All paths are absolute and cleaned; a
// folder stands for all below it. What is not named may be read and not written, unless Readable says what may be read.
type Confinement struct {
	Level Level `json:"level"`
	// Writable are folders and files that may be written: the session's folder for LevelWorkspace.
	Writable []string `json:"writable,omitempty"`
	// Readable are the files and folders that may be read, besides those that may be written; and of processes those of
	// the command alone can be seen. nil: anything may be read, and all processes can be seen.
	Readable []string `json:"readable,omitempty"`
	// Named are names, as they were written, by which what may be read is found, and folders that are there though
	// nothing of them may be read. Where the kernel can, a command with Readable finds no other names.
	Named []string `json:"named,omitempty"`
	// Granted are the changes that were shown to a person and allowed for this run. Each is one operation at the
	// place that was shown, and gives no other (see Attempt.Covers). One that a link leads away from by now opens
	// nothing, nor does leave to make what is there by now. What the run makes is its own, with all below.
	Granted []Attempt `json:"granted,omitempty"`
	// Fixed are names, as they were written, by which folders that may be written are found. A command cannot
	// remove, rename or replace them, nor a folder or link that leads to them, though it may write
	// where they lie: it would choose what others may write. Folders that are writable are fixed anyway.
	Fixed []string `json:"fixed,omitempty"`
	// Scratch are folders that may be written and in which nothing is guarded: build caches.
	Scratch []string `json:"scratch,omitempty"`
	// Scratchpad is the one of the writable folders in which nothing is guarded, "" if there is none: more agents write
	// it than write the others. So no file has a name there and one elsewhere, and no link elsewhere leads there.
	Scratchpad string `json:"scratchpad,omitempty"`
	// Temp is a folder of the session's own, writable, set as TMPDIR. It exists.
	Temp string `json:"temp,omitempty"`
	// Guarded says why a path that would be made, changed or removed stays as it is even below
	// Writable, "" if nothing keeps it; nil: nothing is kept. It is asked about paths that are
	// absolute and resolved, whether they exist or not, by many goroutines at once, and quickly:
	// once for each change.
	Guarded func(path string) (why string) `json:"-"`
	// Closed reports whether no leave opens a path; nil: none is.
	Closed func(path string) bool `json:"-"`
	// Leads reports whether something guarded could lie below a path, for what its last name says:
	// ".github" where ".github/workflows" is guarded. A folder may be made there, empty; nothing
	// may be moved or linked there. nil: no.
	Leads func(path string) bool `json:"-"`
	// Repository is the folder of git in which a path lies, "" if it lies in none. A link there that leads out of it
	// or to what is guarded would have git, when a person next runs it, write there. nil: there is none.
	Repository func(path string) (dir string) `json:"-"`
	// Replaces reports whether a guarded file may get another content, in one piece and under its own name, for
	// what it held and what it is to hold; nil: no. It is asked where calls are watched. No content: the file is not
	// there before, or is not to be there after.
	Replaces func(path string, was, is []byte) bool `json:"-"`
	// Starts lists the files that a program which is about to be started would change one after the other, as far as
	// that can be told before: git would go on when it is refused one, and leave the work tree half there. It is asked
	// where calls are watched; input is a file that the program reads, "" if it reads none. nil: nobody knows.
	Starts func(dir, input string, argv, environ []string) []string `json:"-"`
	// Protected are those of the guarded paths that have a fixed place, whether they exist or
	// not, and those that exist: what can be kept where no listener asks Guarded.
	Protected []string `json:"protected,omitempty"`
	// Hidden cannot be read (nor listed, if a folder), nor written.
	Hidden []string `json:"hidden,omitempty"`
	// Rooms are folders of which the command sees one folder alone, whatever comes to lie beside that. They are there
	// where the kernel has mount namespaces, and nowhere else.
	Rooms   []Room  `json:"rooms,omitempty"`
	Network Network `json:"network"`
	Bounds  Bounds  `json:"bounds"`
}

// Room is a folder, and the one in it that is seen. Both exist.
type Room struct {
	Folder string `json:"folder"`
	Own    string `json:"own"`
}

// Network is what a command may reach. The zero value is nobody.
type Network struct {
	// Project is whose command it is. Where the kernel can, it is told of the sockets of commands of its project, and
	// of no others. "": of all that are on the machine.
	Project string `json:"project,omitempty"`
	// All: everybody, as without a sandbox.
	All bool `json:"all,omitempty"`
	// Addresses may be connected to: what was granted, as attempts name it (see Attempt.Path). Listens are those
	// that may be listened at.
	Addresses []string `json:"addresses,omitempty"`
	Listens   []string `json:"listens,omitempty"`
	// Ports are TCP ports that may be connected to, on any host.
	Ports []int `json:"ports,omitempty"`
	// Proxy is the port on loopback of the proxy that lets the allowed hosts through; it is
	// the only thing that may be reached then. 0: none.
	Proxy int `json:"proxy,omitempty"`
}

// Bounds keep one command from taking the whole machine. Zero means no limit.
type Bounds struct {
	Processes int   `json:"processes,omitempty"` // of this user, as the kernel counts them
	Memory    int64 `json:"memory,omitempty"`    // bytes of address space of each process
	FileSize  int64 `json:"file_size,omitempty"` // bytes of each file written
}

// Attempt is one thing that a confined command tried and was not let: what a person is
// asked about.
type Attempt struct {
	Op AttemptOp `json:"op"`
	// Path is absolute and resolved as far as it exists; for OpConnect and OpListen it is an address:
	// "93.184.216.34:443", "[::1]:80", or the path of a socket.
	Path string `json:"path"`
	// Kind is what OpCreate makes. Of a link, To is what it says; of another name, the file.
	Kind Made   `json:"kind,omitempty"`
	To   string `json:"to,omitempty"`
}

// Made is a kind of thing that is made.
type Made string

// Kinds of things that are made. The zero value is a plain file.
const (
	KindFolder Made = "folder" // empty, and then the maker's with all that is not protected below
	KindMoved  Made = "moved"  // a folder that was elsewhere, with what is in it
	KindLink   Made = "link"   // symbolic
	KindName   Made = "name"   // another name of a file
	KindSocket Made = "socket"
	KindPipe   Made = "pipe"
	// KindTree is a folder whose maker writes below it what is protected too, as git does in a new repository.
	KindTree Made = "tree"
	// KindRepository is no thing: a folder becomes a repository of git by what is made in it.
	KindRepository Made = "repository"
)

// Covers reports whether leave for an attempt is leave for another one: the same, or less of it.
func (a Attempt) Covers(o Attempt) bool {
	if a.Kind == KindTree && o.Kind == KindFolder {
		o.Kind = KindTree
	}
	if a.Op == OpListen && o.Op == OpConnect {
		o.Op = OpListen // who listens there reaches itself, as it was shown
	}
	return a == o
}

// Beside is the folder that leave to make a file in it opens too, if it is new: the one of a work tree or of a
// submodule in a repository's own folder.
func (a Attempt) Beside() (folder string, ok bool) {
	if a.Op != OpCreate || a.Kind != "" && a.Kind != KindFolder ||
		!strings.Contains(a.Path, "/.git/worktrees/") && !strings.Contains(a.Path, "/.git/modules/") {
		return "", false
	}
	return path.Dir(a.Path), true
}

// AnyHost reports whether an attempt can only be let by opening the network: it looked up a name,
// which is to say that it wants whoever has it.
func (a Attempt) AnyHost() bool { return a.Op == OpConnect && (a.Path == NetUDP || a.Path == NetICMP) }

// What an attempt to use the network says that has no address yet.
const (
	NetUDP  = "udp"
	NetICMP = "icmp"
)

// AttemptOp is a kind of attempt.
type AttemptOp string

// Kinds of attempt.
const (
	OpWrite  AttemptOp = "write"  // open an existing file for writing, or change what it is
	OpCreate AttemptOp = "create" // a file, folder, link or device
	OpRemove AttemptOp = "remove" // a file or an empty folder, or rename it away
	// OpRemoveFolder: a folder with all that is in it, or rename it away.
	OpRemoveFolder AttemptOp = "remove-folder"
	OpConnect      AttemptOp = "connect" // reach somebody
	OpListen       AttemptOp = "listen"  // be reached, and reach that
	// OpUnseen: the command failed where nobody could see what it was kept from, if anything.
	OpUnseen AttemptOp = "unseen"
	// OpSetID: give a file the set-user-ID or set-group-ID bit. No answer allows it.
	OpSetID AttemptOp = "set-user-ID"
)

// Changes reports whether an attempt is one to change files.
func (a Attempt) Changes() bool { return !a.Network() && a.Op != OpUnseen }

// Leave reports whether an answer can allow it.
func (a Attempt) Leave() bool { return a.Op != OpSetID }

// Network reports whether it is one to reach somebody, or to be reached.
func (a Attempt) Network() bool { return a.Op == OpConnect || a.Op == OpListen }

// String says an attempt in words for people: "create /x".
func (a Attempt) String() string {
	switch {
	case a.AnyHost():
		return "reach any host (it looked up a name, or sent a ping)"
	case a.Network() && strings.HasSuffix(a.Path, ":0"):
		return "listen on a port of this machine"
	case a.Op == OpListen:
		return a.Op.Verb() + " " + a.Path + ", and reach that"
	case a.Op == OpRemoveFolder:
		return a.Op.Verb() + " " + a.Path + ", a folder with all in it"
	case a.Op == OpCreate && a.Kind != "":
		return a.makes() + a.beside()
	default:
		return strings.TrimSpace(a.Op.Verb()+" "+a.Path) + a.beside()
	}
}

// makes says what is made, and what it is leave for.
func (a Attempt) makes() string {
	switch a.Kind {
	case KindFolder:
		return "make the folder " + a.Path + " and write below it"
	case KindTree:
		return "make the folder " + a.Path + " and write below it, hooks and settings too"
	case KindRepository:
		return "make " + a.Path + " a repository, with its hooks and settings"
	case KindMoved:
		return "move a folder to " + a.Path
	case KindLink:
		return "make the link " + a.Path + " to " + a.To
	case KindName:
		return "make " + a.Path + " another name of " + a.To
	case KindSocket:
		return "make the socket " + a.Path
	case KindPipe:
		return "make the named pipe " + a.Path
	default:
		return "create " + a.Path
	}
}

func (a Attempt) beside() string {
	if folder, ok := a.Beside(); ok {
		return " and the rest of " + folder + ", if that is new"
	}
	return ""
}

// Verb says what is attempted, before the place where it is.
func (o AttemptOp) Verb() string {
	switch o {
	case OpRemove, OpRemoveFolder:
		return "delete or move"
	case OpConnect:
		return "reach"
	case OpListen:
		return "listen on"
	case OpSetID:
		return "make set-user-ID or set-group-ID"
	case OpUnseen:
		return "do something that this kernel could not watch; it failed"
	default:
		return string(o)
	}
}

// Watched is what was seen of a confined command while it ran.
type Watched struct {
	// Attempts are in the order in which they were first seen, each once; More counts those
	// that were too many to keep.
	Attempts []Attempt `json:"attempts,omitempty"`
	More     int       `json:"more,omitempty"`
	// Touched: it had changed something that outlives it, within what it may, before its
	// first attempt. Else it can be run again as if it had never run.
	Touched bool `json:"touched,omitempty"`
	// Blind: this kernel cannot say what was attempted, nor what was changed.
	Blind bool `json:"blind,omitempty"`
	// Changed are the files that it changed where the listener changes them in its place, by their absolute paths: not
	// those in temporary folders, caches and repositories' own folders. MoreChanged counts those that are not listed.
	Changed     []FileChanged `json:"changed,omitempty"`
	MoreChanged int           `json:"more_changed,omitempty"`
	// Restored are protected paths that the command changed where the kernel could not keep it
	// from that; they are again as they were.
	Restored []string `json:"restored,omitempty"`
}
