// Package task holds the tools with which a model deals with what works for it: SendMessage,
// TaskOutput and TaskStop. All are intents. They only decode a call into a value of the
// vocabulary; the session's driver carries it out, and knows which tasks there are.
package task

import (
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// The tools' names.
const (
	send   = "SendMessage"
	output = "TaskOutput"
	stop   = "TaskStop"
)

//go:embed *.md
var docs embed.FS

const (
	maxName      = 200     // bytes of a name or an id
	maxSummary   = 200     // bytes of words for people who watch
	usualTimeout = 30_000  // milliseconds
	maxTimeout   = 600_000 // a wait always has an end
)

// Tools returns SendMessage, TaskOutput and TaskStop: for agents that may have some of their own.
func Tools() []tool.Descriptor {
	describe := func(name, file string, schedule troupe.Schedule, fields []tool.Field,
		decode func(string) (troupe.Intent, error)) tool.Descriptor {
		d := tool.Describe(troupe.ToolFacts{Name: name, Schedule: schedule, Holder: troupe.Parents,
			Vocabulary: troupe.VocabularyAgents}, doc(file), fields)
		d.Intent = decode
		return d
	}
	return []tool.Descriptor{
		sends(),
		describe(output, "output.md", troupe.Parallel, new(outputInput).fields(), decodeOutput),
		describe(stop, "stop.md", troupe.Alone, stopFields(new(string)), decodeStop),
	}
}

// sends is SendMessage, which members of a team have too, and about whose receivers rules may say something.
func sends() tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{Name: send, Schedule: troupe.Alone, Holder: troupe.Correspondents,
		Argument: troupe.ReceiverArgument, Vocabulary: troupe.VocabularyAgents}, doc("send.md"),
		sendFields(new(troupe.SendMessage)))
	d.Intent = decodeSend
	return d
}

func doc(name string) string {
	b, err := docs.ReadFile(name)
	if err != nil {
		panic("task: an embedded file: " + err.Error())
	}
	return string(b)
}

func sendFields(in *troupe.SendMessage) []tool.Field {
	return []tool.Field{
		{Name: "to", String: &in.To, Doc: "a name or id, parent, lead, or * for the team", Required: true,
			NotEmpty: true, MaxBytes: maxName},
		{Name: "message", String: &in.Text, Required: true, NotEmpty: true},
		{Name: "summary", String: &in.Summary, Doc: "a few words for the user", MaxBytes: maxSummary},
		{Name: "cancel", Bool: &in.Cancel},
		{Name: "type", String: (*string)(&in.Type), Doc: "if it asks or answers",
			Enum: troupe.MessageTypes()},
		{Name: "request_id", String: (*string)(&in.Re), Doc: "the message that this answers", MaxBytes: maxName},
		{Name: "approve", Bool: &in.Approve},
	}
}

func decodeSend(input string) (troupe.Intent, error) {
	var in troupe.SendMessage
	if err := tool.Decode(send, input, sendFields(&in)); err != nil {
		return nil, err
	}
	in.To = strings.TrimSpace(in.To)
	switch {
	case in.Type == troupe.MessageShutdownResponse && in.Re == "":
		return nil, &tool.InputError{Tool: send, Problem: "`request_id` is required with a shutdown_response: it is " +
			"the id of the message that asked"}
	case in.Type != troupe.MessageWords && in.Cancel:
		return nil, &tool.InputError{Tool: send, Problem: "`cancel` stops an agent whatever it says; leave it or " +
			"`type` out"}
	}
	in.Summary = strings.Join(strings.Fields(in.Summary), " ") // it stands on one line
	return in, nil
}

type outputInput struct {
	task    string
	block   bool
	timeout int
}

func (in *outputInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "task_id", Also: "task", String: &in.task, MaxBytes: maxName},
		{Name: "block", Bool: &in.block, Doc: "wait for the end; default true"},
		{Name: "timeout", Int: &in.timeout, Doc: fmt.Sprintf("milliseconds to wait; default %d", usualTimeout),
			Max: maxTimeout},
	}
}

// decodeOutput: a list, and a wait of no time, do not wait.
func decodeOutput(input string) (troupe.Intent, error) {
	in := outputInput{block: true, timeout: usualTimeout}
	if err := tool.Decode(output, input, in.fields()); err != nil {
		return nil, err
	}
	q := troupe.TaskQuery{Task: strings.TrimSpace(in.task)}
	if q.Task != "" && in.block && in.timeout > 0 {
		q.Block, q.Timeout = true, time.Duration(in.timeout)*time.Millisecond
	}
	return q, nil
}

func stopFields(id *string) []tool.Field {
	return []tool.Field{{Name: "task_id", Also: "task", String: id, Required: true, NotEmpty: true, MaxBytes: maxName}}
}

// decodeStop also takes the name that the parameter had when only commands could be stopped.
func decodeStop(input string) (troupe.Intent, error) {
	var id, shell string
	fields := stopFields(&id)
	fields[0].Required = false
	fields = append(fields, tool.Field{Name: "shell_id", String: &shell, NotEmpty: true, MaxBytes: maxName})
	err := tool.Decode(stop, input, fields)
	switch {
	case err != nil:
		return nil, err
	case id != "" && shell != "":
		return nil, &tool.InputError{Tool: stop, Problem: "`task_id` is given twice"}
	case id+shell == "":
		return nil, &tool.InputError{Tool: stop, Problem: "`task_id` is required"}
	}
	return troupe.TaskStop{Task: strings.TrimSpace(id + shell)}, nil
}
