package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Act is one thing that a user of a server did, or tried to with the right to it.
type Act struct {
	ID    string       `json:"id" doc:"For the next page: after"`
	At    time.Time    `json:"at"`
	By    string       `json:"by" doc:"The name of the user"`
	Right troupe.Right `json:"right,omitempty"`
	Token string       `json:"token,omitempty" doc:"The id of the token"`
	Verb  string       `json:"verb" doc:"The operation, as the description of the API names it"`
	About string       `json:"about,omitempty" doc:"The session, request, user or folder that it is about"`
	// Session is which one was meant, whatever it was called.
	Session troupe.SessionID `json:"session,omitempty" doc:"The session that it is about, by its id"`

	With string `json:"with,omitempty" doc:"What it was asked to do, without what was said to agents"`
	// Outcome is empty while it is under way, and where its process was killed in it.
	Outcome string `json:"outcome,omitempty" enum:"done,failed" doc:"Absent: it is under way, or its process was ended in it"`
	Problem string `json:"problem,omitempty"`
	// Times is of what was refused, and so changed nothing.
	Times int `json:"times,omitempty" doc:"How often the user was refused this with this token, within a minute; the others are not listed"`
}

// Outcomes of acts.
const (
	ActDone   = "done"
	ActFailed = "failed"
)

// ActQuery asks for acts, the newest first.
type ActQuery struct {
	By    string
	About string
	After string // the last of the page before
	Limit int    // 0: all
}

// Told says of what is sent with a verb what it is about, and what is asked. What is said to agents, and what may be a
// secret, is not among it: only fields with these names are.
func Told(in any) (about, with string) {
	abouts := strings.Fields("ID Request Name Worker Where Resume Cwd Folder Server")
	withs := strings.Fields("Right Projects Remove Invite Mode Model Allow Deny Always Session Now Tree Cancel " +
		"WithinMS End " +
		"Trust " +
		"Rename Title Archive Unarchive " +
		"Branch Kind Scope Action Enable Disable Force Take Repo Ref Push PullRequest Base NewSecret")
	var parts []string
	found := map[string]string{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return
		}
		for i := range v.NumField() {
			f, x := v.Type().Field(i), v.Field(i)
			switch {
			case !f.IsExported() || x.IsZero():
			case x.Kind() == reflect.String && slices.Contains(abouts, f.Name):
				if found[f.Name] == "" {
					found[f.Name] = x.String()
				}
			case slices.Contains(withs, f.Name) && x.Kind() == reflect.Bool:
				parts = append(parts, strings.ToLower(f.Name))
			case slices.Contains(withs, f.Name): // a text, a number, or a list of rules
				parts = append(parts, fmt.Sprintf("%s=%v", strings.ToLower(f.Name), x))
			case x.Kind() == reflect.Struct || x.Kind() == reflect.Pointer:
				walk(x)
			}
		}
	}
	walk(reflect.ValueOf(in))
	for _, name := range abouts {
		if about = found[name]; about != "" {
			break
		}
	}
	return Cut(about), Cut(strings.Join(parts, " "))
}

// Cut is a text of at most 500 bytes: what an act keeps of any.
func Cut(s string) string {
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return s
}
