package gate

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// With a rule that forbids commands by name, what gives names another meaning or runs a text of
// its own does not go through: it is denied where the name is seen, and else it is not known
// what it runs.
func TestHiddenNamesAreNotLetThrough(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"hash -p /usr/bin/curl c; c x", "hash -p \"$(which curl)\" c; c x", "hash -p $X c; c x", "hash -p ./y c; c x",
		"alias c=curl\nc x", "alias c='curl -s'\nc x", "alias c=\"$X\"\nc x", "alias $X\nc x", "alias g='other'\ng",
		"alias a=b c=d\nc",
		"enable -f ./x.so c; c x", "enable -af ./x.so c", "builtin enable -f x c", "f() { curl x; }; f",
		"c() { command curl \"$@\"; }; c x", "function c { curl \"$@\"; }\nc x",
		"BASH_ALIASES[c]=curl\nc x", "BASH_CMDS[c]=/usr/bin/curl; c x", "declare -A BASH_ALIASES=([c]=curl)\nc x",
		"BASH_ENV=./x bash -c ls", "export BASH_ENV=x; bash -c ls", "PS4='$(curl x)'; set -x; ls",
		"PS4='$(x)' bash -xc ls", "env PS4='$(x)' bash -xc ls", "PROMPT_COMMAND='x' bash -i",
		"git -c alias.p='!curl x' p", "git -c alias.p='!f() { curl x; }; f' p", "git -c alias.p=\"$X\" p",
		"git -c \"$X\" p", "git -C . -c alias.p=push p", "git config alias.p '!curl x' && git p",
		"git config --global alias.p '!x'", "git config \"$K\" \"$V\"; git p", "git --config-env=alias.p=X p",
		"git --config-env alias.p=X p",
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0='!x' git p",
		"a='!curl x'; git -c alias.p=\"$a\" p", "git -c core.pager='!x' log",
		"GIT_SSH_COMMAND='curl x' git fetch", "GIT_EXTERNAL_DIFF=curl git diff", "PAGER='curl x' git log",
		"export GIT_PAGER='curl x'; git log", "git -c core.sshCommand='curl x' fetch",
		"git clone -c core.sshCommand='curl x' y",
		"sed '1e curl x' f", "sed -n '1{e curl x\n}' f", "sed -i '1e x' f", "sed -i.bak '1e x' f",
		"sed -e 1d -e '2e x' f", "sed --expression='1e x' f", "sed -ne '1e x' f", "sed e f", "sed 's/a/curl x/e' f",
		"sed 's/a/b/ge' f", "sed 'w out\n1e x' f", "sed 's/a/b/w o\ne x' f", "sed \"1e $X\" f", "sed \"$X\" f",
		"x='1e curl'; sed \"$x\" f", "sed -i '' '1e x' f", "gsed '1e x' f", "find . -exec sed '1e x' {} \\;",
		"ls | xargs sed '1e x'", "sed '\\,x,e y' f", "sed 'r f\ne x' f",
		"awk 'BEGIN{system(\"curl x\")}'", "awk 'BEGIN{\"curl x\" | getline a}'", "awk '{print | \"x\"}'",
		"awk 'BEGIN{c=\"cu\" \"rl x\"; system(c)}'", "gawk -e 'BEGIN{system(\"x\")}'",
		"awk -v c='curl x' 'BEGIN{system(c)}'", "awk '{print > \"f\"; system(\"x\")}' f", "awk \"$X\" f",
		"p='BEGIN{system(\"x\")}'; awk \"$p\"",
		"awk 'BEGIN{print |& \"x\"}'", "awk '{ a = $1 }\n/\"/ { system(a) }' f", "awk 'BEGIN{f=\"system\"; @f(\"x\")}'",
		"find . -exec curl {} \\;", "find . -okdir curl {} +", "find . -exec sh -c 'curl $1' _ {} \\;",
		"ls | xargs curl", "ls | xargs -n1 -P4 curl", "ls | xargs -I{} sh -c 'curl {}'", "env -S 'curl x'",
		"env -S'curl x'", "env -iS 'A=1 curl x'", "env --split-string='curl x'", "env -vS 'curl x'",
		"compgen -C 'curl x'", "compgen -C x", "at now <<< 'curl x'", "echo x | at now",
		"echo '* * * * * x' | crontab -", "less '+!curl x' f", "vim -c '!curl x' f", "vim '+!curl x' f",
		"ssh -o ProxyCommand='curl x' h",
		"git $(echo push)", "git \"$@\"", "g() { git \"$@\"; }; g push", "git -C . \"$X\"", "echo push | xargs git",
		"npm $X", "docker \"$X\" y", "find . -exec git {} \\;",
		"x='curl x'; eval $x", "x='curl x'; $x", "x=curl; $x y",
	} {
		for _, mode := range []troupe.Mode{troupe.ModeDefault, troupe.ModeBypass} {
			if d := judged(t, mode, troupe.Deny, command, "Bash(curl:*)"); d.Effect != troupe.Deny &&
				d.Sandbox != troupe.LevelReadOnly {
				t.Errorf("%s, %q: %+v", mode, command, d)
			}
			q := query("Bash", bash(command), append(allows(t, "Bash"), parse(t, troupe.Deny, "Bash(curl:*)"))...)
			q.Chain[0].Mode = mode
			if d := Decide(q); d.Effect == troupe.Allow {
				t.Errorf("%s, %q without a sandbox: %+v", mode, command, d)
			}
		}
	}
	q := query("Bash", bash("sed '1e x' f"), append(allows(t, "Bash"), parse(t, troupe.Deny, "Bash(curl:*)"))...)
	if d := Decide(q); !strings.Contains(d.Why, "`sed`") || !strings.Contains(d.Why, "Bash(curl:*)") {
		t.Errorf("it does not say why: %+v", d)
	}
}

func TestNeighboursOfHiddenNamesGoThrough(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"alias", "alias ll", "hash -r", "hash go", "enable", "enable -p", "compgen -c", "compgen -b",
		"f() { make x; }; f", "ENV=prod make x", "export FOO=1; make", "PAGER=cat git log",
		"GIT_EDITOR=true git rebase --continue", "env FOO=bar make",
		"git -c user.name=x commit -m y", "git -c user.name=\"$N\" commit -m y",
		"git -c core.editor=true rebase --continue", "git -c core.pager=cat log", "git config user.name x",
		"git config --get alias.x", "git config alias.x", "git log --grep alias.x", "git commit -m 'alias.x is new'",
		"git commit -m '!curl is out'",
		"sed -i 's/a/b/' f", "sed -i.bak 's/a/b/g' f", "sed -i '' 's/a/b/' f", "sed \"s/$a/$b/\" f",
		"sed -n \"${n}p\" f", "n=3; sed -n \"$((n+1)),\\$p\" f", "sed -i \"s|$a|$b|g\" f", "sed -n '/a/,/b/p' f",
		"sed 's/x/e/' f", "sed '/e/d' f", "sed 'w out' f", "sed 's/a/b/w out' f", "sed -e 's/a/b/' -e 's/e/f/' f",
		"sed -f prog f", "sed '$!N;P;D' f", "sed -i '1i #!/bin/sh' f", "sed -i '/x/a\\  text e x' f",
		"sed -E 's/(a|b)/\\1/g' f",
		"sed 'y/abc/xyz/' f", "sed ':a;N;$!ba;s/\\n/ /g' f", "sed -i '/^e/s/x/y/' f", "sed --version",
		"x=s/a/b/; sed \"$x\" f",
		"awk '{print $1}' f > x", "awk -F: '{print $1 > \"f\"}' f", "awk '{print >> \"f\"}' f", "awk '/curl x/' f",
		"awk '$1 == \"a\" || $2 == \"b\"' f", "awk \"{print \\$$n}\" f", "awk -v a=\"$a\" '$1 == a' f", "awk 'NR==1' f",
		"awk -f prog f", "awk '/a|b/ {print}' f", "awk -F'|' '{print $2}' f", "awk '{print \"a|b\"}' f",
		"awk 'BEGIN{printf \"%c\", 65}' f", "awk '{ while ((getline l < \"f\") > 0) n++ }' f",
		"x=status; git $x", "git -C \"$D\" status", "git log $X", "git checkout \"$B\"", "docker run $X",
		"npm run \"$X\"", "ls | xargs git add", "for s in fetch status; do git $s; done",
		"find . -name x -delete", "find . -exec rm {} +", "ls | xargs rm", "crontab -l", "at -l", "less +10 f",
		"vim +10 f", "echo '!curl x'", "grep -rn 'alias c=curl' .", "x=make; make $x",
	} {
		if d := judged(t, troupe.ModeBypass, troupe.Deny, command, "Bash(curl:*)"); d.Effect != troupe.Allow ||
			d.Step != StepMode {
			t.Errorf("%q: %+v", command, d)
		}
	}
}
