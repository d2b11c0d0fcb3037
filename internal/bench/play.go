package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// The play: the main agent asks for all its children in one reply, each child reads three
// files in three turns and says so in a fourth, and then the main agent ends.
const (
	mainReplies  = 2
	childReplies = 4
	// idealReplies is how many replies stand one after the other however many agents there are.
	idealReplies = mainReplies + childReplies
	reads        = childReplies - 1
)

const (
	mainModel   = "anthropic/claude-sonnet-4-5"
	childPrefix = "You are reader "
)

// play answers as the model. It is called from many goroutines.
type play struct {
	n     int
	files []string
	// background has the main agent start its children in the background and end its turn;
	// their ends then cost it one more.
	background bool
	first      atomic.Int64 // when the first request came, in nanoseconds since 1970
	// asked: the children were asked for. Behind a summary the main agent's conversation begins anew, and
	// the ends of 2,000 children fill its model's window.
	asked atomic.Bool
	// child1 and child2 are when the first requests of the first two children came.
	child1, child2 atomic.Int64
}

// followed is the first byte that all children but one waited for, because what they begin with was cold and is worth
// it; 0 if they did not.
func (p *play) followed(firstByte time.Duration) time.Duration {
	if p.child2.Load()-p.child1.Load() < firstByte.Nanoseconds() {
		return 0
	}
	return firstByte
}

func (p *play) reply(r *modeltest.Request) modeltest.Reply {
	p.first.CompareAndSwap(0, time.Now().UnixNano())
	if strings.Contains(r.FirstText(), childPrefix) {
		return p.child(r.Turn)
	}
	if r.Turn > 1 || p.n == 0 || p.asked.Swap(true) {
		return modeltest.Text("All have read their files.")
	}
	calls := make([]modeltest.Call, p.n)
	for i := range calls {
		in := map[string]string{
			"description": fmt.Sprintf("Read part %d", i+1),
			"prompt": fmt.Sprintf("%s%d. Read the three files of your part and report what you found.",
				childPrefix, i+1),
			"subagent_type": "Explore",
		}
		if p.background {
			in["run_in_background"] = "true"
		}
		calls[i] = call("Agent", in)
	}
	return modeltest.Calls(calls...)
}

func (p *play) child(turn int) modeltest.Reply {
	if now := time.Now().UnixNano(); turn == 1 && !p.child1.CompareAndSwap(0, now) {
		p.child2.CompareAndSwap(0, now)
	}
	if turn > reads {
		return modeltest.Text("The three files hold what was expected of them.")
	}
	r := modeltest.Calls(call("Read", map[string]string{"file_path": p.files[turn-1]}))
	r.Text = "Next comes file " + filepath.Base(p.files[turn-1]) + "."
	return r
}

// monologue answers one agent that works alone for a number of turns.
type monologue struct {
	turns int
	files []string
	watch func(turn int) // sees every turn before it is answered
}

func (m *monologue) reply(r *modeltest.Request) modeltest.Reply {
	m.watch(r.Turn)
	if r.Turn >= m.turns {
		return modeltest.Text("That was all.")
	}
	return modeltest.Calls(call("Read", map[string]string{"file_path": m.files[r.Turn%len(m.files)]}))
}

func call(tool string, input map[string]string) modeltest.Call {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	return modeltest.Call{Name: tool, Input: string(b)}
}
