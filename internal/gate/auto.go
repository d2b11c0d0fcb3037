package gate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// The model of mode auto stands where a person is asked, and nowhere else. What it may say yes to is worked out here,
// with the decision that asks: it is no row of the table, for it decides nothing by itself.

// auto reports whether a layer leaves to the model what it asks about. A layer that asks nothing has nothing to
// leave; one in any other mode wants a person.
func (v *view) auto(this verdict) bool {
	c, judged := v.call, v.mode.Judged && v.mode.OnAsk == troupe.Ask
	if c.isCommand() {
		// A command runs read-only without a question. What is asked about before it runs is a rule's, or would have
		// git stop half-way at protected files, or cannot be confined: a person's.
		workspace, possible := v.level(troupe.LevelWorkspace)
		return this.effect != troupe.Ask && (this.beyond != troupe.Ask ||
			judged && possible && workspace == troupe.LevelWorkspace && !v.doubtful())
	}
	return this.effect != troupe.Ask ||
		this.step == StepAsk && judged && !v.outside() && !c.protected && !c.unclear &&
			(c.inside || c.class == troupe.ClassRead) // as far as commands go in their sandbox
}

// strips reports whether the allow rules that leave open what is run do not count in this line: somebody plans, or a
// model judges what would be asked about, which such a rule would keep from it.
func strips(chain []Layer) bool {
	return slices.ContainsFunc(chain, func(l Layer) bool {
		return l.Mode == troupe.ModePlan || l.Mode == troupe.ModeAuto
	})
}

// AskedOf reports whether the model of mode auto may be asked about what a confined command wanted: all of it lies in
// the folder, unprotected, or is a host on the network. That is what a rule for the command gives, and no more.
func AskedOf(q *Query, cwd string, wants []troupe.Attempt) bool {
	var changes []troupe.Attempt
	for _, w := range wants {
		switch {
		case w.Changes() && (w.Kind == "" || w.Kind == troupe.KindFolder):
			changes = append(changes, w)
		case w.Op != troupe.OpConnect || !isHost(w.Path):
			return false // links, repositories and sockets are a person's: what lies behind one is not seen here
		}
	}
	_, ordinary := Foremost(q, cwd, changes, len(changes))
	return len(wants) > 0 && ordinary == len(changes)
}

// isHost reports whether what was connected to is a host and a port: no socket in the file system, and none with a name
// of its own ("@name").
func isHost(address string) bool {
	i := strings.LastIndexByte(address, ':')
	if i <= 0 || strings.ContainsAny(address[:1], "/@\x00") {
		return false
	}
	_, err := strconv.ParseUint(address[i+1:], 10, 16)
	return err == nil
}
