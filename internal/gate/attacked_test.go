package gate

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// What got past the reader once: no kernel sandbox, a hidden file in the project, a rule that
// forbids rm.
func TestOnceGotPast(t *testing.T) {
	t.Parallel()
	hidden := func(name string) (string, bool) { return "a key", name == "/p/.env" }
	ask := func(command string, mode troupe.Mode, rules ...troupe.Rule) troupe.Effect {
		chain := []Layer{known().LayerOf("main", troupe.Profile{Source: troupe.BuiltIn},
			troupe.Authority{Mode: mode, Rules: rules}, true, false)}
		return known().Decide(Query{
			Tool: "Bash", Access: troupe.Access{Class: troupe.ClassExec, Command: command}, Chain: chain,
			Roots: []string{"/p"},
			Home:  "/home/u", SafeGit: true, Hidden: hidden,
			HiddenFiles: func() []string { return []string{"/p/.env"} },
			Resolve:     func(name string) string { return name },
		}).Effect
	}
	for _, command := range []string{
		"awk 'BEGIN{ # \"\nprint \"touch x; id -u\" | \"sh\" # \"\n}'", "awk 'BEGIN{ # \"\nprint 1 > \"out\" # \"\n}'",
		"grep --recurs SECRET", "grep --rec -e SECRET", "grep --dereference-rec SECRET",
		"grep --direct=recurse SECRET .",
		"diff -rN --from-file=. src", "diff -rN --to-file=. src", "git diff --no-index . src",
		// a newline that ends a command of sed and was a blank to the reader
		"sed '1a\ne touch P' a", "sed 't\ne' cmd", "sed '$!b\ne' cmd", "sed -n 'a\nw OUT' a", "sed 'i\t\nw OUT' a",
		"sed --expression 'a\nw OUT' a", "sed 'c\nr .env' a", "sed '1\n!w OUT' a",
		// strings of awk that were read as others
		"awk 'BEGIN { x = \"a\\\nb\"; print \"touch P\" | \"sh\" }'",
		"awk 'BEGIN { x = \"a\\\nb\"; print \"p\" > \"f\" }'",
		"awk 'BEGIN { x = \"a\nb\"; print \"p\" > \"f\"; y = \"\\\"\" }'",
		"awk '\"{\" { print \"touch P\" | \"sh\"; y = \"\\\"\" }' a", "awk '\"{\" { print 1 > \"f\"; y = \"\\\"\" }' a",
		"awk '/\"/ || \"{\" { print 1 > \"f\"; y = \"\\\"\" }' a",
		"awk 'BEGIN { f = \"%5\" \"c\"; printf f, 27 }'",
		"awk 'BEGIN { x = \"\\||\"; print \"touch P\" | \"sh\"; y = \"\\\"\" }'",
		// devices that are whatever file a descriptor is
		"echo X < a > /dev/stdin", "echo X 2<fa >/dev/stderr", "echo X 1<fa >/dev/stdout", "(echo X > /dev/stdin) < fa",
		"tee /dev/stdin < a", "echo X 2<fa | tee /dev/stderr", "(tee /dev/stderr) 2<fa", "echo X > /dev/stdin",
		"cat a 1<>/dev/stdin", "echo X | tee /dev/fd/1", "while read l; do echo X > /dev/stdin; done < fa",
		"{ echo X >/dev/stdout; } 1<fa", "exec 2<fa; echo X > /dev/stderr", "cat fa >& /dev/stdin",
		// variables that become several words
		"x='a -exec touch P ;'; find f$x", "x='a -o OUT'; sort f$x", "x=' --output=OUT'; git log HEAD$x",
		"x=; : ${x:=a -o OUT}; sort f$x", "x='a -o OUT'; y=$x; sort f$y", "for x in 'a -o OUT'; do sort f$x; done",
		"x=a; x+=' -o OUT'; sort f$x", "sort f$(echo a -o OUT)", "x='a -w'; gofmt f$x", "x='a OUT'; uniq f$x",
		"x=' -s 1200'; date +%H$x", "x='a -r .'; grep -e SECRET f$x", "x='a --to-file=.env'; diff f$x",
		"set -- '-o OUT'; sort f\"$@\"", "a=(b -oOUT); sort f\"${a[@]}\"", "sort f${x:-a -oOUT}",
		"x='a -delete'; find ./f$x",
		// what xargs puts in where the name of a program stands
		"echo touch | xargs -Iid nice id P", "echo sh | xargs -Iid time id cmd", "echo sh | xargs -I id nice id cmd",
		"echo sh | xargs -0Iid timeout 5 id cmd", "echo cmd | xargs -Iseq seq", "echo touch | xargs -Ie nice date P",
		"echo sh | xargs -iid nice id cmd", "echo sh | xargs --replace=id nice id cmd",
		"echo x | xargs --replace cat date",
		"echo TERM=x | xargs -Itty env tty sh cmd", "echo sh | xargs -Iid find . -name cmd -exec id {} +",
		// lists of names in files
		"du --files0-from .env", "du --files0-from=.env", "du --files0 .env", "du --files0-from .e*", "du -X .env",
		"du --exclude-from=.env", "wc --files0-from=.env", "wc --files0-from - < l", "du *", "ls | xargs du",
		"x=' --files0-from=.env'; du a$x", "hexdump -f.env a", "hexdump -f .env a", "grep --reg=. .env",
		"find . -name '.e*' -exec du --files0-from {} \\;", "jq -rn '\"DM======\"|@base32d'",
	} {
		if got := ask(command, troupe.ModeDefault); got == troupe.Allow {
			t.Errorf("%s is allowed", command)
		}
		// Nor beside a command that a rule allows, and that has the same surroundings.
		for _, both := range []string{command + "\ngo vet", "go vet; { " + command + "\n}"} {
			if got := ask(both, troupe.ModeDefault, troupe.Rule{Effect: troupe.Allow, Text: "Bash(go vet:*)"}); got ==
				troupe.Allow {
				t.Errorf("%s is allowed", both)
			}
		}
	}
	for _, command := range []string{
		"((PATH=1)); frob x", "frob x $((PATH=1))", "let PATH=1; frob x", "frob x $[PATH=1]", "frob x {PATH}<a",
		"wait -p PATH; frob x", "wait -pPATH; frob x", "printf -v PATH x; frob x", "read PATH; frob x",
		"mapfile PATH; frob x",
		"getopts x PATH; frob x", "for PATH in 1; do frob x; done", "select PATH in 1; do frob x; done",
		"for ((PATH=1;;)); do frob x; done", "frob x ${y:PATH=1}", "frob x ${PATH:=1}", "((BASH_ENV++)); frob x",
		"((LD_PRELOAD=1)); frob x", "frob x; ((IFS=1))", "frob x > ok.txt {PATH}<a", "coproc PATH { frob x; }; frob x",
	} {
		if got := ask(command, troupe.ModeDefault, troupe.Rule{Effect: troupe.Allow, Text: "Bash(frob:*)"},
			troupe.Rule{Effect: troupe.Allow, Text: "Edit"}); got == troupe.Allow {
			t.Errorf("%s is allowed", command)
		}
	}
	if got := ask("ls {PATH}</dev/null > ok.txt", troupe.ModeAcceptEdits); got == troupe.Allow {
		t.Error("another ls is allowed")
	}
	if got := ask("git push a$x", troupe.ModeDefault, troupe.Rule{Effect: troupe.Allow,
		Text: "Bash(git push:*)"}); got ==
		troupe.Allow {
		t.Error("git push a$x is allowed")
	}
	bash := troupe.Rule{Effect: troupe.Allow, Text: "Bash(echo:*)"}
	for _, command := range []string{
		"echo x > ok.txt > /dev/fd/../../../home/u/.bashrc", "echo x > /dev/fd/../cwd/src/a.go",
		"echo x > /proc/self/cwd/src/a.go",
		"echo x > src/../../home/u/.bashrc",
	} {
		for _, mode := range []troupe.Mode{troupe.ModeAcceptEdits, troupe.ModeDefault} {
			if got := ask(command, mode, bash); got == troupe.Allow {
				t.Errorf("%s is allowed in mode %s", command, mode)
			}
		}
	}
	all, rm := troupe.Rule{Effect: troupe.Allow, Text: "Bash"}, troupe.Rule{Effect: troupe.Deny, Text: "Bash(rm:*)"}
	for _, command := range []string{
		"sed '1erm x' f", "sed '1e/bin/rm x' f", "sed 'e\"rm\" x' f", "sed 'e$(rm x)' f",
		"awk 'BEGIN{ # \"\nprint \"rm x\" | \"sh\" # \"\n}'",
		"echo rm fa | xargs -I% sh -c %", "echo rm | xargs -Iq timeout 5 q fa",
		"printf 'rm fa' | xargs -I{} bash -c '{}'",
		"ls | xargs --replace rm {}", "ls | xargs -i rm {}", "echo rm | xargs -Iid nice id fa", "echo rm fa | parallel",
		"echo rm fa | xargs -I% env -S %",
		"awk 'BEGIN{x=\"a\\\nb\"; print \"rm fa\" | \"sh\"}'",
		"awk 'BEGIN{x=\"\\||\"; print \"rm fa\" | \"sh\"; y=\"\\\"\"}'",
		"x='a -exec rm fa ;'; find f$x", "y=rm; x=\"a -exec $y fa ;\"; find f$x", "find f$X", "find . \"$@\"",
		"((PATH=1)); frob fa", "frob fa $((PATH=1))", "wait -p PATH; frob fa", "read PATH <f; frob fa",
		"frob fa {PATH}<a", "printf -v BASH_ENV x; frob fa", "mapfile BASH_CMDS <f; frob fa",
	} {
		for _, mode := range []troupe.Mode{troupe.ModeDefault, troupe.ModeBypass} {
			if got := ask(command, mode, all, rm); got == troupe.Allow {
				t.Errorf("%s is allowed in mode %s although rm is denied", command, mode)
			}
		}
	}
	for _, command := range []string{
		"echo X < fa > /dev/stdin", "echo X 1<fa >/dev/stdout", "(echo X > /dev/fd/0) < fa",
		"echo X > /dev/./stdin < fa",
		"echo X < $F > /dev/stdin", "echo X 2<$F >/dev/stderr",
	} {
		for _, mode := range []troupe.Mode{troupe.ModeDefault, troupe.ModeBypass} {
			if got := ask(command, mode, all, troupe.Rule{Effect: troupe.Deny, Text: "Edit(fa)"}); got == troupe.Allow {
				t.Errorf("%s is allowed in mode %s although to edit fa is denied", command, mode)
			}
		}
	}
	for _, command := range []string{
		"echo x >/dev/stderr", "ls 2>&1 | tee /dev/stderr", "ls >/dev/null 2>&1", "echo x >&2 2>/dev/null",
		"echo x >/dev/stdout", "cat a | tee /dev/stderr | wc -l", "cat </dev/stdin", "sed '1i x\n2d' a",
		"sed -n '/a/{\np\n}' a", "sed ':a\nN\n$!ba\ns/\\n/,/g' a", "awk '$1 == \"a\" { if ($2 > 3) print \"a|b\" }' a",
		"awk '/x/ { if ($2 > 3) print $1 }' a", "awk 'BEGIN { x = \"\\\"|\" }\n{ print x }' a",
		"for i in 1 2; do git show HEAD~$i; done", "x=a; sort f$x", "n=1; find src$n",
		"find src/{a,b} -name '*.go'",
		"git log f\"$x\"; x=a", "sort ./*", "du -sh src | sort -h", "wc -l src/a", "ls | xargs -I{} basename {}",
		"wait", "n=0; ((n++)); echo $n",
	} {
		if got := ask(command, troupe.ModeDefault); got != troupe.Allow {
			t.Errorf("%s is not allowed", command)
		}
		if got := ask(command, troupe.ModeBypass, rm, troupe.Rule{Effect: troupe.Deny, Text: "Edit(fa)"}); got !=
			troupe.Allow {
			t.Errorf("%s is not allowed although no rule is about it", command)
		}
	}
	for _, command := range []string{
		"go vet 2>&1 | tee /dev/stderr", "go vet; echo x >/dev/stderr", "n=1; ((n++)); go vet", "go vet > /dev/null",
	} {
		if got := ask(command, troupe.ModeDefault, troupe.Rule{Effect: troupe.Allow, Text: "Bash(go vet:*)"}); got !=
			troupe.Allow {
			t.Errorf("%s is not allowed by its rule", command)
		}
	}
}
