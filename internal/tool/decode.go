package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/tool/internal/jsonspan"
)

// maxInput is the most bytes a call's input may have. No model writes this much in one
// reply, so whatever is longer is a mistake, and is refused before any of it is parsed.
const maxInput = 2 << 20

// maxProblems bounds how many complaints one InputError lists.
const maxProblems = 5

// Field is one parameter of a tool. A list of them is the only description of an input:
// Decode follows it and Schema is written from it, so that what a model is told and what
// is accepted cannot drift apart.
type Field struct {
	Name string
	// Also is another name for the parameter that is understood but not advertised.
	Also string
	Doc  string

	// Exactly one of these is set. It receives the value; what it holds before is the
	// value of a parameter that was left out.
	String *string
	Int    *int
	Bool   *bool
	List   *[]string // of strings
	// Objects stands for a list of objects. It is called once for each, and returns the fields that this one is
	// read into; once more for the schema.
	Objects func() []Field
	// Group are the fields of an object, which is read as strictly as the input itself.
	Group []Field
	// Object receives an object as it is written, whatever is in it.
	Object *string

	Required bool
	NotEmpty bool     // String: "" is refused
	Enum     []string // String: the only values
	MaxBytes int      // String, and each of a List: its longest; 0 means no limit of its own
	Min, Max int      // Int: the range, Objects: how many; Max 0 means no upper end
}

// Decode reads a call's input into the places its fields point to. It is strict: whatever
// could mean two things is an *InputError that lists all it found, worded for the model.
// Only harmless slips pass: "5" for 5, "true" for true, null for a parameter left out.
func Decode(tool, input string, fields []Field) error {
	d := decoder{tool: tool, fields: fields, set: make([]bool, len(fields))}
	members, err := d.members(input)
	if err != nil {
		return err
	}
	d.take(input, members)
	if len(d.problems) == 0 {
		return nil
	}
	if n := len(d.problems) - maxProblems; n > 0 {
		d.problems = append(d.problems[:maxProblems], fmt.Sprintf("and %d more", n))
	}
	return &InputError{Tool: tool, Problem: strings.Join(d.problems, "; ")}
}

type decoder struct {
	tool     string
	fields   []Field
	set      []bool
	problems []string
}

func (d *decoder) problem(format string, args ...any) {
	d.problems = append(d.problems, fmt.Sprintf(format, args...))
}

// take reads the members of an object, and says which are missing.
func (d *decoder) take(text string, members []jsonspan.Member) {
	for _, m := range members {
		d.member(m.Name.Of(text), m.Value.Of(text))
	}
	for i, f := range d.fields {
		if f.Required && !d.set[i] {
			d.problem("`%s` is required", f.Name)
		}
	}
}

// members checks the input as a whole and takes it apart into its members.
func (d *decoder) members(input string) ([]jsonspan.Member, error) {
	fail := func(format string, args ...any) ([]jsonspan.Member, error) {
		return nil, &InputError{Tool: d.tool, Problem: fmt.Sprintf(format, args...)}
	}
	if len(input) > maxInput {
		return fail("the input has %s, the most is %s; do the work in smaller pieces", FormatBytes(int64(len(input))),
			FormatBytes(maxInput))
	}
	if !utf8.ValidString(input) {
		return fail("the input is not valid UTF-8")
	}
	if strings.TrimSpace(input) == "" {
		return nil, nil // some servers send nothing for a call without arguments
	}
	if !json.Valid([]byte(input)) {
		return fail("%s", syntaxProblem(input))
	}
	if kind := kindOf(strings.TrimLeft(input, jsonspan.Blanks)); kind != "an object" {
		return fail("the input must be a JSON object, got %s", kind)
	}
	return jsonspan.Members(input, jsonspan.Span{To: len(input)}), nil
}

func (d *decoder) member(key, value string) {
	name, ok := unquote(key)
	i := slices.IndexFunc(d.fields, func(f Field) bool {
		return ok &&
			(f.Name == name || f.Also != "" && f.Also == name)
	})
	if i < 0 {
		d.unknown(name)
		return
	}
	f := d.fields[i]
	if value == "null" {
		return
	}
	if d.set[i] {
		d.problem("`%s` is given twice", f.Name)
		return
	}
	d.set[i] = true
	switch {
	case f.String != nil:
		d.stringValue(f, value)
	case f.Int != nil:
		d.intValue(f, value)
	case f.Bool != nil:
		d.boolValue(f, value)
	case f.List != nil:
		d.listValue(f, value)
	case f.Objects != nil:
		d.objectsValue(f, value)
	case f.Group != nil:
		d.object(f.Group, value, "`"+f.Name+"`")
	case f.Object != nil:
		if kind := kindOf(value); kind != "an object" {
			d.problem("`%s` must be an object, got %s", f.Name, kind)
			return
		}
		*f.Object = value
	}
}

// listValue reads a list of strings.
func (d *decoder) listValue(f Field, raw string) {
	var items []string
	if kind := kindOf(raw); kind != "an array" {
		d.problem("`%s` must be a list of strings, got %s", f.Name, kind)
		return
	}
	if err := json.Unmarshal([]byte(raw), &items); err != nil {
		d.problem("`%s` must be a list of strings", f.Name)
		return
	}
	for _, s := range items {
		if strings.IndexByte(s, 0) >= 0 || strings.ContainsRune(s, utf8.RuneError) {
			d.problem("`%s` holds what is no text", f.Name)
			return
		}
		if f.MaxBytes > 0 && len(s) > f.MaxBytes {
			d.problem("`%s` has an item of %s, the most is %s", f.Name, FormatBytes(int64(len(s))),
				FormatBytes(int64(f.MaxBytes)))
			return
		}
	}
	*f.List = items
}

func (d *decoder) unknown(name string) {
	names := make([]string, len(d.fields))
	for i, f := range d.fields {
		names[i] = f.Name
	}
	if near := Nearest(name, names); near != "" {
		d.problem("there is no parameter `%s`; did you mean `%s`?", quoteShort(name), near)
		return
	}
	if len(names) == 0 {
		d.problem("there is no parameter `%s`; it takes none", quoteShort(name))
		return
	}
	d.problem("there is no parameter `%s`; there are: %s", quoteShort(name), strings.Join(names, ", "))
}

func (d *decoder) stringValue(f Field, raw string) {
	if raw[0] != '"' {
		hint := ""
		if raw[0] == '{' || raw[0] == '[' {
			hint = " (write it as text, inside a string)"
		}
		d.problem("`%s` must be a string, got %s%s", f.Name, kindOf(raw), hint)
		return
	}
	s, ok := unquote(raw)
	switch {
	case !ok:
		d.problem("`%s` holds half of a surrogate pair (a lone \\ud800 to \\udfff), which is no character", f.Name)
	case strings.IndexByte(s, 0) >= 0:
		d.problem("`%s` holds a NUL byte", f.Name)
	case f.NotEmpty && strings.TrimSpace(s) == "":
		d.problem("`%s` must not be empty", f.Name)
	case f.MaxBytes > 0 && len(s) > f.MaxBytes:
		d.problem("`%s` has %s, the most is %s", f.Name, FormatBytes(int64(len(s))), FormatBytes(int64(f.MaxBytes)))
	case len(f.Enum) > 0 && !slices.Contains(f.Enum, s):
		d.problem("`%s` must be one of %s; got %q", f.Name, strings.Join(f.Enum, ", "), quoteShort(s))
	default:
		*f.String = s
	}
}

func (d *decoder) intValue(f Field, raw string) {
	text := raw
	if raw[0] == '"' {
		s, _ := unquote(raw)
		text = strings.TrimSpace(s)
		if text == "" || strings.Trim(text, "-0123456789") != "" {
			d.problem("`%s` must be a whole number, got a string", f.Name)
			return
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		x, ferr := strconv.ParseFloat(text, 64)
		switch {
		case ferr != nil && !math.IsInf(x, 0):
			d.problem("`%s` must be a whole number, got %s", f.Name, kindOf(raw))
			return
		case x != math.Trunc(x):
			d.problem("`%s` must be a whole number, got %s", f.Name, quoteShort(text))
			return
		case math.Abs(x) > 1<<53:
			d.problem("`%s` is out of range: %s", f.Name, quoteShort(text))
			return
		}
		n = int(x)
	}
	switch {
	case n < f.Min:
		d.problem("`%s` must be at least %d, got %d", f.Name, f.Min, n)
	case f.Max > 0 && n > f.Max:
		d.problem("`%s` must be at most %d, got %d", f.Name, f.Max, n)
	default:
		*f.Int = n
	}
}

func (d *decoder) boolValue(f Field, raw string) {
	switch text := strings.ToLower(strings.Trim(raw, `"`)); text {
	case "true", "false":
		*f.Bool = text == "true"
	default:
		d.problem("`%s` must be true or false, got %s", f.Name, kindOf(raw))
	}
}

// syntaxProblem says where broken JSON breaks.
func syntaxProblem(input string) string {
	dec := json.NewDecoder(strings.NewReader(input))
	var raw json.RawMessage
	err := dec.Decode(&raw)
	var se *json.SyntaxError
	switch {
	case err == nil:
		after, _ := Cut(strings.TrimLeft(input[dec.InputOffset():], jsonspan.Blanks), 20)
		return fmt.Sprintf("the input must be one JSON object; after it comes %q", after)
	case errors.As(err, &se):
		at := int(min(se.Offset, int64(len(input))))
		near := strings.ToValidUTF8(input[max(0, at-20):min(len(input), at+10)], "")
		return fmt.Sprintf("the input is not valid JSON: %v, near %q", err, near)
	default:
		return "the input is not valid JSON: it ends in the middle; send the whole call again"
	}
}
