package command

import "testing"

// shellItself are commands that tell or change how the shell works, or about patches and objects.
func shellItself() []string {
	return []string{

		"while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done", "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
		"n=$((2+3)); [ $n -eq 5 ] && echo yes", "for i in 1 2 3; do [ $i = 2 ] && echo two; done",
		"for i in {1..9}; do [ $i -gt 2 ] || echo $i; done",
		"[ $(git status --porcelain | wc -l) -eq 0 ]", "[ $(wc -l < f) -gt 3 ] && echo long",
		"test $(ls | wc -l) -ne 0", "if [ $(cat f | wc -w) = 3 ]; then echo three; fi",
		"i=1; ((i == 1)); [ $i -lt 3 ] && echo less", "((i = 1)); [ $i -lt 3 ]",
		"echo $(( $(wc -l < f) + 1 ))", "echo $(($(git log --oneline | wc -l) * 2))",
		"stat -c%s f || stat -f%z f", "stat -f '%z %N' f", "stat -fc %T .", "ruby --version",
		"git var GIT_EDITOR",
		"go env", "go env GOPATH GOOS",
	}
}

// besideThem are their neighbours that would do more.
func besideThem() []string {
	return []string{
		"set", "set -o", "set +o", "set -a; x=1; ls", "set -k; ls", "set -m", "set -- -oPWNED; sort $1", "set - x",
		"set x", "set -e x", "set -f", "set -x; ls", "set -o xtrace", "set -o posix", "set -o vi", "set -eo",
		"set \"$x\"", "set -o \"$x\"", "set -T", "set -h", "command set", "set -e; rm x", "set -e -- a",
		"export", "export -p", "export -n x", "export -f f", "export PATH=.; ls", "export LD_PRELOAD=./x.so; ls",
		"export LD_LIBRARY_PATH=.", "export BASH_ENV=x", "export IFS=x", "export PROMPT_COMMAND=x", "export ENV=x",
		"export GIT_DIR=x; git log", "export GIT_CONFIG_COUNT=0; git status", "export http_proxy=x",
		"export npm_config_x=y", "export PAGER=./x; git log", "export LESSOPEN='|x'", "export TZ=/x", "export HOME=x",
		"export TAR_OPTIONS=x", "export GREP_OPTIONS=x", "export $x", "export \"$x=1\"", "export \"x=$y\"",
		"export SECRET; echo $SECRET", "export PS4='$(x)'; set -x; ls", "export LC_ALL=$x",
		"x=a; export x=-oPWNED; sort $x", "x=a; export \"x=-oPWNED\"; sort $x",
		"x=a; command export x=-oPWNED; sort $x", "x=a; builtin export x=-oPWNED; sort $x",
		"x=1 export x=-oPWNED; sort $x", "export x=-oPWNED; sort $x", "export x+=-oPWNED; sort $x",
		"for f in a; do export f=-oPWNED; sort $f; done", "time export x=-oPWNED; sort $x", "xargs export x",
		"export x=/dev/tcp/1/2; cat < $x",
		"[ $i -lt 3 ]", "((i == 1)); [ $i -lt 3 ]", "((i != 1)); [ $i -lt 3 ]", "((i <= 1)); [ $i -lt 3 ]",
		"((i >= 1)); [ $i -lt 3 ]", "read i < f; [ $i -lt 3 ]", "i=1; read i < f; [ $i -lt 3 ]",
		"i=1; i=$x; [ $i -lt 3 ]", "i='x -o -v a[$(touch PWNED)]'; [ $i -lt 3 ]",
		"i=1; export \"i=x -o -v a[$x]\"; [ $i -lt 3 ]", "i=1; export i='x -o y'; [ $i -lt 3 ]",
		"i=1; command export i=x; [ $i -lt 3 ]", "for i in $(ls); do [ $i -lt 3 ]; done", "i=1; i+=x; [ $i -lt 3 ]",
		"i=1; printf -v i x; [ $i -lt 3 ]", "i=1; [ -v $i ]", "i=(1 2); [ $i -lt 3 ]",
		"[ $(cat f) -eq 0 ]", "[ $(wc -l f) -eq 0 ]", "[ $(wc -l < f; cat f) -eq 0 ]", "[ $(wc f) = 0 ]",
		"[ $(wc -l || cat f) -eq 0 ]", "[ $(cat f || wc -l) -eq 0 ]", "[ $(cat f && wc -l) -eq 0 ]",
		"echo $(( $(cat f; wc -l) ))", "[ $(wc -l < f >&2) -eq 0 ]", "[ $(cat f | wc -l 2>&1) -eq 0 ]",
		"[ $(wc -l | cat) -eq 0 ]", "[ $(./wc -l < f) -eq 0 ]", "[ `cat f` -eq 0 ]", "[ $(wc --files0-from=f) -eq 0 ]",
		"[ $(wc -l < f)$x -eq 0 ]", "[ -v $(wc -l < f) ]",
		"echo $(( $(cat f) + 1 ))", "echo $(( $(wc -l f) + 1 ))", "echo $(( $(wc -l < f; echo 'a[$(touch PWNED)]') ))",
		"echo $(( x[$(wc -l < f)] ))", "wc() { echo 'a[$(touch PWNED)]'; }; echo $(( $(wc -l) ))",
		"i=1; export \"i=a[$(touch PWNED)]\"; echo $((i))", "i=1; export 'i=a[$(touch PWNED)]'; echo $((i))",
		"i=1; command export 'i=a[$(touch PWNED)]'; echo $((i))",
		"umask 077", "umask -S u=rwx", "ulimit -n 10", "ulimit -c unlimited", "ulimit \"$x\"", "jobs -x touch PWNED",
		"jobs \"$x\"", "dirs -c", "help \"$x\"", "openssl version -x", "openssl version -engine x", "openssl",
		"openssl enc -in f", "ruby -v x.rb", "ruby -e 1", "ruby", "stat --printf='\\033c' f",
		"git hash-object -w f", "git hash-object --stdin-paths", "git hash-object --path=x f",
		"git hash-object -wt blob f", "git apply p", "git apply --check --apply p", "git apply --stat --apply p",
		"git apply --index p", "git apply --check --3way p", "git apply --check --reject p",
		"git apply --check --build-fake-ancestor=x p", "git apply -R p", "git format-patch HEAD~1",
		"git format-patch --stdout -o x HEAD~1", "git format-patch --stdout --output=x HEAD",
		"git format-patch --no-stdout HEAD", "git format-patch --stdout --signature-file=x HEAD",
		"git format-patch --stdout --ext-diff HEAD", "git fsck --lost-found", "git var -l", "git bisect start",
		"git bisect run x", "git bisect", "git bisect reset", "git bisect log x", "git bisect replay f",
		"go env -w X=1", "go env -u X", "go env -json -w X=1", "go list -m all", "go list -m -u all",
		"go list -m -mod=mod", "go list", "go list -m -f x", "go list -json -m", "go list \"$x\"",
		"cd x && git hash-object f", "alias ls=rm", "shopt -s expand_aliases", "hash -p ./x ls; ls", "enable -f ./x ls",
	}
}

func TestJudgeShellItself(t *testing.T) {
	t.Parallel()
	for _, c := range shellItself() {
		if v := Judge(c, Options{SafeGit: true, Folder: "/w"}); !v.ReadOnly {
			t.Errorf("Judge(%q) says it %s", c, v.Why)
		}
	}
	for _, c := range besideThem() {
		if v := Judge(c, Options{SafeGit: true, Folder: "/w"}); v.ReadOnly || v.Why == "" {
			t.Errorf("Judge(%q) is %+v", c, v)
		}
	}
}

// What rules that forbid are told of programs that start others.
func TestCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		text    string
	}{
		{"sed '1e x' f", "1e x"}, {"sed -e p -e '1e x' f", "p\n1e x"}, {"sed --expression '1e x'", "1e x"},
		{"sed -i.e 's/a/b/' f", ""}, {"sed -f 1e f", ""}, {"sed 's/a/b/;w e' f", ""},
		{"sed 's/a/b/we\ne x' f", "s/a/b/we\ne x"},
		{"sed -- '1e x' f", "1e x"}, {"sed \"s/$x/$y/\" f", ""}, {"sed \"$x\" f", "$"}, {"sed", ""},
		{"sed --version", ""}, {"awk 1", ""}, {"awk \"$x\"", "$"}, {"awk '{system(1)}'", "{system(1)}"},
		{"awk -f system f", ""}, {"awk -vx=1 '{print | \"x\"}'", "{print | \"x\"}"},
		{"awk '{print $1 > \"f\"}'", ""}, {"awk -F '|' '/a|b/'", ""},
		{"gawk --source='BEGIN{system(1)}'", "BEGIN{system(1)}"}, {"cat '1e x'", ""},
	} {
		read, err := Read(c.command)
		if err != nil {
			t.Fatal(err)
		}
		if got := code(read.Parts[0].Words); got != c.text {
			t.Errorf("code(%q) is %q, not %q", c.command, got, c.text)
		}
	}
}
