package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// keysOf are the answers that a request takes, by their keys; "" for a question in words.
func keysOf(r wire.Request) []string {
	switch {
	case r.Kind == troupe.RequestQuestion:
		return nil
	case r.Kind == troupe.RequestPlan:
		return []string{"y", "e", "n"}
	case r.Grant == "":
		return []string{"y", "n"}
	}
	keys := []string{"y", "s", "f", "a", "n"}
	return slices.DeleteFunc(keys, func(k string) bool { return k == "f" && r.Wider == "" || k == "a" && r.NoAlways })
}

// near is how long before its deadline a request says that it has one.
const near = 15 * time.Minute

// choices are what can be answered, a line each, and until when if that is near.
func (x *box) choices(r wire.Request) []string {
	var out []string
	if r.Kind == troupe.RequestQuestion {
		out = x.options(r)
	}
	for _, key := range keysOf(r) {
		line := key + "  " + x.choice(r, key)
		if x.explain {
			line += meaning(r, key)
		}
		out = append(out, line)
		if (key == "a" || key == "s" && r.NoAlways) && r.Tool == "Bash" {
			both := "s and a allow"
			if r.NoAlways {
				both = "s allows"
			}
			out = append(out, both+" it anything in "+x.opens(r)+" but at protected places, and any host that the "+
				"settings allow")
		}
	}
	if r.Mode != "" {
		out = append(out, fmt.Sprintf("/mode %s allows edits in the project without asking", r.Mode))
	}
	if x.explain {
		words := "Esc stops the main agent's turn. Other words are sent to the main agent, and the request stays open."
		if x.attached != "" {
			words = "Other words are sent to " + x.attached + ", and the request stays open."
		}
		out = append(out, "v  shows all of what is asked for; ? shows the request again", words)
	}
	if also := x.also(r); also != "" {
		out = append(out, also)
	}
	return out
}

// choice is what a key answers.
func (x *box) choice(r wire.Request, key string) string {
	if r.Kind == troupe.RequestPlan {
		return ofPlan(key)
	}
	switch key {
	case "y":
		if r.Kind == troupe.RequestBackground {
			return "yes, to these agents and to those that they start"
		}
		return "yes, once"
	case "s":
		return "yes, for this session: " + console.Visible(console.Line(r.Grant, 0))
	case "f":
		below := x.below(r)
		return "yes, for this session, for all files " + below + ": " + console.Visible(console.Line(r.Wider, 0))
	case "a":
		if r.File != "" {
			return "yes, always: kept in " + short(console.Visible(console.Line(r.File, 0)), "", x.home)
		}
		return "yes, always"
	}
	return "no; n and words says why"
}

// meaning says more of a key than the line that offers it.
func meaning(r wire.Request, key string) string {
	if r.Kind == troupe.RequestPlan {
		return "."
	}
	switch key {
	case "y":
		if r.Kind == troupe.RequestBackground {
			return "."
		}
		return ": what is shown above, and nothing else. The next call like it is asked about again."
	case "s":
		return ". This rule allows it to every agent of this session from now on, also when the session is resumed."
	case "f":
		return ". The rule holds as long as that of s."
	case "a":
		return ". The rule of s is written there, for every session in this folder. Take the line out to be asked " +
			"again."
	}
	return ". The agent is told, and goes on without it."
}

// below says which folder f is about: by its path from the folder that is worked in, if it lies there.
func (x *box) below(r wire.Request) string {
	folder := r.WiderFolder()
	if folder == "" {
		return "of the folder"
	}
	if r.Folder != folder {
		folder = short(folder, r.Folder, x.home)
	}
	return "in " + console.Visible(console.Line(folder, 0)) + " and below"
}

// opens names the folder that a rule for a command opens: that of whoever runs it, and never one beside that.
func (x *box) opens(r wire.Request) string {
	if r.Worktree == "" {
		return x.folder(r.Folder)
	}
	return "the folder of the agent that runs it, here " + x.folder(r.Worktree) + ","
}

// folder names the folder that is worked in.
func (x *box) folder(path string) string {
	if path == "" {
		return "the folder"
	}
	return short(console.Visible(console.Line(path, 0)), "", x.home)
}

// also is until when there is time, if that is near, and how many more wait.
func (x *box) also(r wire.Request) string {
	var also []string
	if left := r.Until.Sub(x.now); !r.Until.IsZero() && left < near {
		also = append(also, unanswered(r)+r.Until.In(x.local).Format("15:04")+" unless answered")
	}
	switch {
	case x.waiting == 1:
		also = append(also, "1 more request waits")
	case x.waiting > 1:
		also = append(also, fmt.Sprintf("%d more requests wait", x.waiting))
	}
	return strings.Join(also, " · ")
}
