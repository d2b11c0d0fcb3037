package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape is a command in short: one line for each part.
func shape(c Command) []string {
	var out []string
	for _, p := range c.Parts {
		var b strings.Builder
		b.WriteString(p.Text)
		if p.Via != "" {
			b.WriteString(" via=" + p.Via)
		}
		if len(p.Wrappers) > 0 {
			b.WriteString(" in=" + strings.Join(p.Wrappers, ","))
		}
		for _, a := range p.Assigns {
			fmt.Fprintf(&b, " set=%s:%s", a.Name, word(a.Value))
		}
		for _, r := range p.Redirects {
			fmt.Fprintf(&b, " %s=%s", map[bool]string{true: "to", false: "from"}[r.Write], word(r.Path))
		}
		if p.Moved {
			b.WriteString(" moved")
		}
		out = append(out, b.String())
	}
	return out
}

func word(w Word) string {
	switch {
	case w.Known:
		return w.Text
	case w.Pattern:
		return "glob(" + w.Text + ")"
	}
	return "?(" + w.Text + ")"
}

func TestReadFindsEveryPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		want    []string
	}{
		{"ls", []string{"ls"}},
		{"ls&&touch a||b;c|d &e", []string{"ls", "touch a", "b", "c", "d", "e"}},
		{"# x\ntouch a # b\nc", []string{"touch a", "c"}},
		{"(a; (b)); { c; }", []string{"a", "b", "c"}},
		{"if a; then b; elif c; then d; else e; fi", []string{"a", "b", "c", "d", "e"}},
		{"while a; do b; done; until c; do d; done", []string{"a", "b", "c", "d"}},
		{"for i in $(a) b; do c; done", []string{"a", "for i set=i:?($(a)) set=i:b", "c"}},
		{"for ((i=0;i<3;i++)); do c $i; done", []string{"c $i"}},
		{"select x in a; do b; done", []string{"for x set=x:a set=x:?($@)", "b"}},
		{"case $(a) in $(b)) c;; *) d;; esac", []string{"a", "b", "c", "d"}},
		{"f() { a; }; function g { b; }", []string{"a", "b"}},
		{"coproc a b", []string{"a b"}},
		{"coproc N { a; }", []string{"a"}},
		{"x $(a) `b` <(c) >(d) \"$(e)\" \"`f`\"", []string{"x $(a) `b` <(c) >(d) \"$(e)\" \"`f`\"", "a", "b", "c", "d",
			"e", "f"}},
		{"v=$(a) x", []string{"x set=v:?($(a))", "a"}},
		{"v=$(a)", []string{"v=$(a) set=v:?($(a))", "a"}},
		{"v=(a $(b) [$(c)]=d)", []string{"v=(a $(b) [$(c)]=d) set=v:?((a $(b) [$(c)]=d))", "b", "c"}},
		{"v[$(a)]=1", []string{"v[$(a)]=1 set=v:?(1)", "a"}},
		{"echo ${x:-$(a)} ${x/$(b)/$(c)} ${x:$(d)} ${y[$(e)]}",
			[]string{"echo ${x:-$(a)} ${x/$(b)/$(c)} ${x:$(d)} ${y[$(e)]}", "a", "b", "c", "d", "e"}},
		{"echo $((1+$(a))) $((y[$(b)]))", []string{"echo $((1+$(a))) $((y[$(b)]))", "a", "b"}},
		{"((x=$(a)))", []string{"a"}},
		{"let x=$(a)", []string{"a"}},
		{"[[ $(a) = $(b) && -f $(c) ]]", []string{"a", "b", "c"}},
		{"cat <<E\n$(a)\n`b`\nE", []string{"cat", "a", "b"}},
		{"cat <<'E'\n$(a)\nE\nx", []string{"cat", "x"}},
		{"cat <<\"E\"OF\nx\nEOF\ntouch P\n\"E\"OF", []string{"cat", "touch P", "\"E\"OF"}},
		{"cat <<< $(a)", []string{"cat", "a"}},
		{"ls > $(a)", []string{"ls to=?($(a))", "a"}},
		{"declare x=$(a) y; export z=1", []string{"declare x=$(a) y set=x:?($(a))", "a", "export z=1 set=z:1"}},
		{"t\\ouch 'a b' $'\\x41' \"q\\\"\"", []string{"t\\ouch 'a b' $'\\x41' \"q\\\"\""}},
		{"ls   -la>f a", []string{"ls -la a to=f"}},
		{"{ a; b; } >f 2>&1 <g", []string{"a to=f from=g", "b to=f from=g"}},
		{"(( 1 )) > f", []string{"(( 1 )) > f to=f"}},
		{"> f", []string{"> f to=f"}},
		{"f() { a; } > P; f", []string{"a to=P", "f"}},
		{"a >&f; a &>f; a >|f; a <>f; a &>>f; a >&2; a 2>&-; a <&3; a >&$x",
			[]string{"a to=f", "a to=f", "a to=f", "a to=f", "a to=f", "a", "a", "a", "a to=?($x)"}},
		{"ls > src/../P > ~/Q > 'R' > $S > *.x", []string{"ls to=src/../P to=?(~/Q) to=R to=?($S) to=glob(*.x)"}},
		{"a; cd x; b; (cd y; c); d", []string{"a", "cd x", "b moved", "cd y moved", "c moved", "d moved"}},
		{"(cd y; c); d; e $(cd x; f); g", []string{"cd y", "c moved", "d", "e $(cd x; f)", "cd x", "f moved", "g"}},
		{"f() { a; }; cd x; f", []string{"a moved", "cd x", "f moved"}},
		{"for i in 1 2; do a; cd x; done", []string{"for i set=i:1 set=i:2 moved", "a moved", "cd x moved"}},
	} {
		got, err := Read(c.command)
		if err != nil {
			t.Errorf("Read(%q): %v", c.command, err)
			continue
		}
		if diff := cmp.Diff(c.want, shape(got)); diff != "" {
			t.Errorf("Read(%q) (-want +got):\n%s", c.command, diff)
		}
	}
}

func TestReadLooksThroughWrappers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		want    []string
		unclear bool
	}{
		{"timeout -k 5 10 nice -n 3 rm x", []string{"rm x in=timeout,nice"}, false},
		{"timeout --foreground --signal=KILL 5s nohup rm x", []string{"rm x in=timeout,nohup"}, false},
		{"timeout --frob 5 rm x", []string{"timeout --frob 5 rm x"}, true},
		{"nice -10 rm x; nice rm y", []string{"rm x in=nice", "rm y in=nice"}, false},
		{"stdbuf -oL -e0 rm x", []string{"rm x in=stdbuf"}, false},
		{"command -p builtin cd x; rm", []string{"cd x in=command,builtin", "rm moved"}, false},
		{"command -v rm", []string{"command -v rm"}, false},
		{"exec -a n rm x; exec > f", []string{"rm x in=exec", "exec to=f"}, false},
		{"time -p rm x", []string{"rm x in=time"}, false},
		{"time -- rm x", []string{"rm x in=time"}, false},
		{"\\time -o f rm x", []string{"\\time -o f rm x"}, true},
		{"/usr/bin/timeout 1 rm x", []string{"rm x in=timeout"}, false},
		{"tools/timeout 1 rm x", []string{"tools/timeout 1 rm x"}, false},
		{"env A=1 B=$x rm x", []string{"rm x in=env set=A:1 set=B:?($x)"}, false},
		{"env", []string{"env"}, false},
		{"env -S 'rm x'", []string{"env -S 'rm x'"}, true},
		{"a | xargs rm", []string{"a", "rm in=xargs"}, false},
		{"a | xargs -0 -n 1 rm y", []string{"a", "rm y in=xargs"}, false},
		{"a | xargs --frob rm", []string{"a", "xargs --frob rm"}, true},
		{"a | xargs $x rm", []string{"a", "xargs $x rm"}, true},
		{"timeout $T rm x", []string{"timeout $T rm x"}, true},
		{"timeout 5 $X", []string{"$X in=timeout"}, true},
		{"find . -exec rm {} \\; -ok a b +", []string{"find . -exec rm {} \\; -ok a b +", "rm {} via=find",
			"a b + via=find"}, false},
		{"find . -exec grep -l x {} + -print", []string{"find . -exec grep -l x {} + -print", "grep -l x {} via=find"},
			false},
		{"bash -c 'rm x; timeout 1 ls'", []string{"bash -c 'rm x; timeout 1 ls'", "rm x via=bash",
			"ls via=bash in=timeout"}, false},
		{"sh -ec \"rm x\" a", []string{"sh -ec \"rm x\" a", "rm x via=sh"}, false},
		{"bash -c \"$x\"", []string{"bash -c \"$x\""}, true},
		{"eval 'rm x' y", []string{"eval 'rm x' y", "rm x y via=eval moved"}, false},
		{"eval \"$x\"", []string{"eval \"$x\""}, true},
		{"trap 'rm x' EXIT", []string{"trap 'rm x' EXIT", "rm x via=trap moved"}, false},
		{"trap - EXIT", []string{"trap - EXIT"}, false},
		{"sudo -u root rm x", []string{"sudo -u root rm x", "rm x via=sudo"}, false},
	} {
		got, err := Read(c.command)
		if err != nil {
			t.Errorf("Read(%q): %v", c.command, err)
			continue
		}
		if diff := cmp.Diff(c.want, shape(got)); diff != "" {
			t.Errorf("Read(%q) (-want +got):\n%s", c.command, diff)
		}
		if unclear := len(got.Unclear) > 0; unclear != c.unclear {
			t.Errorf("Read(%q) is unclear: %v, want %v (%q)", c.command, unclear, c.unclear, got.Unclear)
		}
	}
}

func TestReadKnowsWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		want    []string
	}{
		{`t\ouch PW''NED "a b"'c'`, []string{"touch", "PWNED", "a bc"}},
		{`$'\164\157\165\143\150' $'a\'b\n\u00e9\xff'`, []string{"touch", "a'b\né\xff"}},
		{`"a\$b\c\\" 'a\b' a\ b ''`, []string{`a$b\c\`, `a\b`, "a b", ""}},
		{`{touch,PWNED}`, []string{"touch", "PWNED"}},
		{`a{b,c}d{1..3}`, []string{"abd1", "abd2", "abd3", "acd1", "acd2", "acd3"}},
		{`.{env,} {} x{} {a} HEAD@{1}`, []string{".env", ".", "{}", "x{}", "{a}", "HEAD@{1}"}},
		{`{a,{b,c}} {1..99999} {a..c} {01..3}`, []string{"?({a,{b,c}})", "?({1..99999})", "?({a..c})", "?({01..3})"}},
		{`{a,"b,c",$x}`, []string{"a", "b,c", "?($x)"}},
		{`*.go a? [ab] a[ '*' \* "?"`, []string{"glob(*.go)", "glob(a?)", "glob([ab])", "a[", "*", "*", "?"}},
		{`$x "$x" $(a) ~ ~/x a~ a=~/b`, []string{"?($x)", `?("$x")`, "?($(a))", "?(~)", "?(~/x)", "a~", "?(a=~/b)"}},
		{"l\\\ns a\\\nb", []string{"ls", "ab"}},
		{`[ -f x ]`, []string{"[", "-f", "x", "]"}},
	} {
		got, err := Read(c.command)
		if err != nil {
			t.Errorf("Read(%q): %v", c.command, err)
			continue
		}
		var words []string
		for _, w := range got.Parts[0].Words {
			words = append(words, word(w))
		}
		if diff := cmp.Diff(c.want, words); diff != "" {
			t.Errorf("Read(%q) (-want +got):\n%s", c.command, diff)
		}
	}
}

func TestReadSaysWhatIsUnclear(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		`$x a`, `"$BASH" -c a`, `/usr/bin/t?uch P`, `{a..c} x`, `$(a) b`, `~/x`,
		`echo ${!x}`, `echo ${!x@}`, `: ${p@P}`, `echo "${x@P}"`, `echo $"a"`,
		`test -v 'a[$(x)]'`, `[ -v "$x" ]`, `[[ -v a[$(x)] ]]`, `[[ -v $x ]]`, `[ $x 'a[$(x)]' ]`,
		`printf -v 'a[$(x)]' y`, `printf -va[1] y`, `printf -v "$x" y`,
		`read 'a[$(x)]'`, `read -a 'a[1]'`, `read -ra "$x"`, `read -p q "$x"`, `unset 'a[$(x)]'`, `unset -v 'a[$(x)]'`,
		`mapfile -C 'x' -c 1 a`, `mapfile -tC x a`, `readarray 'a[1]'`, `getopts a 'b[$(x)]'`, `wait -p 'a[$(x)]'`,
		`declare 'a[$(x)]=1'`, `export "$x"`, `declare -i a=b`, `declare -n a=b`, `command declare 'a[$(x)]=1'`,
		`local -i a`,
		`echo $((x))`, `x='a[$(y)]'; ((x))`, `echo ${a[x]}`, `echo ${a:x}`, `[[ $x -eq 1 ]]`, `[[ 'a[$(x)]' -gt 1 ]]`,
		`((  'a[$(x)]' ))`,
		`let 'a[$(x)]'`, `a[x]=1`, `read x; ((x))`, `printf -v x a; ((x))`, `((y=x))`,
		`echo "${x:-'$(touch P)'}"`, "cat <<E\n${x:-'$(touch P)'}\nE", `echo ${x:-<(touch P)}`, "echo `echo \\`a\\``",
		`echo @(a|b)`, `eval "$x"`, `. "$x"`, `source <(x)`, `compgen -W '$(x)'`, `bash -c "$x"`,
		"ls # \\\ntouch P", "ls #\\\ntouch P", "cat <<$'E'\nx\nE", "cat <<\"$x\"\nx\n$x", `echo ${ ls; }`,
		`exec {a[1]}>f`, `$'\0'`,
	} {
		got, err := Read(command)
		var bad *unreadableError
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("Read(%q): %v", command, err)
		}
		if err == nil && len(got.Unclear) == 0 {
			t.Errorf("Read(%q) finds nothing unclear: %q", command, shape(got))
		}
	}
	for _, command := range []string{
		`x=1; echo $((x+1)) ${a[0]} ${a[@]} ${#x} ${x%.go} "${x:-y}" ${x:1:2}`, `for i in 1 2 3; do ((i++)); done`,
		`for ((i=0;i<9;i++)); do echo $i; done`,
		`test -v x`, `[ "$x" = y ]`, `[[ -f $x && $y =~ ^a(b|c)$ ]]`, `[[ $# -eq 1 ]]`, `printf -v x y`,
		`read -r -p q a b`, `while read -r l; do echo "$l"; done`, `unset x y`,
		`mapfile -t a`, `declare -A x`, `declare -r x=1`, `export A=b`, `grep -F '$(touch P)' f`,
		`echo "a <(b) \$(c) \` + "`" + `x\` + "`" + `"`, "cat <<'E'\n$(a) `b`\nE", "# $(a)\nls",
		`local x=$(a)`, `source venv/bin/activate`, "cat <<E\na <(b) 'c' \\$(d)\nE",
		`find . -name '*.go' -exec wc -l {} \;`,
	} {
		got, err := Read(command)
		if err != nil || len(got.Unclear) > 0 {
			t.Errorf("Read(%q): %v, unclear: %q", command, err, got.Unclear)
		}
	}
}

func TestReadRefusesBeforeParsing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command      string
		line, column int
	}{
		{"ls -la \\\r\ntouch P", 1, 9}, {"echo \"a\\\r\nb\"; touch P", 1, 9}, {"ls\rtouch P", 1, 3},
		{"ls\x00", 1, 3}, {"\x1b[2J", 1, 1}, {"ls \x7f", 1, 4}, {"a\n\x0b", 2, 1}, {"a\n b\x0c", 2, 3},
		{"ls \xff", 1, 4}, {"ls \xc3", 1, 4}, {"ls \u0085x", 1, 4}, {"ls \u009b", 1, 4},
		{"ls \u2028touch", 1, 4}, {"ls \u202etxt", 1, 4}, {"ls\u00a0x", 1, 3}, {"l\u200bs", 1, 2}, {"l\u200ds", 1, 2},
		{"\ufeffls", 1, 1}, {"ls \U000e0041", 1, 4},
	} {
		_, err := Read(c.command)
		var bad *unreadableError
		if !errors.As(err, &bad) || bad.Line != c.line || bad.Column != c.column || bad.Problem == "" {
			t.Errorf("Read(%q) is %+v, want it unreadable at %d:%d", c.command, err, c.line, c.column)
		}
	}
	for _, command := range []string{"ls)", "if", "echo 'a", "echo \"a", "echo $(", "echo ${x", "a &&", "((1)",
		"case x in", "cat <<E\n$(", "a[$(x)]=1 ls"} {
		if _, err := Read(command); err == nil {
			t.Errorf("Read(%q) has no error", command)
		}
	}
	for _, command := range []string{"echo é 👩\u200d👧 日本 می\u200cخواهم", "ls\t-l", ""} {
		if _, err := Read(command); err != nil {
			t.Errorf("Read(%q): %v", command, err)
		}
	}
}

func TestReadHasNoLimitOnParts(t *testing.T) {
	t.Parallel()
	parts := func(command string) int {
		t.Helper()
		c, err := Read(command)
		if err != nil {
			t.Fatalf("Read(%.40q): %v", command, err)
		}
		return len(c.Parts)
	}
	if n := parts(strings.Repeat("true; ", 2000) + "touch P"); n != 2001 {
		t.Errorf("%d parts in a list of 2001", n)
	}
	if n := parts(strings.Repeat("true | ", 2000) + "touch P"); n != 2001 {
		t.Errorf("%d parts in a pipe of 2001", n)
	}
	if n := parts(strings.Repeat("true && ", 15000) + "touch P"); n != 15001 {
		t.Errorf("%d parts in a list of 15001", n)
	}
	if n := parts("echo " + strings.Repeat("$(", 200) + "touch P" + strings.Repeat(")", 200)); n != 1+200 {
		t.Errorf("%d parts within 200 substitutions", n)
	}
	var docs strings.Builder
	for i := range 100 {
		fmt.Fprintf(&docs, "cat <<E%d\n$(a%d)\nE%d\n", i, i, i)
	}
	if n := parts(docs.String()); n != 200 {
		t.Errorf("%d parts in 100 here-documents with 100 substitutions", n)
	}
	if n := parts("echo " + strings.Repeat("x", 10001) + "; touch P"); n != 2 {
		t.Errorf("%d parts in a long command", n)
	}
	for _, command := range []string{
		strings.Repeat("$(", 5000) + "x" + strings.Repeat(")", 5000), strings.Repeat("(", 60000),
		strings.Repeat("if ", 40000),
		strings.Repeat("((", 60000) + "x", "echo " + strings.Repeat("${x:-", 10000) + "x" + strings.Repeat("}", 10000),
		"echo $((" + strings.Repeat("(", 30000) + "1" + strings.Repeat(")", 30000) + "))",
		strings.Repeat("x", maxLength),
	} {
		if _, err := Read(command); err == nil {
			t.Errorf("Read(%.40q…) has no error, however deep", command)
		}
	}
}
