package gate

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// readAlone is a command in /proj on a machine without a sandbox. Keys are hidden in the home;
// withEnv: so is a file in the project.
func readAlone(command string, withEnv bool, rules ...rule.Rule) troupe.Decision {
	q := query("Bash", bash(command), rules...)
	q.Chain[0].Mode, q.SafeGit = troupe.ModeDefault, true
	there := []string{"/home/u/.ssh", "/home/u/.aws", "/home/u/.bash_history"}
	if withEnv {
		there = append(there, "/proj/.env")
	}
	q.HiddenFiles = func() []string { return there }
	q.Hidden = func(p string) (string, bool) {
		for _, h := range there {
			if _, ok := rule.Below(h, p, false); ok {
				return "it is a secret", true
			}
		}
		return "", false
	}
	return Decide(q)
}

// What is hidden does not come out by a folder that is changed to, a variable, a pipe or a walk;
// and what cannot come to it is not asked about.
func TestReaderAloneKeepsSecrets(t *testing.T) {
	t.Parallel()
	const kept = "ask|deny"
	for _, test := range []struct {
		command string
		want    string
		without bool // the project has nothing that is hidden
	}{
		{"cd; cat .aws/credentials", kept, false},
		{"cd --; cat .aws/credentials", kept, false},
		{"cd -; cat .aws/credentials", kept, false},
		{"cd -P; cat .aws/credentials", kept, false},
		{"cd -P -- ~; cat .aws/credentials", kept, false},
		{"(cd; cat .aws/credentials)", kept, false},
		{"command cd; cat .aws/credentials", kept, false},
		{"builtin cd && cat .aws/credentials", kept, false},
		{"cd ~/.s*; cat id_rsa", kept, false},
		{"cd ~/.s?h && head id_rsa", kept, false},
		{"pushd; cat .aws/credentials", kept, false},
		{"pushd ~ && cat .aws/credentials", kept, false},
		{"CDPATH=~ cd .aws; cat credentials", kept, false},
		{"cd \"\" ; cd; cat .ssh/id_rsa", kept, false},
		{"x=.en; cat ${x}v", kept, false},
		{"u=home; cat ../$u/u/.ssh/id_rsa", kept, false},
		{"d=/home/u; cat \"$d/.aws/credentials\"", kept, false},
		{"for d in ../home/u; do cat $d/.ssh/id_rsa; done", kept, false},
		{"for f in .env README.md; do cat $f; done", kept, false},
		{"a=.e; b=${a}nv; cat $b", kept, false},
		{"a=.e; a+=nv; cat $a", kept, false},
		{"cat ~/.ss$@h/id_rsa", kept, false},
		{"cat ~/.ss${zz}h/id_rsa", kept, false},
		{"find ~ -name credentials | xargs cat", kept, false},
		{"find ~ -name 'id_*' -exec base64 {} \\;", kept, false},
		{"find . -name .env -exec od -c {} \\;", kept, false},
		{"find . -name '.e*' -exec od -c {} +", kept, false},
		{"echo .env | xargs rev", kept, false},
		{"xargs cat <<< .env", kept, false},
		{"xargs cat <<EOF\n/home/u/.ssh/id_rsa\nEOF", kept, false},
		{"echo /home/u/.ssh/id_rsa | xargs cat", kept, false},
		{"printf '%s%s' /home/u/.ss h/id_rsa | xargs cat", kept, false},
		{"cat ~root/.ssh/id_rsa", kept, false},
		{"cat ~u/.ssh/id_rsa", kept, false},
		{"grep -r KEY ~", kept, false},
		{"grep -rn KEY .", kept, false},
		{"cat $(find ~ -name id_rsa)", kept, false},
		{"for f in $(find ~ -name id_rsa); do cat $f; done", kept, false},
		{"find ~ -name id_rsa | while read f; do cat \"$f\"; done", kept, false},
		{"cd ~ && rg KEY", kept, false},
		{"rg --hidden KEY", kept, false},
		{"cat $(echo ~/.ssh/id_rsa)", kept, false},
		{"echo asr_di/hss./u/emoh/ | rev | xargs cat", kept, false},
		{"cat ~/$(echo .ssh)/id_rsa", kept, false},
		{"cat .e*", kept, false},
		{"rg -g '*' KEY", kept, false},
		{"rg -uu KEY", kept, false},
		{"rg --glob '.e*' KEY", kept, false},
		{"cd src; grep -rn KEY .", kept, false},
		{"cd src || true && grep -rn KEY .", kept, false},
		{"cd src && tar -C .. -cf - . | base64", kept, false},
		{"grep -rl KEY . | xargs cat", kept, false},
		{"git ls-files | xargs cat", kept, false},
		{"git log -p", "allow", false},
		{"git show HEAD:README.md", "allow", false},
		{"git grep -n TODO", kept, false}, // whole lines, masked
		{"git grep TOKEN | head", kept, false},
		{"git grep TOKEN | rev", kept, false},
		{"git grep -o 'TOKEN=..'", kept, false},
		{"git grep -ho 'TOKEN=..'", kept, false},
		{"git grep --only-matching 'TOKEN=..'", kept, false},
		{"git grep -no 'TOKEN=..'", kept, false},
		{"x=$(git grep TOKEN); echo ${x:3}", kept, false},
		{"git grep TOKEN; git grep OTHER", kept, false},
		{"git grep -h TOKEN | base64", kept, false},
		{"git grep --cached -h TOKEN", kept, false},
		{"git grep --untracked TOKEN", kept, false},
		{"git -C . grep TOKEN | base64", kept, false},
		{"git grep -e TOKEN | base64", kept, false},
		{"git grep -e a --and -e b", kept, false},
		{"git grep TOKEN .", kept, false},
		{"git grep TOKEN -- :/", kept, false},
		{"git grep TOKEN -- ':!src' | base64", kept, false},
		{"git grep TOKEN -- '.e*'", kept, false},
		{"git grep TOKEN '.e*'", kept, false},
		{"git grep TOKEN .e*", kept, false},
		{"git grep TOKEN -- '*v'", kept, false},
		{"git grep TOKEN -- ':(glob)**/.env'", kept, false},
		{"git grep TOKEN -- '.en[v]'", kept, false},
		{"git grep TOKEN -- '?env'", kept, false},
		{"git grep TOKEN -- '\\.env'", kept, false},
		{"git grep TOKEN -- \"$X\"", kept, false},
		{"git grep TOKEN -- .env", kept, false},
		{"git grep TOKEN .env", kept, false},
		{"git grep -f .env x", kept, false},
		{"git log -L1,1:.env", kept, false},
		{"git log -L 1,1:.env", kept, false},
		{"git log -L:x:.env", kept, false},
		{"git log -L1,+3:./.env", kept, false},
		{"f=.env; git log -L1,1:$f", kept, false},
		{"git log -p -- '.e*'", kept, false},
		{"git log -p -- '*env'", kept, false},
		{"git log -p -- ':(top).env'", kept, false},
		{"git log -p -- ':(icase).ENV'", kept, false},
		{"git log -p -- ':/.env'", kept, false},
		{"git log -p -- .env", kept, false},
		{"git diff HEAD -- '.en[v]'", kept, false},
		{"git diff '.e*'", kept, false},
		{"git show HEAD -- '.e*'", kept, false},
		{"git blame -L1,1 .env", kept, false},
		{"git show :.env", kept, false},
		{"git grep -n TODO", "allow", true},
		{"git grep -n TODO -- '*.go'", kept, false},
		{"git grep -n TODO -- 'src/*'", kept, false},
		{"git grep -n TODO -- src ':!src/x'", kept, false},
		{"git grep -n TODO src", kept, false},
		{"git grep -n TODO HEAD", kept, false},
		{"git grep -A 3 -n TODO HEAD~1 -- '*.md'", kept, false},
		{"git log -L1,5:main.go", "allow", false},
		{"git log -L:main:main.go -- ", "allow", false},
		{"git log --oneline -- '*.go'", kept, false},
		{"git log -p -- 'src/*.go' ':!src/x.go'", kept, false},
		{"git diff --stat -- '*.md'", kept, false},
		{"git log --oneline -- src README.md", "allow", false},
		{"ls | head; git log -1", "allow", false},
		{"rg --version | head -1; ls", "allow", false},
		{"git log --oneline | head -3 && ls", "allow", false},
		{"git log -3 | head -n 5; ls -la; git status", "allow", false},
		{"(cd src && ls)", "allow", false},
		{"cd src && ls -la | head", "allow", false},
		{"ls | xargs echo", "allow", false},
		{"ls | xargs -n1 echo", "allow", false},
		{"ls | xargs -I{} printf '%s\\n' {}", "allow", false},
		{"cat notes.txt | xargs", "allow", false},
		{"cat notes.txt | xargs -n2", "allow", false},
		{"du -sh . && stat README.md && git log -1", "allow", false},
		{"pwd; date; uname -a; df -h; rg x", kept, false},
		{"f=$(basename a/b.go .go); echo $f; git log -1", "allow", false},
		{"d=$(date +%F); echo notes-$d; git log -1", "allow", false},
		{"ls -a | xargs cat", kept, false},
		{"ls -a | head | xargs cat", kept, false},
		{"ls -a | xargs echo | xargs cat", kept, false},
		{"cat notes.txt | xargs cat", kept, false},
		{"cat notes.txt | xargs -n1 head -1", kept, false},
		{"cat $(ls -a | head -5)", kept, false},
		{"head -1 $(cat notes.txt | xargs)", kept, false},
		{"ls -a | while read f; do head -1 $f; done", kept, false},
		{"(cd src && cat $(ls -a ..))", kept, false},
		{"head .env | xargs", kept, false},
		{"head .e* | xargs echo", kept, false},
		{"xargs -a .env echo", kept, false},
		{"xargs -a .env", kept, false},
		{"xargs < .env", kept, false},
		{"basename a/.env | xargs cat", kept, false},
		{"basename .env.bak .bak | xargs cat", kept, false},
		{"date +.env | xargs cat", kept, false},
		{"seq -f .env 1 1 | xargs cat", kept, false},
		{"cat $(basename x/.env)", kept, false},
		{"git diff --name-only HEAD~1 HEAD", "allow", false},
		{"gofmt -l .", kept, false},
		{"rg TODO", kept, false},
		{"rg -n \"func \\w+\" -g '*.go'", kept, false},
		{"cd src && grep -rn TODO . | head -5", kept, false},
		{"grep --exclude-dir=.git -rl Demo .", kept, false},
		{"tar -tf ~/.ssh/x", kept, false},
		{"cat ~/.*/id_rsa", kept, false},
		{"rg TODO", "allow", true},
		{"rg -n TODO src", "allow", true},
		{"grep -rn TODO .", "allow", true},
		{"find . -name '*.go' | xargs wc -l", kept, true},
		{"find . -name \"*.py\" -exec grep -l TODO {} +", "allow", true},
		{"git ls-files '*.md' | xargs wc -l", kept, true},
		{"for f in $(git ls-files '*.py'); do wc -l \"$f\"; done", kept, true},
		{"cd src && grep -rn TODO . | head -5", "allow", true},
		{"f=README.md; head -1 \"$f\"", "allow", true},
		{"diff README.md notes.txt", "allow", true},
		{"git log -p", "allow", true},
		{"cat ~/notes.txt", "allow", true},
		{"echo README.md | xargs wc -l", kept, true},
		{"find . -name '*.md' -print0 | xargs -0 wc -l", kept, true},
		{"cat src/*.go | head", "allow", true},
		{"for i in 1 2 3; do echo $i; done", "allow", true},
		{"n=$(git rev-list --count HEAD) && echo \"$n commits\"", "allow", true},
		{"find . -name '*.md' -print0 | xargs -0 wc -l", kept, false},
		{"rg TODO src", "allow", false},
		{"grep -rn TODO src", "allow", false},
		{"grep -rn --include='*.go' TODO .", kept, false},
		{"cat README.md", "allow", false},
		{"git status", "allow", false},
		{"git log --oneline -5", "allow", false},
		{"cd src && cat main.go", "allow", false},
		{"ls -la", "allow", false},
		{"diff README.md notes.txt", "allow", false},
		{"cat ~/notes.txt", "allow", false},
		{"find src -type f -exec head -1 {} \\;", "allow", false},
		{"sed -n '1,5p' main.go", "allow", false},
		{"echo \".env is ignored\"", "allow", false},
		{"rg -A 3 TODO src", "allow", false},
		{"a=~/.s; a+=sh/id_rsa; cat $a", kept, false},
		{"set -- ~/.ssh; cat $1/id_rsa", kept, false},
	} {
		d := readAlone(test.command, !test.without)
		if !strings.Contains(test.want, string(d.Effect)) {
			t.Errorf("%q: %+v", test.command, d)
		}
		if d.Effect == troupe.Ask && strings.HasSuffix(d.Why, "it runs a command") {
			t.Errorf("%q does not say what it may read: %+v", test.command, d)
		}
	}
	d := readAlone("find . -name .env -exec od -c {} \\;", true)
	if !strings.Contains(d.Why, "/proj/.env") {
		t.Errorf("the file is not named: %+v", d)
	}
}

// Rules that deny and those that allow, where commands are judged by reading them alone.
func TestRulesSeeThrough(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rules, command, want string }{
		{`deny Read(~/private.txt)`, "cd; cat private.txt", "deny"},
		{`deny Read(~/private.txt) | allow Bash`, "cd; python3 private.txt", "deny"},
		{`deny Read(~/private.txt) | allow Bash`, "cd $X; cat private.txt", "deny"},
		{`deny Read(~/private.txt) | allow Bash`, "pushd; cat private.txt", "deny"},
		{`deny Read(~/private.txt)`, "cd -; cat private.txt", "deny"},
		{`deny Read(topsecret.txt)`, "x=topsecret; cat $x.txt", "deny"},
		{`deny Read(topsecret.txt) | allow Bash`, "x=topsecret; python3 $x.txt", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "env - curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "env -i - curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "env - A=1 curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "env - PATH=/bin /usr/bin/curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "env -S 'curl x'", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "env --split-string='curl x'", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "eval -- curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "eval -- 'A=1; curl x'", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "fd -x curl", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "fd . -X curl {}", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "fd --exec=curl", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "rg --pre curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "rg --pre=curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "bash <<< 'curl x'", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "bash <<EOF\ncurl x\nEOF", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "sh -s <<'EOF'\nA=1 curl x\nEOF", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "echo curl x | bash", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "printf 'curl x\\\n' | sh", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "cat f | sh", "deny|ask"},
		{`allow Bash | deny Bash(curl:*)`, "bash < f", "deny|ask"},
		{`allow Bash | deny Bash(curl:*)`, "source /dev/stdin <<< 'curl x'", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "find . -exec env - curl {} \\;", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "git bisect run curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "nohup env - nice curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "exec -a foo curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "sudo -u bob -- env - curl x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "tar --to-command=curl -xf a", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "trap -- 'curl x' EXIT", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "bash -c -- 'curl x'", "deny"},
		{`allow Bash | deny Bash(rm -rf:*)`, "env - rm -rf x", "deny"},
		{`allow Bash | deny Bash(curl:*)`, "grep -r curl src", "allow"},
		{`allow Bash | deny Bash(curl:*)`, "rg curl src", "allow"},
		{`allow Bash | deny Bash(curl:*)`, "fd curl", "allow"},
		{`allow Bash | deny Bash(curl:*)`, "echo curl x", "allow"},
		{`allow Bash | deny Bash(curl:*)`, "bash script.sh", "allow"},
		{`allow Bash | deny Bash(curl:*)`, "npm install curl", "allow"},
		{`allow Bash | deny Bash(curl:*)`, "git commit -m \"use curl\"", "allow"},
		{`allow Bash | deny Bash(curl:*)`, "cat <<EOF\ncurl x\nEOF", "allow"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/y", "allow"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/y/z", "allow"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/../../etc/passwd", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/'..'/../etc/passwd", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/\"../..\"/etc/passwd", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/.\\./../etc/passwd", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/{..,a}/b", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/$(echo ..)/b", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "d=..; rm /tmp/x/$d/b", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/.?/b", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/a; rm y", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/a\nrm y", "ask"},
		{`allow Bash(rm /tmp/x/*)`, "rm /tmp/x/a ../../y", "ask"},
		{`allow Bash(bash -c 'echo *')`, "bash -c 'echo x; rm -rf y'", "ask"},
		{`allow Bash(bash -c 'echo *')`, "bash -c 'echo x'", "allow"},
		{`allow Bash(bash -c "echo *")`, "bash -c \"echo x && rm -rf y\"", "ask"},
		{`allow Bash(cp src/* dst/*)`, "cp src/../../etc/passwd dst/x", "ask"},
		{`allow Bash(cp src/* dst/*)`, "cp src/a dst/x", "allow"},
		{`allow Bash(go test:*)`, "go test ./...", "allow"},
		{`allow Bash | deny Edit(go.mod)`, "x=go; echo y > $x.mod", "deny|ask"},
		{`allow Bash | deny Edit(go.mod)`, "echo y > $(echo go.mod)", "deny|ask"},
		{`allow Bash | deny Edit(go.mod)`, "echo y > g*.mod", "deny|ask"},
		{`allow Bash | ask Edit(go.mod)`, "echo y > $F", "deny|ask"},
		{`allow Bash | deny Edit(go.mod)`, "x=a; echo y > $x.txt", "allow"},
		{`allow Bash`, "echo y > $F", "allow"},
		{`allow Bash | deny Edit(go.mod)`, "make > /dev/null", "allow"},
		{`deny Read(**/*.{pem,key})`, "cat a.pem", "deny"},
		{`deny Read(**/*.{pem,key})`, "cat x/y.key", "deny"},
		{`deny Read(**/*.{pem,key})`, "cat y.kex", "allow"},
		{`deny Read({src,lib/x}/**)`, "cat lib/x/a", "deny"},
		{`deny Bash(rm)) | allow Bash`, "rm x", "deny"},
		{`deny Bash(rm -rf /)) | allow Bash`, "rm -rf /", "deny"},
		{`deny Read(.env))`, "cat .env", "deny"},
		{`deny Read(src\app.js)`, "cat src/app.js", "deny"},
		{`deny Read(C:\x)`, "cat x", "deny"},
		{`deny Read(C:\\x)`, "cat x", "deny"},
		{`deny Bash("rm -rf":*) | allow Bash`, "rm -rf x", "deny"},
		{`deny Bash('rm -rf' *) | allow Bash`, "rm -rf x", "deny"},
		{`deny Shell(rm) | allow Bash`, "rm x", "deny"},
		{`deny BashTool(rm:*) | allow Bash`, "rm x", "deny"},
		{`deny Shell | allow Bash`, "rm x", "deny"},
	} {
		var rules []rule.Rule
		for _, text := range strings.Split(test.rules, " | ") {
			effect, text, _ := strings.Cut(text, " ")
			r, _ := ParseRule(troupe.Rule{Effect: troupe.Effect(effect), Text: text}) // its safe reading is what counts
			rules = append(rules, r)
		}
		if d := readAlone(test.command, false, rules...); !strings.Contains(test.want, string(d.Effect)) {
			t.Errorf("%s, %q: %+v", test.rules, test.command, d)
		}
	}
}

// A rule that means nothing as it is written says so, and what it does instead.
func TestMistakesInRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule    string
		tool    string
		call    troupe.Access
		says    string // "" for a rule that is followed
		denies  bool
		allowed bool // as an allow rule
	}{
		{"Read(**/*.{pem,key})", "Read", reads("/proj/a/b.key"), "", true, true},
		{"Read(**/*.{pem,key})", "Read", reads("/proj/a/b.kez"), "", false, false},
		{"Read(//{etc,var/{log,spool}}/x)", "Read", reads("/var/spool/x"), "", true, true},
		{"Read({id}/x)", "Read", reads("/proj/{id}/x"), "", true, true},
		{"Read(*.{pem,key)", "Read", reads("/proj/a.go"), "brace", true, false},
		{"Read(a}b)", "Read", reads("/proj/a.go"), "brace", true, false},
		{"Read(a{1..3})", "Read", reads("/proj/a.go"), "range", true, false},
		{"Bash(rm))", "Bash", bash("rm"), "parenthesis", true, false},
		{"Bash(rm -rf /))", "Bash", bash("rm -rf /"), "parenthesis", true, false},
		{"Bash(echo (a))", "Bash", bash("echo (a)"), "", true, true},
		{"Read(.env))", "Read", reads("/proj/.env"), "parenthesis", true, false},
		{"Edit(a))", "Write", writes("/proj/a"), "parenthesis", true, false},
		{`Read(src\app.js)`, "Read", reads("/proj/src/app.js"), "probably meant", true, false},
		{`Read(src\*.js)`, "Read", reads("/proj/src*.js"), "", true, true},
		{`Read(C:\x)`, "Read", reads("/proj/x"), "drive", true, false},
		{"Read(C:/x)", "Read", reads("/proj/x"), "drive", true, false},
		{`Bash("rm -rf":*)`, "Bash", bash("rm -rf x"), "quotes", true, false},
		{`Bash('rm -rf' *)`, "Bash", bash("rm -rf x"), "quotes", true, false},
		{`Bash("/opt/my tool":*)`, "Bash", bash("x"), "quotes", true, false},
		{`Bash(echo "a":*)`, "Bash", bash(`echo "a" b`), "", true, true},
		{"Agent(Explor)", "Agent", troupe.Access{Class: troupe.ClassExec, Agent: "Explore"}, "no agent", true, false},
		{"Agent(Explor)", "Agent", troupe.Access{Class: troupe.ClassExec, Agent: "Explor"}, "no agent", true, true},
		{"Agent(mine)", "Agent", troupe.Access{Class: troupe.ClassExec, Agent: "mine"}, "", true, true},
		{"Shell(rm)", "Bash", bash("rm"), "Bash was probably meant", true, false},
		{"BashTool(rm:*)", "Bash", bash("rm x"), "Bash was probably meant", true, false},
		{"run_shell_command(rm)", "Bash", bash("rm"), "Bash was probably meant", true, false},
		{"MultiEdit(a)", "Edit", writes("/proj/a"), "Edit was probably meant", true, false},
		{"MCP__gh", "mcp__gh__x", troupe.Access{Class: troupe.ClassExec}, "other letters", true, false},
		{"WebFetch(domain:*)", "WebFetch", fetch("https://a.example/"), "", true, true},
	} {
		r, err := ParseRule(troupe.Rule{Effect: troupe.Deny, Text: test.rule})
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("deny %s says %v", test.rule, err)
		}
		q := query(test.tool, test.call, r)
		q.Chain[0].Mode = troupe.ModeBypass
		if d := Decide(q); (d.Effect == troupe.Deny) != test.denies {
			t.Errorf("deny %s: %+v", test.rule, d)
		}
		r, err = ParseRule(troupe.Rule{Effect: troupe.Allow, Text: test.rule})
		if test.says == "" && err != nil {
			t.Errorf("allow %s says %v", test.rule, err)
		}
		if d := Decide(query(test.tool, test.call, r)); (d.Step == StepAllowRule) != test.allowed {
			t.Errorf("allow %s: %+v", test.rule, d)
		}
	}
}

// A path with anything in it has a rule that means exactly it.
func TestPathRulesOfUnusualNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/proj/a{b,c}", "/proj/{x", "/proj/a)", "/proj/(a)", `/proj/a\b`, "/proj/[x]*",
		"/proj/a b#~$'\"&;!"} {
		r, err := ParseRule(troupe.Rule{Effect: troupe.Allow, Text: PathRule("Edit", name)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := Decide(query("Edit", writes(name), r)); d.Effect != troupe.Allow {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// What only reads does not have go fetch another toolchain.
func TestEnviron(t *testing.T) {
	t.Parallel()
	have := strings.Join(Environ(), " ")
	if !strings.Contains(have, "GOTOOLCHAIN=local") || !strings.Contains(have, "GIT_CONFIG_COUNT=") {
		t.Errorf("%s", have)
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"a=~/x; cat $a", "cat \"$HOME\"/~+", "x=${y:-$x}; cat $x$x$x", "a+=b; a+=$a; cat ~u/$a",
		"cd ~-; cat ${@}a*", "find . -name '[' | xargs cat"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		for _, withEnv := range []bool{false, true} {
			if d := readAlone(command, withEnv); d.Effect == "" {
				t.Errorf("%q: %+v", command, d)
			}
		}
	})
}
