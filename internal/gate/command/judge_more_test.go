package command

import (
	"strings"
	"testing"
)

// more are commands that do more than read, beside the recorded ones: one for each way that
// the tables and parsers have to close.
func more() []string {
	return []string{
		// redirects
		"ls >f", "ls >&f", "ls &>f", "ls >|f", "ls <>f", "ls >>/dev/../tmp/x", "ls >/dev/tcp/1/2", "cat </dev/tcp/1/2",
		"cat < $x", "ls > /dev/null/../x", "ls {fd}>f", "ls 3>f",
		"cat < \"$(cat x)\"", "f=/dev/tcp/127.0.0.1/9; cat < $f", "ls > \"/dev/nul\"l2", "echo x >/dev/tty",
		"exec 3<>/dev/tcp/1/2",
		// variables that may have no value
		"false && f=a; sort \"$f-oP\" x", "false && f=a; sort \"${f}-oP\"", "false && p='#'; sed \"${p}w f\" x",
		"for f in src/*; do sort \"$f-oP\"; done", "(f=x); sort \"$f\"-oP", "for f in src/*; do sort \"$g$f\"; done",
		// options
		"sort --out=f a", "sort --o f", "sort -bo f", "sort -uof a", "sort a -o f", "sort -- a -o f >f",
		"sort --compress-prog=x a", "sort --comp x a", "sort -T . a", "uniq a b", "uniq -c a b",
		"uniq a{,.bak}", "uniq *", "uniq $(ls)", "uniq ./*", "xxd a b", "xxd -r a b", "xxd -r a", "sort *",
		"sort $(cat f)", "sort \"$(cat f)\"", "sort $x", "x=-oP; sort $x", "x='a -oP'; sort $x", "f='-o P'; sort $f a",
		"split a", "csplit a 1", "tee f", "tee -a f", "tee -- f", "tee *", "tee \"$x\"", "shuf -o f a",
		"shuf --output=f a", "iconv -o f a", "iconv --output=f a", "tree -o f", "tree -R -H . -o f", "date -s x",
		"date 01010101", "date --set=x", "hostname evil", "hostname -F f",
		"file -C -m x", "file -p x", "file --preserve-date x", "file -m magic x", "file -z x", "base64 -o f a",
		"dd of=f", "dd if=a of=f", "diff --output=f a b >f", "pr -o f a >f", "cal >f", "strings -T x @f >f",
		"column -o f >f",
		"for x in -o P; do sort $x a; done", "for f in *; do sort $f; done", "for f in *; do uniq $f; done",
		"while read f; do sort $f; done <l", "sort -k $x -- -oP", "sort -k$x -oP", "find . $x", "find . \"$x\"",
		"find $x", "find *", "find . -name *", "find . -delete", "find . -fprint f", "find . -fprint0 f",
		"find . -exec rm {} +", "find . -execdir ls {} +", "find . -ok ls {} \\;", "find . -exec ls {} \\; -delete",
		"find . -name x -exec sh -c 'ls' \\;", "find . -exec {} \\;", "find . -exec ls \\; -fls f",
		"find -files0-from x -delete", "find . -exec sort {} -o P \\;", "find . -exec sort {} + -o P \\;",
		"find . -exec uniq {} +",
		"find . -exec uniq {} P \\;", "ls | xargs rm", "ls | xargs sort", "ls | xargs -I{} sh -c {}",
		"ls | xargs -p cat", "ls | xargs -a f -o vim", "ls | xargs uniq", "ls | xargs -0 -r -n1 tee",
		"ls | xargs --arg-file=x rm", "ls | xargs -n1 -I {} cp {} x", "ls | xargs -P4 git", "ls | xargs env",
		"ls | xargs find", "ls | xargs echo x >f", "ls | xargs command", "ls | xargs timeout 5",
		"ls | xargs xargs rm", "ls | xargs xargs", "ls | xargs sed -n p", "ls | xargs awk 1", "ls | xargs tar tf",
		"xxd README.md -p", "xxd -bc 5 x", "xxd -ab x y", "xxd -- a", "xxd -c x f", "uniq x -c", "sort -k -oP x",
		"sort -t -o f", "tree -L -o x", "rg -e --pre x",
		// sed
		"sed -i s/a/b/ f", "sed -ni p f", "sed --in-place p f", "sed --in-pl p f", "sed -n w\\ f", "sed 'w f' x",
		"sed '1,3w f' x", "sed '/a/w f' x", "sed '/a/!w f' x", "sed -n '/a/{p;w f\n}' x", "sed 's/a/b/w f' x",
		"sed 's/a/b/gw f' x", "sed 's|a|b|e' x", "sed 's,a,b,;e' x", "sed e x", "sed '1!e ls' x",
		"sed 'y/a/b/;w f' x", "sed 's/[/]/x/w f' x", "sed 's/\\//x/w f' x", "sed 's/a/b\\/;w f/;e' x",
		"sed -e p -e 'w f' x", "sed -f s x", "sed --file=s x", "sed --expression='w f' x", "sed \"$p\" x", "sed *",
		"sed -s -i p x", "sed 'a\\' -e 'w f'", "sed ':a;w f' x", "sed 'ba;w f' x", "sed '$!{N;w f\n}' x",
		"sed '#n\nw f' x", "sed 'r f' x", "sed 'R f' x", "sed 'W f' x",
		"sed '0~3w f' x", "sed '\\,a,w f' x", "sed '\\aXaw f' x", "sed 'p;p;p;1{e ls\n}' x", "sed 'i\\foo\nw f' x",
		"sed 'i foo\nw f' x", "sed -E -i.bak p x", "sed -n --quiet -i p x", "sed 'sxaxbxw f' x", "sed 's\na\nb\nw f' x",
		"sed p -i x", "sed -Ei p x", "sed -zi p x", "sed --debug -i p x", "sed -l5 -i p x", "sed -l 5i p -i x",
		// awk
		"awk '{print > \"f\"}' x", "awk '{print>\"f\"}' x", "awk '{printf \"a\" >> \"f\"}' x",
		"awk '{print | \"sh\"}' x", "awk 'BEGIN{system(\"x\")}'", "awk 'BEGIN{\"x\" | getline}'",
		"awk 'BEGIN{while((\"x\"|getline l)>0);}'", "awk '{print a,\nb > \"f\"}' x", "awk -f f x", "awk -v x=1 -f f",
		"awk -i inplace 1 f", "awk --include=x 1", "awk -l x 1", "awk -o f 1", "awk -d 1",
		"awk -p 1", "awk \"$x\" f", "awk *", "awk '@load \"x\"'", "awk 'BEGIN{f=\"system\";@f(\"x\")}'",
		"awk 'BEGIN{print ENVIRON[\"X\"]}'", "awk '{a=1/2; print \"x/\" > \"f\"}' x",
		"awk '{x=a++/2;print > \"/f\"}' x", "awk '(1)/\"/;{print > \"f\"}#/\"' x", "awk 'BEGIN{ARGV[1]=\"x\"}'",
		"awk '{print |& \"x\"}' x", "awk '/[/]/{print > \"f\"}#/' x",
		"awk '/[]/]/{print > \"f\"}#/' x", "awk '{print a > (b)}' x", "awk -F: -f x y", "awk -F : -f x y",
		"awk 1 /inet/tcp/0/a/1", "awk --source=1", "awk -e 1", "gawk --profile=f 1", "gawk -S 1", "mawk -W exec=f",
		"awk 'BEGIN { printf \"a\"|\"sh\" }'", "awk -v 'x=1' -- -f y 'BEGIN{system(\"x\")}' >f",
		// tar, zip and the like
		"tar xf a", "tar cf a b", "tar tf a --checkpoint-action=exec=x", "tar tf a --to-command=x", "tar -tIx -f a",
		"tar tf a -I x", "tar tf a --use-compress-program=x", "tar tf a --use-comp=x", "tar tf host:a",
		"tar --rsh-command=x -tf h:a", "tar rf a b", "tar tFf x a", "tar -t -F x -f a", "tar uf a", "tar dxf a",
		"tar tf * ", "tar tf a --info-script=x", "tar tf a --index-file=f", "tar tvf a --rmt-command=x", "tar tg f",
		"tar tf a --remove-files", "unzip a", "unzip -o a", "gzip a", "gunzip a", "gzip -k a", "xz a", "zip a b",
		"ar x a", "ar r a b", "gzip -rf .", "zstd -o f a", "zstd -c a -o f", "bzip2 -k a", "gzip -S x a", "gzip *",
		"unzip -p a -d x", "unzip *",
		// programs
		"python3 x", "python -c 1", "node x", "perl -e 1", "ruby x", "make", "make -n", "npm test", "npm --version",
		"yarn --version", "cargo --version", "curl x", "wget x", "ssh x", "nc x 1", "vim x", "more x", "man x", "ldd x",
		"gdb x", "strace ls", "sudo ls", "su", "at", "crontab -l", "env", "env -i x", "env -S 'ls'", "env FOO=1 ls",
		"env PATH=. ls", "printenv", "printenv ANTHROPIC_API_KEY", "set", "export", "export -p", "declare -p",
		"declare", "compgen -v", "compgen -e", "alias", "readonly", "typeset", "local x",
		"nohup ls", "exec ls", "exec >f", "eval ls", "source x", ". x", "trap ls EXIT", "set -x", "shopt -s extglob",
		"enable -f x y", "hash -p x ls", "alias ls=rm", "unalias ls", "bind x", "ulimit -n 1", "umask 0", "kill 1",
		"pushd", "pushd +1", "pushd -n x", "popd +1", "history", "fc", "disown", "suspend", "logout",
		"coproc PATH { ls; }", "command eval ls", "builtin eval ls", "builtin source x", "bash x", "bash -c ls",
		"sh -c 'ls'", "busybox ls", "./ls", "tools/ls", "$PWD/ls", "~/ls", "/tmp/ls", "/usr/local/bin/../../../tmp/ls",
		"/bin/../tmp/ls", "ls-x", "git-hello",
		"tools/timeout 1 ls", "/usr/bin/time -o f ls", "\\time -o f ls", "timeout -s KILL 1 rm x", "nice -n 5 rm",
		"stdbuf -oL rm x", "command rm x", "time rm x", "timeout 5 sh x", "xargs -a f rm", "nice -5 tee f", "setsid ls",
		"unshare ls", "flock f ls", "watch ls", "chroot . ls", "script f", "crontab -e", "mail x", "logger x", "wall x",
		"write x", "tput clear", "clear", "reset", "stty sane", "setterm", "sysctl -w a=b", "ip link", "ifconfig x up",
		"mkfifo f", "mknod f", "truncate -s0 f", "touch f", "mkdir d", "cp a b", "mv a b", "ln a b", "rm f", "rmdir d",
		"install a b", "chmod 1 f", "chown a f",
		// variables
		"PATH=. ls", "LD_PRELOAD=x ls", "IFS=x; ls", "PATH=x; ls", "export PATH=x; ls", "BASH_ENV=x ls", "PS4=x; ls",
		"GIT_DIR=x git status", "GIT_PAGER=x git log", "PAGER=x git log", "LC_ALL=../x sort f", "LC_ALL=/tmp/x sort f",
		"LOCPATH=. sort f", "LESSOPEN=x; ls", "x=$(rm y) ls", "x=$(rm y)", "TMPDIR=. sort f", "read PATH <f; ls",
		"mapfile PATH <f; ls", "for PATH in tools; do ls; done", "printf -v PATH x; ls", ": ${PATH:=x}; ls",
		"((PATH=1)); ls", "echo $((PATH=1)); ls", "ls {PATH}>/dev/null; ls", "http_proxy=x ls",
		"GIT_TRACE=/tmp/f git log", "RIPGREP_CONFIG_PATH=x rg a", "GREP_OPTIONS=x grep a", "BROWSER=x ls",
		"TZ=:/etc/shadow date", "declare PATH=x; ls", "readonly PATH=x", "typeset -x PATH=x", "local PATH=x",
		"let PATH=1", "getopts a PATH", "unset PATH", "LD_LIBRARY_PATH=. ls", "PYTHONPATH=. ls",
		"GCONV_PATH=. iconv -f a -t b x", "iconv -f ./x -t b f",
		"echo $ANTHROPIC_API_KEY", "echo ${AWS_SECRET_ACCESS_KEY:0:5}", "echo \"${!A@}\"", "echo ${#GITHUB_TOKEN}",
		"cat /proc/self/environ", "cat /proc/1/environ", "cat /proc/$$/environ", "strings /proc/self/mem",
		"cat /p*/self/environ", "cd /proc/self && cat environ", "cd /; cat proc/self/environ", "grep -r x /",
		"grep -r x /proc", "rg x /proc/self", "find /proc -name environ -exec cat {} +",
		"find / -name environ -exec cat {} +", "head ../../../../../proc/self/environ", "ps e", "ps eww", "ps auxe",
		"ps -o environ", "ps -eo pid,environ", "jq -n env", "jq -n '$ENV.X'", "jq -n \"$x\"",
		"awk 'BEGIN{for(k in ENVIRON)print k}'", "jq 'import \"x\" as y; .' f", "jq -f x f", "jq -L. . f",
		"cat < /proc/self/environ", "x=/proc/self/environ; cat $x", "cat /proc//self/./environ",
		"cat /proc/self/root/proc/1/environ", "dd if=/proc/self/environ", "xxd /proc/self/environ", "ps -C bash e",
		// expansions
		"echo \"$\\\n(rm x)\"", "echo $\\\n{x}", "echo \"a$\\\n\\\n(rm x)\"", "ls `rm x`", "ls \"`rm x`\"",
		"ls ${x:-`rm x`}", "ls ${x:-\"$(rm x)\"}", "echo \"${x:-'$(rm x)'}\"", "echo ${x:-<(rm x)}",
		"echo $((a[$(rm x)]))", "echo $[a[$(rm x)]]", "test -v 'a[$(rm x)]'", "[ -v 'a[$(rm x)]' ]",
		"[[ -v a[$(rm x)] ]]", "[[ -v 'a[$(rm x)]' ]]", "[ $x ]", "x=-v; [ $x 'a[$(rm x)]' ]",
		"[[ 'a[$(rm x)]' -eq 1 ]]", "x='a[$(rm x)]'; [[ $x -eq 1 ]]", "x='a[$(rm x)]'; ((x))",
		"x='a[$(rm x)]'; echo $((x))", "x='a[$(rm x)]'; echo ${y:x}", "x='a[$(rm x)]'; echo ${y[x]}",
		"read x <f; ((x))", "read 'a[$(rm x)]' <f", "unset 'a[$(rm x)]'", "printf -v 'a[$(rm x)]' x",
		"mapfile -C 'rm' -c1 a <f", "declare 'a[$(rm x)]=1'", "let 'a[$(rm x)]=1'", "p='$(rm x)'; echo ${p@P}",
		"echo \"${p@P}\"", "cat <<E\n$(rm x)\nE", "cat <<E\n`rm x`\nE", "cat <<E\n${x:-'$(rm x)'}\nE", "ls <(rm x)",
		"ls >(rm x)", "cat <<< $(rm x)", "case $(rm x) in *) ;; esac", "case a in $(rm x)) ;; esac",
		"for i in $(rm x); do ls; done", "select x in a; do rm y; done", "while rm x; do ls; done",
		"if ls; then ls; elif rm x; then ls; fi", "{ rm x; }", "! rm x", "ls | rm x", "ls |& rm x", "ls & rm x",
		"ls\nrm x", "ls;rm x", "(ls;(rm x))", "f() { rm x; }; f", "function f { rm x; }", "ls() { rm x; }; ls",
		"time { rm x; }", "cat <<E\nx\nE\nrm x", "ls \\\n; rm x", "ls # x\nrm x", "ls # \\\nrm x", "ls # x\\\nrm x",
		"cat #\\\nrm", "l\\s; r\\m x", "'rm' x", "\"rm\" x", "$'rm' x", "{rm,x}", "r{m,x} x", "$x", "$(echo rm) x",
		"${x} y", "*", "./*", "?s", "x=rm; $x y", "echo $(<f)$(rm x)", "[ $(rm x) ]", "a[$(rm x)]=1", "a=([$(rm x)]=1)",
		"a+=($(rm x))", "echo ${a[$(rm x)]}", "echo \"${a[@]:$(rm x)}\"", "echo ${x/a/$(rm x)}", "echo ${x^^$(rm x)}",
		"echo ${x#$(rm x)}", "[[ a =~ $(rm x) ]]", "[[ a == $(rm x) ]]", "[[ a =~ (a|$(rm x)) ]]", "((1+$(rm x)))",
		"for ((i=$(rm x);;)); do ls; done", "coproc rm x", "time -p rm x", "echo x | (rm y)", "ls || { ls && rm x; }",
		"printf '\\e[2J'", "printf '\\033[2J'", "printf '\\x1b[2J'", "echo -e '\\e[2J'", "echo $'\\e[2J'",
		"printf %b '\\033c'", "echo -ne '\\007'", "printf \"$x\"",
		// git
		"git", "git commit -m x", "git add .", "git checkout x", "git switch x", "git restore x", "git push",
		"git pull", "git fetch", "git clone x", "git init", "git branch x", "git branch -d x", "git branch -D x",
		"git branch -m a b", "git branch --set-upstream-to=x", "git branch -u x",
		"git branch -l x y z --edit-description", "git branch -v x", "git branch -c a b", "git branch --unset-upstream",
		"git tag x", "git tag -d x", "git tag -a x", "git tag -s x", "git tag -f x", "git tag -n x", "git tag -v x",
		"git stash", "git stash -p list", "git stash --all list", "git stash -p show", "printf %n PATH; ls",
		"printf '%5n' x", "IFS=x ls", "nm @x", "strings @x", "nm \"@$x\"", "ar t @x", "readelf -a @x", "size @f",
		"git stash pop", "git stash drop", "git stash -u", "git stash clear", "git reflog delete x",
		"git reflog expire --all", "git remote add a b", "git remote rm a", "git remote show origin",
		"git remote update", "git remote set-url a b", "git remote prune x", "git worktree add x", "git worktree prune",
		"git config a.b c", "git config --unset a.b", "git config --add a b", "git config -e", "git config --edit",
		"git config --global a.b c", "git config --file x a.b c", "git config -f x --get a.b c", "git config set a b",
		"git config unset a", "git config --replace-all a b", "git config --rename-section a b", "git notes add",
		"git notes edit", "git gc", "git prune", "git repack", "git fsck --lost-found", "git log --output=f",
		"git log --outp=f", "git log --ext-diff", "git diff --ext-diff", "git log --textconv", "git show --textconv x",
		"git log --show-signature", "git log --show-sig", "git log --format=%G?", "git log --pretty='%h %GK'",
		"git for-each-ref --format='%(signature)'", "git grep -O x", "git grep -Oless x",
		"git grep --open-files-in-pager x", "git grep --open x", "git grep --textconv x",
		"git grep --no-index --ext-grep x", "git diff --output f", "git diff --outp f", "git -c a=b log",
		"git -C x log", "git --git-dir=x log", "git --exec-path=x log", "git --work-tree=x log",
		"git --config-env=a=b log", "git -p log", "git --paginate log", "git --namespace=x log", "git cd", "git lg",
		"cd x && git log", "(cd x; git log)", "cd x; ls; git status", "git cat-file --textconv x",
		"git cat-file --filters x", "git archive HEAD", "git format-patch x", "git bundle create x y",
		"git bisect start", "git rebase", "git merge x", "git cherry-pick x", "git revert x", "git reset",
		"git rm x", "git mv a b", "git clean -n", "git clean -f", "git submodule status", "git submodule update",
		"git submodule foreach ls", "git filter-branch", "git replace a b", "git update-ref a b",
		"git update-index --refresh", "git symbolic-ref HEAD x", "git symbolic-ref -d x", "git read-tree x",
		"git write-tree", "git hash-object -w x", "git mktree", "git difftool", "git mergetool", "git help x",
		"git log --help", "git instaweb", "git gui", "git daemon", "git send-email", "git ls-remote",
		"git ls-remote x", "git diff $x", "git log \"$(cat f)\"", "git log *", "git show $(cat f)",
		"git rev-parse --parseopt", "git blame --textconv x", "git maintenance run", "git credential fill",
		"git shell", "git rerere", "git apply x", "git am x", "git verify-commit x", "git verify-tag x",
		"git status --foo", "git checkout-index -a", "git branch --contains x y",
		"git diff --no-index --output=f a b", "git rev-list --use-foo x", "git describe --dirty --foo",
		"git shortlog --foo", "git range-diff --output=f a b", "git log --exec=x", "git interpret-trailers f",
		"git stash show --ext-diff", "git stash list --output=f", "git column --command=x",
		"rg --pre x y", "rg --pre=x y", "rg --pre-glob x y", "rg -z x", "rg --search-zip x", "rg --hostname-bin=x y",
		"rg --hyperlink-format=x y", "rg *", "rg a *", "rg $x", "rg \"$x\"", "rg --pr x y", "fd -x rm", "fd -X rm",
		"fd --exec rm", "fd -tf -x rm", "fd --exec-batch rm", "bat x", "ag x", "ack x", "gofmt -w x", "gofmt -d -w x",
		"gofmt --w x", "gofmt -cpuprofile=f x", "go build", "go run x", "go test", "go env -w A=b", "go env -u A",
		"go list ./...", "go vet", "go generate", "go version -m x -foo", "go mod tidy", "openssl version -a -foo",
		"openssl enc -out f", "openssl s_client x", "sqlite3 db 'select 1'", "base64 -d x > f", "timeout 5 go test",
		"docker ps", "make --version -f x", "node --version -e 1", "node -v -r ./x",
		"(ls) > f", "{ ls; } > f", "if ls; then ls; fi > f", "while ls; do ls; done > f", "[[ a ]] > f", "((1)) > f",
		"> f", ">> f", "ls 2>f", "ls | tee f", "ls |& tee f", "f() { ls; } > f; f", "echo @(a)", "cat <<$'E'\nE",
		"\x00ls", "ls\r", "ls \u202e", "(", "",
	}
}

func TestJudgeRefusesMore(t *testing.T) {
	t.Parallel()
	for _, c := range more() {
		if c == "" {
			continue // nothing runs
		}
		if v := Judge(c, Options{SafeGit: true}); v.ReadOnly || v.Why == "" {
			t.Errorf("Judge(%q) is %+v", c, v)
		}
	}
}

func TestJudgePassesMore(t *testing.T) {
	t.Parallel()
	for _, c := range []string{
		"", "# only a comment", "ls", "/bin/ls -la /usr", "ls -la *.go", "cat src/*.go | head -20", "head -n 5 *",
		"wc -l $(git ls-files)", "wc -l *", "sort ./*", "sort src/*.txt", "cat \"$HOME/x\" ~/y", "ls $PWD",
		"find . -type f -not -path './.git/*' -newer go.mod -printf '%p\\n' | sort | head",
		"find . \\( -name a -o -name b \\) -prune -o -print", "find src/* -name '*.go' -exec grep -Hn TODO {} \\;",
		"find . -name '*.go' -print0 | xargs -0 -n 10 grep -l TODO", "ls | xargs -I{} basename {}",
		"ls | xargs -r ls -la", "find . -mtime -1 -size +10k",
		"grep -rn 'a|b' --include='*.go' .", "grep -c x f; grep -A3 -B 2 x f", "egrep -o '[a-z]+' f | sort -u | wc -l",
		"rg -n -i --type go 'x' src", "rg --files | head", "rg -l x -g '!vendor'", "git grep -n -i x -- '*.go'",
		"git log --oneline --graph --all -20", "git log -p -2 --stat HEAD~3..HEAD -- src",
		"git log --since='2 weeks ago' --author=x --format='%h %an %s'", "git log -L1,10:main.go", "git diff",
		"git diff --cached --stat", "git diff HEAD~1 -- a b", "git diff --name-status main..feature",
		"git diff -U10 -w", "git show", "git show --stat HEAD", "git show HEAD~2:a/b.go", "git status",
		"git status -sb", "git status --porcelain=v2 --branch", "git branch", "git branch -a -vv",
		"git branch --show-current", "git branch --list 'x*'", "git branch --merged main",
		"git branch -r --sort=-committerdate", "git tag", "git tag -l 'v*' --sort=-v:refname",
		"git tag --contains HEAD", "git tag -n3", "git remote -v", "git remote", "git remote get-url origin",
		"git config --get user.name", "git config user.name", "git config --list", "git config -l --show-origin",
		"git rev-parse HEAD", "git rev-parse --show-toplevel", "git rev-parse --short HEAD",
		"git ls-files -o --exclude-standard", "git ls-files | wc -l", "git ls-tree -r --name-only HEAD",
		"git cat-file -p HEAD", "git cat-file -t HEAD", "git blame -L 10,20 main.go", "git blame -w -C main.go",
		"git shortlog -sn HEAD", "git reflog", "git reflog show main", "git stash list", "git stash show -p",
		"git worktree list", "git describe --tags --always", "git merge-base main HEAD", "git rev-list --count HEAD",
		"git for-each-ref --sort=-committerdate --count=5 refs/heads", "git show-ref", "git --no-pager log -3",
		"git --version", "git name-rev HEAD", "git cherry -v main", "git count-objects -vH",
		"git diff --stat | tail -1", "git whatchanged -1", "git diff-tree --no-commit-id --name-only -r HEAD",
		"git range-diff a...b", "git log --grep=fix -i", "git log --diff-filter=A --name-only",
		"git log -1 --format=%cd --date=short", "git log -n 5", "git log -5 --", "git log main..HEAD --reverse",
		"sed -n 5p f", "sed 's/a/b/g' f", "sed -E 's|(a)|\\1|; /x/d' f", "sed -e 's/a/b/' -e '/c/,/d/p' f",
		"sed '$!N;s/\\n/ /' f", "sed ':a;N;$!ba;s/\\n/,/g' f", "sed -n '/start/,/end/p' f", "sed '1d;$d' f",
		"sed -n '$=' f", "sed 's/[^a-z]//g;s/[[:space:]]*$//' f", "sed '/^$/d' f", "sed 's/a/b/2I' f", "sed 10q f",
		"sed '/a/{s/b/c/;p}' f", "sed '1i header' f", "sed -n '2{p;q}' f", "sed --regexp-extended 's/a+/b/' f",
		"sed = f", "sed 's#/a/b#/c#' f", "sed -n 'x;p' f", "sed '1~2d' f",
		"awk '{print $NF}' f", "awk -F: '$3 > 100 {print $1}' /etc/passwd", "awk 'NR==1,NR==5' f",
		"awk '/a|b/ && !/c/' f", "awk '{a[$1]+=$2} END {for (k in a) print k, a[k]}' f",
		"awk 'BEGIN {OFS=\",\"} {print $1,$2}' f", "awk '{print $1/2}' f", "awk -v n=5 'NR<=n' f",
		"awk 'length($0) > 80' f", "awk '{printf \"%s %d\\n\", $1, $2}' f",
		"awk '$1 ~ /^[a-z]+$/ {c++} END {print c}' f", "awk 'NR % 2 == 0' f", "awk '{s+=$1} END {print s/NR}' f",
		"awk -F'|' '{print $2}' f", "awk '{gsub(/a/,\"b\"); print}' f", "awk '!seen[$0]++' f", "awk 'a || b' f",
		"awk '{print substr($0, 1, 5)}' f",
		"tar tvf a.tar", "tar -tzf a.tgz | head", "tar tzf a.tgz", "gunzip -c a.gz", "zcat a.gz | head", "xz -dc a",
		"bzip2 -dc a.bz2 | wc -c",
		"test -f a && echo yes || echo no", "[ -d src ] && ls src", "[[ -f a && ! -d b ]] && cat a",
		"[ \"$(git branch --show-current)\" = main ]", "x=$(wc -l < f); [ \"$x\" -gt 3 ] && echo big",
		"if grep -q x f; then echo found; fi", "for f in a b c; do head -1 $f; done",
		"for f in *.go; do wc -l \"$f\"; done", "n=0; for i in 1 2 3; do n=$((n+i)); done; echo $n",
		"for ((i=0;i<3;i++)); do echo $i; done", "x=5; echo $((x*2))", "case a in a) ls;; *) cat f;; esac",
		"{ ls; pwd; } | cat", "(cd src && ls)", "cd src; cat a; cd ..; ls", "cd \"$HOME\" && ls", "ls 2>&1 | cat",
		"ls > /dev/null 2>&1", "ls &>/dev/null", "cat <<'E'\n$(rm x)\nE", "cat <<E\nplain $HOME\nE",
		"cat <<< 'a b' | tr a b", "diff <(sort a) <(sort b)", "diff -u a b || true", "cmp a b",
		"comm -23 <(ls a) <(ls b)",
		"echo hello world", "echo -n x; echo -e 'a\\tb'", "printf '%s\\n' \"$HOME\"", "printf '%5d|%-10s\\n' 1 x",
		"echo $((1+2)) $RANDOM $? $$", "echo \"$USER on $HOSTNAME\"", "pwd", "true; false", ": x", "seq 1 10",
		"sleep 1", "date +%F", "date -u '+%Y-%m-%d %H:%M'", "date -d '1 day ago' +%s", "uname -sr", "whoami", "id -u",
		"hostname", "df -h .", "du -sh * | sort -h", "du -ah src", "stat -c %s f", "file ./*", "file -b ./x",
		"readlink -f a", "realpath .", "basename a/b .c", "dirname a/b", "which go node", "type ls", "command -v go",
		"nproc", "free -h", "uptime", "ps aux | head", "ps -ef", "tree -L 2", "tree -a -I node_modules src",
		"column -t f", "paste a b", "join a b", "cut -d: -f1 /etc/passwd", "tr -s ' ' < f", "rev f", "tac f",
		"nl -ba f", "fold -w 80 f", "expand f", "od -c f | head", "hexdump -C f", "xxd f", "strings -n 8 f", "md5sum f",
		"sha256sum -c sums", "base64 f", "base64 -d f", "jq . f", "jq -r '.a[] | .b' f", "jq -c 'keys' a.json b.json",
		"cat /etc/os-release", "expr 1 + 1", "factor 12", "uniq -c f", "sort -t, -k2,2n f", "sort -rn -k 2 f | head",
		"sort -u f", "node --version", "python3 --version", "go env GOPATH", "go version", "gofmt -d x.go",
		"timeout 10 grep -r x .", "nice -n 5 wc -l f", "time sort f", "command cat f", "stdbuf -oL cat f",
		"env LC_ALL=C sort f", "LC_ALL=C LANG=C sort f", "TZ=UTC date", "NO_COLOR=1 ls", "nice timeout 5 cat f",
		"GIT_PAGER=cat git log", "! grep -q x f", "ls & wait", "tail -f f", "tail -n +5 f", "head -5 f",
		"head -c 100 f", "cat a b c", "cat - < f", "cat f | tee", "date", "x=a; y=b; cat \"$x\" \"$y\"",
		"f=\"src/a.go\"; head -5 \"$f\"; wc -l \"$f\"", "d=src; ls \"$d\"/*.go", "echo {a,b}{1,2}", "ls {src,docs}",
		"cat src/{a,b}.go", "head -1 $(ls)", "stat $(git ls-files)",
	} {
		if v := Judge(c, Options{SafeGit: true}); !v.ReadOnly {
			t.Errorf("Judge(%q) says it %s", c, v.Why)
		}
	}
}

// Behind -- jq has no options, so that what looks like one is the name of a file.
func TestJudgeSeesWhatJqReads(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ command, reads string }{
		{"jq --arg a b . f", "f"}, {"jq -- . --arg a f", "--arg a f"}, {"jq . f --arg a b g", "f g"},
	} {
		v := Judge(test.command, Options{})
		var names []string
		for _, s := range v.Reads {
			names = append(names, s.Text)
		}
		if got := strings.Join(names, " "); !v.ReadOnly || got != test.reads {
			t.Errorf("Judge(%q) reads %q, not %q (%s)", test.command, got, test.reads, v.Why)
		}
	}
}
