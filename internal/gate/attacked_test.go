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
	} {
		if got := ask(command, troupe.ModeDefault, all, rm); got == troupe.Allow {
			t.Errorf("%s is allowed although rm is denied", command)
		}
	}
}
