// Package board holds the tools for the list of what is to be done: TaskCreate, TaskUpdate, TaskGet and TaskList.
// All are intents; the session's driver carries them out on the board of the tree.
package board

import (
	"embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// The tools' names.
const (
	create = "TaskCreate"
	update = "TaskUpdate"
	get    = "TaskGet"
	list   = "TaskList"
)

//go:embed *.md
var docs embed.FS

// Bounds in bytes, and of items in a list.
const (
	maxID          = 20
	maxSubject     = 200
	maxDescription = 8 << 10
	maxOwner       = 200
	maxLinks       = 100
	maxComment     = 1000
)

// Tools returns TaskCreate, TaskUpdate, TaskGet and TaskList. Changes go one after the other, as they stand in the
// reply.
func Tools() []tool.Descriptor {
	describe := func(name, file string, schedule troupe.Schedule, fields []tool.Field,
		decode func(string) (troupe.Intent, error)) tool.Descriptor {
		d := tool.Describe(troupe.ToolFacts{Name: name, Schedule: schedule, Holder: troupe.Members}, doc(file),
			fields)
		d.Intent = decode
		return d
	}
	return []tool.Descriptor{
		describe(create, "create.md", troupe.Alone, createFields(new(troupe.BoardCreate)), decodeCreate),
		describe(update, "update.md", troupe.Alone, updateFields(new(troupe.BoardUpdate)), decodeUpdate),
		describe(get, "get.md", troupe.Parallel, getFields(new(troupe.BoardQuery)), decodeGet),
		describe(list, "list.md", troupe.Parallel, nil, decodeList),
	}
}

func doc(name string) string {
	b, err := docs.ReadFile(name)
	if err != nil {
		panic("board: an embedded file: " + err.Error())
	}
	return string(b)
}

func createFields(in *troupe.BoardCreate) []tool.Field {
	return []tool.Field{
		{Name: "subject", String: &in.Subject, Doc: "what to do, short: Run the tests", Required: true, NotEmpty: true,
			MaxBytes: maxSubject},
		{Name: "description", String: &in.Description, Doc: "what it takes, and when it is done",
			MaxBytes: maxDescription},
		{Name: "activeForm", String: &in.ActiveForm, Doc: "shown meanwhile: Running the tests", MaxBytes: maxSubject},
	}
}

func decodeCreate(input string) (troupe.Intent, error) {
	var in troupe.BoardCreate
	if err := tool.Decode(create, input, createFields(&in)); err != nil {
		return nil, err
	}
	in.Subject, in.ActiveForm = oneLine(in.Subject), oneLine(in.ActiveForm)
	return in, nil
}

func updateFields(in *troupe.BoardUpdate) []tool.Field {
	var statuses []string
	for _, s := range troupe.BoardStatuses() {
		statuses = append(statuses, string(s))
	}
	return []tool.Field{
		{Name: "taskId", Also: "task_id", String: &in.Item, Required: true, NotEmpty: true, MaxBytes: maxID},
		{Name: "status", String: (*string)(&in.Status), Enum: statuses},
		{Name: "subject", String: &in.Subject, MaxBytes: maxSubject},
		{Name: "description", String: &in.Description, MaxBytes: maxDescription},
		{Name: "activeForm", String: &in.ActiveForm, MaxBytes: maxSubject},
		{Name: "owner", String: &in.Owner, Doc: "an agent's name", MaxBytes: maxOwner},
		{Name: "addBlocks", List: &in.AddBlocks, Doc: "tasks that wait for this one", MaxBytes: maxID},
		{Name: "addBlockedBy", List: &in.AddBlockedBy, Doc: "tasks that this one waits for", MaxBytes: maxID},
		{Name: "comment", String: &in.Comment, Doc: "one more, for TaskGet", MaxBytes: maxComment},
	}
}

func decodeUpdate(input string) (troupe.Intent, error) {
	var in troupe.BoardUpdate
	if err := tool.Decode(update, input, updateFields(&in)); err != nil {
		return nil, err
	}
	if len(in.AddBlocks)+len(in.AddBlockedBy) > maxLinks {
		return nil, &tool.InputError{Tool: update, Problem: "more than 100 tasks are named at once"}
	}
	in.Subject, in.ActiveForm, in.Owner = oneLine(in.Subject), oneLine(in.ActiveForm), oneLine(in.Owner)
	in.Comment = strings.TrimSpace(in.Comment)
	return in, nil
}

func getFields(in *troupe.BoardQuery) []tool.Field {
	return []tool.Field{{Name: "taskId", Also: "task_id", String: &in.Item, Required: true, NotEmpty: true,
		MaxBytes: maxID}}
}

func decodeGet(input string) (troupe.Intent, error) {
	var in troupe.BoardQuery
	if err := tool.Decode(get, input, getFields(&in)); err != nil {
		return nil, err
	}
	return in, nil
}

func decodeList(input string) (troupe.Intent, error) {
	if err := tool.Decode(list, input, nil); err != nil {
		return nil, err
	}
	return troupe.BoardQuery{}, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
