package carry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Parts that several kinds have. A name stands for a value without names in it, or a list of such; with braces for an
// object, or a list of objects. Behind a colon stands how a value is read: a time, a number from -1 on, the file of an
// output, JSON of any form.
const (
	usage = `usage{input output cache_read cache_write} cost`
	coord = `coord{reply call}`
	plain = `type text image{media_type data}`
	said  = `blocks{` + plain + ` call{reply index name input}}`
	words = `blocks{` + plain + `}`
	task  = `{id kind name title ` + coord +
		` run output:output background reads status started_at:time ended_at:time}`
	command = `commands{command exit_code:signed duration_ms tests{runner passed failed} sandbox}`
	proof   = `evidence{more_files unseen ` + command + ` denied{agent tool why}}`
	flags   = `flags{rule why}`
	skill   = `{name narrows{tools without}}`
	brief   = `brief{fork place instructions holds skills agents tools memory workspace team}`
	place   = `{kind name branch base:object tip:object commits files added removed run{tree:object tip:object files} conflicts unmerged not_merged gone}`
	outcome = `outcome` + ended
	ended   = `{kind task session run ` + coord + ` name type status cause limit result error ` + proof + ` tally{` +
		usage +
		` turns tool_uses} duration_ms silent_ms workspace` + place + ` output:output stopped structured:json ` +
		flags +
		` verified{session name verdict why text ` + command + ` ` + flags + `} unchecked team left earlier vocabulary}`
	item = `{id subject description active_form status owner by blocked_by comments{by text}}`
	wish = `create{subject description active_form} update{item subject description active_form owner status ` +
		`add_blocks add_blocked_by comment} query{item}`
	piece = `{id to from kind sent_at:time ` + words + ` ` + brief + ` uses` + skill + ` typed ended` + ended +
		` heard{task name output:output lines left} forked{title task` + task +
		` refused} message{type name summary re ` +
		`approve waited_ms streak chatter until:time} board{` + coord + ` by ` + wish + ` text failed} quiet}`
	role = `{type description prompt tools deferred model effort mode limits{max_turns max_tokens max_cost max_time} ` +
		`sandbox starts color omit_instructions initial_prompt background workspace merge coordinates workflow team ` +
		`output_schema:json writes verify fork notes vocabulary}`
)

// carried is what comes of each kind of event. A kind with nothing is left out of the log, and one that is not here
// makes the file one of a newer version.
func carried() map[troupe.Kind]string {
	return map[troupe.Kind]string{
		troupe.KindCreated: `parent ` + coord + ` name title depth profile` + role +
			` background fork{session generation seq}`,
		troupe.KindStarted: `run again`,
		troupe.KindEnded: outcome + ` cut{events reply tally{` + usage + ` turns tool_uses} agents` + task +
			`}`,
		troupe.KindQueued:        `behind why`,
		troupe.KindMailDelivered: `mail` + piece,
		troupe.KindCallSealed:    `reply generation model encoder refs chain because compact`,
		troupe.KindReplied:       `reply ` + said + ` stop model ` + usage + ` unpriced request_id duration_ms doubt`,
		troupe.KindModelFailed:   `reply attempt fault message retry_at:time partial ` + usage,
		troupe.KindModelChanged:  `model effort why`,
		troupe.KindToolStarted: `reply call name decision{effect step protected why} child task` + task +
			` wait{task until:time board}`,
		troupe.KindToolFinished: `name result{reply call ` + words + ` is_error} ` + proof +
			` duration_ms denied{effect step protected why} interrupted ` + outcome + ` mail task` + task + ` tasks` +
			task +
			` sent ` + usage + ` reported{object:json wrong} skill` + skill,
		troupe.KindCompacted: `generation ` + words + ` ` + brief + ` covers why model ` + usage +
			` unpriced duration_ms`,
		troupe.KindBudgetWarned:     `limit text`,
		troupe.KindBoardChanged:     `items` + item,
		troupe.KindTeamChanged:      `team{name description} members` + task,
		troupe.KindWorkspaceReady:   `base{commit:object}`,
		troupe.KindWorkspaceSaved:   `checkpoint{tree:object tip:object files} after problem`,
		troupe.KindWorkspaceChanged: `result` + place,
		troupe.KindVerifyStarted:    `reply task` + task + ` refused`,
		troupe.KindVerifyEnded:      `reply ` + outcome + ` mail`,
		troupe.KindSessionChanged:   `title`, // the name is the one that it has by now

		// These say what was allowed, asked, judged and set there, or what stood still.
		troupe.KindAuthorityChanged: "", troupe.KindToolJudged: "", troupe.KindRequestOpened: "",
		troupe.KindRequestAnswered: "", troupe.KindSettingsChanged: "", troupe.KindHookRan: "",
		troupe.KindAutoAsked:  "",
		troupe.KindAutoJudged: "", troupe.KindHandoffAsked: "", troupe.KindHandoffJudged: "",
		troupe.KindWorkspaceMerged: "", troupe.KindSlept: "", troupe.KindWoke: "", troupe.KindImported: "",
	}
}

// field is how a value is taken over: sub for an object, how for any other.
type field struct {
	sub map[string]*field
	how string
}

// parse reads what comes of an object.
func parse(spec string) *field {
	spec = strings.NewReplacer("{", " { ", "}", " } ").Replace(spec)
	var up []*field
	at, last := &field{sub: map[string]*field{}}, (*field)(nil)
	for _, word := range strings.Fields(spec) {
		switch word {
		case "{":
			last.sub = map[string]*field{}
			up, at = append(up, at), last
		case "}":
			up, at = up[:len(up)-1], up[len(up)-1]
		default:
			name, how, _ := strings.Cut(word, ":")
			last = &field{how: how}
			at.sub[name] = last
		}
	}
	return at
}

// filter takes values over.
type filter struct {
	table map[troupe.Kind]*field
	mail  *field
	now   time.Time
	// output is where a file of outputs is here, by where it was; "": it did not come.
	output func(there string) string
}

func newFilter(now time.Time, output func(there string) string) *filter {
	f := &filter{table: map[troupe.Kind]*field{}, now: now, output: output}
	f.mail = parse("mail" + piece).sub["mail"]
	for kind, spec := range carried() {
		f.table[kind] = nil
		if spec != "" {
			f.table[kind] = parse(spec)
		}
	}
	return f
}

// body is what comes of the body of an event; nil: nothing does.
func (f *filter) body(kind troupe.Kind, data json.RawMessage) (troupe.Body, error) {
	spec, known := f.table[kind]
	if !known {
		return nil, fmt.Errorf("event kind %q: %w", kind, troupe.ErrNewer)
	}
	if spec == nil {
		return nil, nil
	}
	out, err := f.of(data, spec)
	if err != nil {
		return nil, err
	}
	return troupe.DecodeBody(kind, out)
}

// of takes an object over.
func (f *filter) of(data []byte, spec *field) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	out, ok := f.value(v, spec)
	if _, object := v.(map[string]any); !ok || !object {
		return nil, fmt.Errorf("%.40q is no object", data)
	}
	return json.Marshal(out)
}

// value takes a value over; false: it does not come.
func (f *filter) value(v any, spec *field) (any, bool) {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, x := range v {
			if _, list := x.([]any); list && spec.how != "json" {
				continue
			}
			if y, ok := f.value(x, spec); ok {
				out = append(out, y)
			}
		}
		return out, true
	case map[string]any:
		if spec.how == "json" {
			return v, true
		}
		if spec.sub == nil {
			return nil, false
		}
		out := make(map[string]any, len(v))
		for name, sub := range spec.sub {
			if x, ok := v[name]; ok {
				if y, ok := f.value(x, sub); ok {
					out[name] = y
				}
			}
		}
		return out, true
	}
	if spec.sub != nil {
		return nil, false
	}
	return f.plain(v, spec.how)
}

// isObject reports whether it is the id of an object of git's: what looks otherwise could be an option of a command.
func isObject(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// mostNumber is more than anything counts to; so many of it as a file has events still add up.
const mostNumber = int64(9e12)

func (f *filter) plain(v any, how string) (any, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		switch {
		case how == "json":
			return v, true
		case err != nil:
			return nil, false
		case how == "signed":
			return max(-1, min(n, mostNumber)), true
		}
		return max(0, min(n, mostNumber)), true
	case string:
		switch how {
		case "time":
			at, err := time.Parse(time.RFC3339Nano, v)
			if err != nil || at.After(f.now) {
				at = f.now
			}
			return at, true
		case "output":
			v = f.output(v)
			return v, v != ""
		case "object":
			return v, isObject(v)
		}
		return v, true
	case bool:
		return v, true
	}
	return nil, false
}
