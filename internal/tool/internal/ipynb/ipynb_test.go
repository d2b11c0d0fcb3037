package ipynb

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/tool/internal/jsonspan"
)

// book is a notebook as Jupyter writes it, with things in it that a careless program would
// write back differently.
const book = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {
    "big": 12345678901234567890123456789,
    "small": 1.0e-400,
    "zero": -0.0
   },
   "source": [
    "# T\u00eetle\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "sum",
   "metadata": {"tags": [ "keep" ]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "3\n"
     ]
    }
   ],
   "source": [
    "a = 1\n",
    "s = \"caf\u00e9\"\n",
    "a + 2"
   ],
   "x_unknown": {"b":1,"a":2.50}
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "last",
   "metadata": {},
   "outputs": [],
   "source": []
  }
 ],
 "metadata": {
  "kernelspec": {"name": "python3"}
 },
 "nbformat": 4,
 "nbformat_minor": 5,
 "z": 1.10
}
`

func parse(t testing.TB, text string) *Notebook {
	t.Helper()
	n, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return n
}

// changed applies a change and compares what it changed with the pieces wanted: every old
// one is replaced by the new one after it, and nothing else.
func changed(t *testing.T, name, text string, got []byte, oldNew ...string) {
	t.Helper()
	want := text
	for i := 0; i < len(oldNew); i += 2 {
		if strings.Count(want, oldNew[i]) != 1 {
			t.Fatalf("%s: %q is %d times in the text", name, oldNew[i], strings.Count(want, oldNew[i]))
		}
		want = strings.Replace(want, oldNew[i], oldNew[i+1], 1)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
	if !json.Valid([]byte(strings.TrimPrefix(string(got), "\uFEFF"))) {
		t.Errorf("%s: no JSON any more", name)
	}
}

const output = `[
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "3\n"
     ]
    }
   ]`

func TestReplace(t *testing.T) {
	t.Parallel()
	n := parse(t, book)
	// A line that stays is written as it was; the outputs go.
	changed(t, "code", book, n.Replace(1, "", "a = 1\ns = \"café\"\nb\t<&>\u2028"),
		`"execution_count": 7`, `"execution_count": null`, output, "[]", `"a + 2"`, "\"b\\t<&>\u2028\"")
	changed(t, "markdown", book, n.Replace(0, Markdown, "# Tîtle\nmore\n"), "\\n\",\n    \"text\"",
		"\\n\",\n    \"more\\n\"")
	changed(t, "empty", book, n.Replace(0, "", ""), "[\n    \"# T\\u00eetle\\n\",\n    \"text\"\n   ]", "[]")
	changed(t, "was empty", book, n.Replace(2, "", "x\ny"), "\"outputs\": [],\n   \"source\": []",
		"\"outputs\": [],\n   \"source\": [\n    \"x\\n\",\n    \"y\"\n   ]")
	changed(t, "to markdown", book, n.Replace(1, Markdown, "a = 1\n"),
		"\"cell_type\": \"code\",\n   \"execution_count\": 7,\n", "\"cell_type\": \"markdown\",\n",
		"   \"outputs\": "+output+",\n", "", "    \"a = 1\\n\",\n    \"s = \\\"caf\\u00e9\\\"\\n\",\n    \"a + 2\"\n",
		"    \"a = 1\\n\"\n")
	changed(t, "to code", book, n.Replace(0, Code, "text"),
		"\"cell_type\": \"markdown\",\n", "\"cell_type\": \"code\",\n   \"execution_count\": null,\n",
		"   \"source\": [\n    \"# T\\u00eetle\\n\",\n", "   \"outputs\": [],\n   \"source\": [\n")
}

func TestInsertAndDelete(t *testing.T) {
	t.Parallel()
	n := parse(t, book)
	data, id := n.Insert(0, Markdown, "hello\nyou")
	cell := func(id string) string {
		return "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"" + id +
			"\",\n   \"metadata\": {},\n   \"source\": [\n    \"hello\\n\",\n    \"you\"\n   ]\n  }"
	}
	changed(t, "at the start", book, data, " \"cells\": [\n", " \"cells\": [\n"+cell(id)+",\n")
	data, id = n.Insert(3, Markdown, "hello\nyou")
	changed(t, "at the end", book, data, "   \"source\": []\n  }\n", "   \"source\": []\n  },\n"+cell(id)+"\n")
	data, id = n.Insert(2, Code, "")
	changed(t, "code", book, data, "   \"x_unknown\": {\"b\":1,\"a\":2.50}\n  },\n",
		"   \"x_unknown\": {\"b\":1,\"a\":2.50}\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": "+
			"null,\n   \"id\": \""+id+"\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": []\n  },\n")
	if again, same := n.Insert(2, Code, ""); same != id || string(again) != string(data) || !ValidID(id) {
		t.Errorf("the same change is another one: id %q and %q", id, same)
	}
	if at, err := parse(t, string(data)).Find(id); err != nil || at != 2 {
		t.Errorf("found at %d, %v", at, err)
	}

	from := strings.Index(book, "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null")
	changed(t, "delete the last", book, n.Delete(2), ",\n"+book[from:strings.Index(book, "\n ],")], "")
	changed(t, "delete the first", book, n.Delete(0), book[strings.Index(book,
		"  {\n   \"cell_type\": \"markdown\""):strings.Index(book, "  {\n   \"cell_type\": \"code\"")], "")
}

func TestOtherLayouts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, replaced, inserted, deleted string }{
		"compact": {
			`{"nbformat":4,"nbformat_minor":4,"cells":[{"cell_type":"code","source":["a\n","b"],"outputs":[],"execution_count":null}]}`,
			`{"nbformat":4,"nbformat_minor":4,"cells":[{"cell_type":"code","source":["a\n","c"],"outputs":[],"execution_count":null}]}`,
			`{"nbformat":4,"nbformat_minor":4,"cells":[{"cell_type":"code","source":["a\n","b"],"outputs":[],"execution_count":null},{"cell_type":"raw","metadata":{},"source":["x\n","y"]}]}`,
			`{"nbformat":4,"nbformat_minor":4,"cells":[]}`,
		},
		"one string, CRLF, a mark before": {
			"\uFEFF{\r\n\"cells\": [\r\n  {\"cell_type\": \"raw\",   \"source\": \"a\"}\r\n],\r\n\"nbformat\": 4\r\n}",
			"\uFEFF{\r\n\"cells\": [\r\n  {\"cell_type\": \"raw\",   \"source\": \"a\\nc\"}\r\n],\r\n\"nbformat\": " +
				"4\r\n}",
			"\uFEFF{\r\n\"cells\": [\r\n  {\"cell_type\": \"raw\",   \"source\": \"a\"},\r\n  {\"cell_type\": " +
				"\"raw\",   \"metadata\": {},   \"source\": \"x\\ny\"}\r\n],\r\n\"nbformat\": 4\r\n}",
			"\uFEFF{\r\n\"cells\": [],\r\n\"nbformat\": 4\r\n}",
		},
		"nothing but a type": {
			`{ "nbformat": 4, "cells": [ {"cell_type":"markdown" } ] }`,
			`{ "nbformat": 4, "cells": [ {"cell_type":"markdown","source":["a\n","c"] } ] }`,
			`{ "nbformat": 4, "cells": [ {"cell_type":"markdown" }, {"cell_type":"raw","metadata":{},"source":["x\n","y"] } ] }`,
			`{ "nbformat": 4, "cells": [] }`,
		},
	} {
		n := parse(t, c.text)
		inserted, _ := n.Insert(1, Raw, "x\ny")
		for _, op := range []struct{ what, got, want string }{
			{"replace", string(n.Replace(0, "", "a\nc")), c.replaced}, {"insert", string(inserted), c.inserted},
			{"delete", string(n.Delete(0)), c.deleted},
		} {
			if d := cmp.Diff(op.want, op.got); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, op.what, d)
			}
		}
	}
	empty := "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 4\n}\n"
	data, _ := parse(t, empty).Insert(0, Markdown, "a\nb")
	changed(t, "no cells", empty, data, "[]", "[\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n   "+
		"\"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }\n ]")
}

func TestFind(t *testing.T) {
	t.Parallel()
	n := parse(t,
		`{"nbformat":4,"nbformat_minor":5,"cells":[{"cell_type":"code","id":"a"},{"cell_type":"code"},{"cell_type":"code","id":"b"},{"cell_type":"code","id":"b"},{"cell_type":"code","id":"2"},{"cell_type":"code","id":"not\nfit"}]}`)
	for id, want := range map[string]string{
		"a": "0", "2": "4", "6": "5", "1": "has no cell with the id 1; cell 1 has the id a",
		"b":        "two cells with the id b, 3 and 4",
		"not\nfit": `has no cell "not\nfit"; Read shows`, "7": "has no cell 7;", "0": "has no cell 0;",
		"-1": "has no cell -1;", "": "has no cell",
	} {
		at, err := n.Find(id)
		got := fmt.Sprint(at)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``: "not valid JSON", `{"cells":[NaN]}`: "not valid JSON", `[]`: "no JSON object", `{}`: "format 4",
		`{"nbformat":3,"worksheets":[]}`: "format 4",
		`{"nbformat":4}`:                 "no list of cells", `{"nbformat":4,"cells":{}}`: "no list of cells",
		`{"nbformat":4,"cells":[],"c\u0065lls":[]}`:                              `"cells" twice`,
		`{"nbformat":4,"cells":[1]}`:                                             "number 1",
		`{"nbformat":4,"cells":[{"cell_type":"code","source":"","source":"x"}]}`: `"source" twice`,
		`{"nbformat":4,"cells":[{}]}`:                                            "no cell_type",
		strings.Repeat(`[`, 20_000):                                              "not valid JSON",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// Whatever the notebook: a change of one cell leaves every byte of the others and of all
// fields that it is not about, and the result is a notebook that says what was asked for.
func FuzzEdit(f *testing.F) {
	f.Add(book, uint8(1), uint8(0), "a = 1\nb")
	f.Add(`{"nbformat":4,"cells":[{"cell_type":"code","source":"x","attachments":{}, "execution_count" : 1 , "outputs":[{"data":{"a":[1,{"b":"]}"}]}}]}]}`, uint8(0), uint8(5), "y")
	f.Add("\uFEFF{ \"nbformat\" :4\r\n,\"cells\":[ {\"cell_type\":\"raw\"\t}\n,{\"source\":[\"\\\\\\\"\", "+
		"3],\"cell_type\":\"code\"} ] }\n\n", uint8(1), uint8(2), "\x01\"\\\u2028")
	f.Add(`{"cells":[],"nbformat":4,"nbformat_minor":5}`, uint8(0), uint8(3), "")
	types := []string{"", Code, Markdown, Raw}
	f.Fuzz(func(t *testing.T, text string, at, op uint8, source string) {
		n, err := Parse([]byte(text))
		if err != nil {
			return
		}
		source = strings.ToValidUTF8(source, "?")
		i, typ := int(at)%(n.Len()+1), types[op%4]
		var data []byte
		want := append([]cell{}, n.cells...) // the cells that must stay
		switch kind := op / 4 % 3; {
		case kind == 0 && i < n.Len():
			data = n.Replace(i, typ, source)
			checkReplaced(t, n, i, parse(t, string(data)), typ, source)
			want = append(want[:i], want[i+1:]...)
		case kind == 1 && i < n.Len():
			data = n.Delete(i)
			want = append(want[:i], want[i+1:]...)
			i = -1
		default:
			if typ == "" {
				typ = Code
			}
			data, _ = n.Insert(i, typ, source)
		}
		after := parse(t, string(data))
		got := append([]cell{}, after.cells...)
		if i >= 0 {
			if after.Source(i) != source || typ != "" && after.Type(i) != typ {
				t.Errorf("cell %d is %s %q", i, after.Type(i), after.Source(i))
			}
			got = append(got[:i], got[i+1:]...)
		}
		if len(got) != len(want) {
			t.Fatalf("%d other cells, want %d", len(got), len(want))
		}
		for k := range want {
			if a, b := want[k].Of(n.text), got[k].Of(after.text); a != b {
				t.Errorf("another cell changed:\n%s\n%s", a, b)
			}
		}
		before, rest := n.text[:n.array.From]+n.text[n.array.To:],
			after.text[:after.array.From]+after.text[after.array.To:]
		if before != rest || n.head != after.head {
			t.Errorf("what is around the cells changed:\n%s\n%s", before, rest)
		}
	})
}

// checkReplaced: fields of the cell that the change is not about are as they were.
func checkReplaced(t *testing.T, n *Notebook, i int, after *Notebook, typ, source string) {
	t.Helper()
	about := map[string]bool{"cell_type": true, "source": true, "outputs": true, "execution_count": true,
		"attachments": true}
	var was, is []string
	for _, m := range n.cells[i].members {
		if !about[m.Key] {
			was = append(was, m.Name.Of(n.text)+m.Value.Of(n.text))
		}
	}
	for _, m := range after.cells[i].members {
		if !about[m.Key] {
			is = append(is, m.Name.Of(after.text)+m.Value.Of(after.text))
		}
		if m.Key == "outputs" && len(jsonspan.Items(after.text, m.Value)) > 0 {
			t.Errorf("the outputs are still there: %s", m.Value.Of(after.text))
		}
	}
	if d := cmp.Diff(was, is); d != "" {
		t.Errorf("other fields changed, with type %q and source %q:\n%s", typ, source, d)
	}
}
