package command

import (
	"slices"
	"strings"
	"testing"
)

// classes are commands that look as if they only read, by the trick that they share.
func classes() map[string][]string {
	return map[string][]string{
		"the last mode counts": {
			"xz -td a.xz", "xz -dt a.xz", "xz -l -d a.xz", "xz --list --decompress a.xz", "xz --test --decompress a.xz",
			"xz -tvd a.xz", "xz -l --uncompress a.xz", "unxz -t -d a.xz", "bzip2 -td f.bz2",
			"bzip2 -t --decompress f.bz2", "bzip2 -tk x",
			"bunzip2 -t -d f.bz2", "zstd -t -d a.zst", "zstd -l -d a.zst", "zstd -ld a.zst", "zstd --test -d a.zst",
			"zstd --list --decompress a.zst", "unzstd -td a.zst", "gzip -td a.gz", "gzip -l -d a.gz",
			"gzip --test --decompress a.gz", "gunzip -ld a.gz",
			"bzip2 --version f", "bzip2 --help f", "xz --version f", "bzip2 --version -d f",
			"gzip --version --decompress", "xz -d a.xz", "zstd -d a.zst", "zstd -f a", "xz -z a", "xz -tz a",
			"zstd -tz a", "lzma -t a", "unlzma a", "for f in *.xz; do xz -t -d \"$f\"; done",
			"find . -name '*.xz' -exec xz -td {} \\;",
			"unzip -l -- -l a.zip", "unzip a.zip -l", "unzip a.zip '*' -l", "unzip -l a.zip -d x", "unzip -- a.zip",
			"unzip --l a.zip", "unzip -l-l a.zip", "ar tx a.a", "ar xt a.a", "ar -t a", "7z l a", "7z t a x",
			"cpio -t -i", "cpio -it <f", "rpm -qi x", "rpm -q -e x", "dpkg -l", "dpkg -c x.deb",
			"tar tx a", "tar -t -x -f a", "tar xf a", "tar xOf a --to-command=x", "tar -xf a", "tar --extract -f a",
			"tar -tf a --get", "tar xvf a -O -c", "tar -xOUf a", "tar --version x -f a", "tar tf a -T l", "tar tTf l a",
			"tar -xOf a --overwrite",
		},
		"options in a file": {
			"find @x -exec nm {} \\;", "find @x -exec nm {} +", "find ./a @x -exec size {} \\;",
			"d=@x; find $d -exec nm {} \\;", "find \"@$y\" -exec nm {} \\;", "nm -t @x p.so", "nm --format @x p.so",
			"nm -f @x p.so", "readelf -x @x y", "readelf -p @x y", "f=@; nm \"${f}x\"", "f=a; f=@x; nm \"$f\"",
			"for f in a @x; do nm \"$f\"; done",
			"for f in a @x; do size $f; done", "ls | xargs nm", "ls | xargs nm --", "ls | xargs -n1 size --",
			"echo @x | xargs -I{} nm {}", "echo @x | xargs -I{} nm -- {}", "nm -- *", "nm -- \"$x\"", "nm -- $(ls)",
			"nm -- \"$(ls)\"", "size -- *.o", "size @x", "size --radix @x f", "strings -n @x f", "strings -e @x f",
			"strings -- *", "strings --bytes @x f", "readelf -a -- *",
			"ar t @x", "ar t a.a @x", "ar p a.a \"$x\"", "ar t *", "f=@x; ar t $f",
			"while read f; do nm \"$f\"; done <l", "while read f; do nm -- \"$f\"; done <l", "read f <l; nm -- $f",
			"for f in *; do nm -- \"$f\"; done", "x=$(ls); nm -- \"$x\"", "f=a; nm \"$f\" \"@$f\"", "objdump -d @x",
			"objdump @x", "c++filt @x", "addr2line -e @x", "gcc @x", "ld @x", "javac @x", "nm {a,@x}", "nm '@x'",
			"nm \\@x", "f=@x; g=$f; nm \"$g\"",
			"false && f=a; nm \"${f}@x\"", "nm ${y:-@x}", "strings \"${y:-@x}\"",
		},
		"a bundle with two values": {
			"tar tfC host:x .", "tar tCf . host:x", "tar tvXf x host:y", "tar tfX host:y x", "tar tCfX . host:y z",
			"tar tff a b:c", "tar tf host:x", "tar -tf host:x", "tar -tfhost:x", "tar --file=host:x -t",
			"tar --file host:x -t", "tar tf user@host:/x", "tar -t -f a -f h:b", "f=h:x; tar tf $f",
			"f=a; f=h:x; tar tf \"$f\"", "tar tf \"$x\"",
			"for b in xf tf; do tar \"$b\" a; done", "tar $x", "tar \"$b\" -tf a", "tar tIf cat a", "tar tFf x a",
			"tar txf a", "tar tHf a b", "tar tLf 1 a", "tar tbf 1 a", "tar -tC . -f h:a", "tar xOCf . h:a",
		},
		"git without its environment": {
			"git describe --dirty", "git describe --dirty=x", "git describe --broken",
			"git describe --always --broken=-b", "env -i git status", "env - git status",
			"env -u GIT_OPTIONAL_LOCKS git status", "env -u GIT_CONFIG_COUNT git status",
			"env -uGIT_CONFIG_COUNT git status", "env --unset=GIT_CONFIG_COUNT git log",
			"env --unset GIT_CONFIG_COUNT git log", "env --ignore-environment git status",
			"/usr/bin/env -i git status", "timeout 5 env -i git status", "env -i PATH=/bin git status",
			"env LC_ALL=C env -i git status", "env -i env git status", "unset GIT_CONFIG_COUNT; git status",
			"unset -v GIT_OPTIONAL_LOCKS; git status", "GIT_CONFIG_COUNT= git status", "GIT_CONFIG_COUNT=0 git status",
			"GIT_CONFIG_COUNT=; git status", "export GIT_CONFIG_COUNT=0; git status",
			"export -n GIT_CONFIG_COUNT; git status", "declare +x GIT_CONFIG_COUNT; git status",
			"GIT_OPTIONAL_LOCKS=1 git status", "GIT_CONFIG_VALUE_0=x git status", "exec -c git status",
			"exec git status", "command exec -c git status", "sudo git status", "sudo -E git status", "doas git status",
			"su -c 'git status'", "env -S 'git status'", "env -C x git status", "env --chdir=x git status",
			"find . -exec env -i git status \\;", "ls | xargs env -i git", "setsid git status", "env \"$x\" git status",
			"env -- -i git status", "GIT_CONFIG_PARAMETERS=x git status",
			"git -c core.fsmonitor=x status", "git -c core.pager=x log", "git -c pager.log=x log",
			"git -c diff.external=x diff", "git -c color.ui='!x' log", "git -c alias.x='!ls' x",
			"git -c core.hooksPath=x status", "git -c include.path=x status", "git -c core.sshCommand=x log",
			"git -c gpg.program=x log", "git -c \"$x\" status", "git -c diff.x.textconv=y log",
			"git -ccolor.ui=never status", "git -C src log", "git -C .. log", "git -C \"$x\" log",
			"git -C . -C src log", "cd x && git -C . log", "cd src && git log -1",
			"GOTOOLCHAIN=auto go version", "GOTOOLCHAIN=go1.99 go env GOROOT", "env -u GOTOOLCHAIN go version",
			"env -i go version", "env - go version", "env GOTOOLCHAIN=auto go version",
			"export GOTOOLCHAIN=auto; go version", "unset GOTOOLCHAIN; go version", "GOENV=x go version",
			"GOFLAGS=-x go version", "go env -w GOTOOLCHAIN=auto", "go env -u GOTOOLCHAIN", "go -C x version",
			"go tool x", "npm --version", "cargo --version", "git submodule status", "git submodule",
		},
		"control characters": {
			"printf '%5b' '\\033[2J'", "printf '%-5b' '\\033[2J'", "printf '%.5b' '\\033[2J'",
			"printf '%*b' 5 '\\033[2J'", "printf '%b' '\\x1b'", "printf '%s%b' a '\\e'", "printf %b \"\\033$x\"",
			"for x in '\\033c' '\\033d'; do echo -e \"$x\"; done",
			"for x in '\\033c' '\\033d'; do printf %b \"$x\"; done", "x='\\033c'; echo -e \"$x\"",
			"x='\\0'; y='33c'; echo -e \"$x$y\"", "echo -e \"\\033$x\"", "o=-n; o=-e; echo $o '\\033c'",
			"echo -e \"$(echo '\\033c')\"",
			"echo '\\033c' | while read -r x; do echo -e \"$x\"; done", "echo '-e \\033c' | xargs echo",
			"echo '\\033c' | xargs -I{} printf '{}'", "echo '\\033c' | xargs -0 printf %b", "echo -ne '\\e[2J'",
			"echo -e \"\\\\$x\"", "/bin/echo -e '\\033c'", "echo $'\\033c'", "cat <<< $'\\033c'",
			"x=$'\\e'; cat <<< \"$x\"", "x=$'\\033'; echo \"$x\"", "grep -h --label=$'\\033' x", "seq -s $'\\033c' 1 2",
			"date +$'\\033c'", "paste -d $'\\a' a b", "basename $'\\x9b2J'",
			"awk 'BEGIN{print \"\\033c\"}'", "awk 'BEGIN{print \"\\x1b[2J\"}'", "awk 'BEGIN{printf \"%c[2J\", 27}'",
			"awk 'BEGIN{printf \"%\" \"c\", 27}'", "awk 'BEGIN{print sprintf(\"%5c\",27)}'",
			"awk -v 'x=\\033c' '{print x}' f", "awk -v x='\\a' 1 f", "awk '{print x}' 'x=\\033c' f",
			"awk -F'\\033' '{print FS}' f", "gawk '{print \"\\u001b\"}' f",
			"awk 'BEGIN{OFS=\"\\033\"} {print $1,$2}' f",
			"sed 's/^/\\x1b[2J/' f", "sed 's/a/\\o33/' f", "sed 's/a/\\d27/' f", "sed 's/a/\\c[/' f",
			"sed 'y/a/\\x1b/' f", "sed 'a\\\\x1bc' f", "sed 'i x\\x1b' f", "sed '1c\\x\\a' f",
			"sed -e 's/a/b/' -e 's/^/\\x1b/' f", "sed 's/a/\\a/' f", "find . -maxdepth 0 -printf '\\033c'",
			"find . -printf '%p\\a'", "find . -printf '\\0033'", "x='\\033c'; find . -printf \"$x\"",
			"stat --printf='\\033c' f", "stat --printf '\\x1b[2J' f", "stat --printf=\"\\033$x\" f",
			"jq -rn '[27]|implode'", "jq -n -r '[27]|implode'", "jq -rn '\"\\u001b[2J\"'", "jq -j '\"\\u001B\"' f",
			"jq -r '\"x\\(.a)\\u001bc\"' f", "jq -rn '\"G2M=\"|@base64d'", "jq -rn '\"\\\"\\\\u001b\\\"\"|fromjson'",
			"jq -rn --arg x '\"\\u001b\"' '$x|fromjson'", "jq -rn '\"\\u009b2J\"'",
			"tr a '\\033' < f", "tr abc '\\a\\b\\c' < f", "echo c | tr c '\\033'", "x='\\033'; tr a \"$x\" < f",
			"tr 'a-z' '\\t-~' < f", "paste -d '\\b' a b", "paste -d'\\f' a b", "hexdump -e '\"\\033c\"' f",
			"rg --field-match-separator '\\x1b' x", "git log --format='%x1b[2J'", "git log --pretty=format:%x1bc",
			"git for-each-ref --format='%1b[2J'", "git show --format=%x07", "git log --format=%xc2%x9b",
		},
		"what stands beside it": {
			"cat f | tee /dev/null x", "tee /dev/../f", "tee /dev/nul*", "tee \"$x\"", "tee -- /dev/tty", "less +x f",
			"less -o f x", "less -Of x", "less -kf x", "less --log-file=f x", "less \"$x\"",
			"for f in a +x; do less \"$f\"; done", "ls | xargs less", "less -Tf x", "pushd", "pushd $x", "pushd -n x",
			"dirs -c",
			"jq env f", "jq 'env.PATH' f", "jq '.a, env' f", "jq '.a|$ENV' f", "jq '{a: env}' f", "jq '{$ENV}' f",
			"jq '\"\\(env)\"' f", "jq '\"\\(\"\\(env)\")\"' f", "jq '. as $x|env' f", "jq '$__prog_args' f",
			"jq 'import \"a\" as b; .' f", "jq 'include \"a\"; .' f", "jq '.a # \"\\nenv' f", "jq 'debug' f",
			"jq '[env]' f", "jq '.[env|keys[0]]' f", "jq '(env)' f", "jq 'if env then 1 else 2 end' f",
			"jq '\"a\" , env, \"b\"' f", "jq -f p f", "jq 'input_filename' f",
			"sed 's/[/]/w f/' x", "sed 's/[/]/e/' x", "sed 's/[/]/p;w f/' x", "sed 's/[/]/ ;w f/;' x",
			"sed '/[/]/d;w f' x", "sed 's/[/][/]/_/g;w f' x", "sed 's/[/]/1w f/' x", "awk '{print ($1>3) > \"f\"}' x",
			"awk '{print ($1)>\"f\"}' x", "awk '{print (1)(2) > \"f\"}' x", "awk '{print(1)\n>\"f\"}' x",
			"awk '{if (1) print > \"f\"}' x", "awk '{print (a)>(b)}' x", "awk '{(x); print y > \"f\"}' x",
			"awk 'BEGIN{f(print > \"x\")}' x",
			"cat < \"$f\"", "f=/dev/tcp$(x); cat < \"$f\"", "f=/dev/tcp/1/2; f=a; cat < \"$f\"",
			"for f in /dev/tcp/1/2 a; do cat < \"$f\"; done", "read f <l; cat < $f", "d=/dev; cat < $d/tcp/1/2",
			"cat < ~root/x", "git log $(x)", "git log --output=\"$x\"", "git log --outpu=\"$x\"", "git diff \"--$x\"",
			"sort --output=\"$x\" f", "sort --compress-program=\"$x\" f",
		},
	}
}

func TestJudgeRefusesClasses(t *testing.T) {
	t.Parallel()
	for class, commands := range classes() {
		for _, c := range commands {
			if v := Judge(c, Options{SafeGit: true, Folder: "/w"}); v.ReadOnly || v.Why == "" {
				t.Errorf("%s: Judge(%q) is %+v", class, c, v)
			}
		}
	}
}

func TestJudgePassesNeighboursOfClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []string{
		"xz --decompress --stdout a.xz", "zstd -dc a.zst | head",
		"tar tf a",
		"strings -n 8 f", "strings ./*.so",
		"git describe", "git describe --tags --always", "env git status", "env LC_ALL=C git status",
		"env -- git log -1", "git -C . status", "git -C /w log -1", "git -C /w/ log", "cd /w && git status",
		"cd . && git log", "cd /w; git diff; ls", "git log --author=\"$(git config user.name)\"",
		"git log --since=\"$(date +%F)\" --oneline", "git log --grep=\"$x\"; x=y",
		"go version", "go env GOPATH", "env go version",
		"printf '%5d %s\\n' 1 a", "printf '%5b' 'a\\nb'", "echo -e 'a\\tb\\n'", "echo -e \"$HOME\\n\"",
		"for x in a b; do echo -e \"$x\\t1\"; done", "ls | xargs echo", "ls | xargs -n1 printf '%s\\n'",
		"ls | xargs -I{} echo {}", "awk 'BEGIN{printf \"%s\\t%5.2f%%\\n\", \"a\", 1}'", "awk -F'\\t' '{print $2}' f",
		"awk -F '\\\\|' '{print $2}' f", "sed 's/\\x1b\\[[0-9;]*m//g' f", "sed 's/\\(a\\)/\\1\\n/;s/b/\\t/' f",
		"sed 's/a/\\U&/' f", "find . -printf '%p\\n'", "find . -printf '%p\\0' | sort -z", "stat --printf='%n\\n' f",
		"stat -c '%n' f",
		"jq -r '.a|@tsv' f", "jq -r '\"\\(.a)\\t\\(.b)\\n\"' f", "tr -d '\\r' < f", "tr '\\r' '\\n' < f",
		"paste -sd '\\t' f", "git log --format='%H%x09%an%x1f%ae' --date=short", "git log --format='%ad %cd %ae'",
		"cat <<< $'a\\tb'",
		"for f in src/*.js; do cat \"$f\"; done", "wc -l $(git ls-files '*.go')", "cd src && wc -l *", "ls **/*.go",
		"d=src; ls $d/*.js; cat $d/app.js", "cat f | tee /dev/null | head", "cat f | tee /dev/stderr | wc -l",
		"less README.md", "less -N f", "less -FRX f | head", "jq '.scripts.debug' f", "jq '.environment' f",
		"jq '.dependencies.dotenv' f", "jq '.env' f", "jq '.scripts|keys[]' package.json", "jq '.imports[].import' f",
		"jq '.a.b // \"none\"' f",
		"awk '{print ($1>3)?\"a\":\"b\"}' f", "awk '{print (($1>3)&&($2>4))}' f", "wc -l < src/\"$x\"; x=a",
	} {
		if v := Judge(c, Options{SafeGit: true, Folder: "/w"}); !v.ReadOnly {
			t.Errorf("Judge(%q) says it %s", c, v.Why)
		}
	}
}

// TestVerdictTellsWhatIsRead: rules about reading see every name that can be known, and where
// one cannot, they are told that.
func TestVerdictTellsWhatIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command         string
		reads, patterns []string // that must be among them
		open            bool
	}{
		{"cat .env", []string{".env"}, nil, false},
		{"x=.en; cat ${x}v", []string{".env"}, nil, false},
		{"x=.e y=nv; cat \"$x$y\"", []string{".env"}, nil, false},
		{"x=.e; y=${x}nv; cat $y", []string{".env"}, nil, false},
		{"u=home; cat ../$u/.ssh/id_rsa", []string{"../home/.ssh/id_rsa"}, nil, false},
		{"d=/abs/home; cat \"$d/.aws/credentials\"", []string{"/abs/home/.aws/credentials"}, nil, false},
		{"for d in ../home; do cat $d/.ssh/id_rsa; done", []string{"../home/.ssh/id_rsa"}, nil, false},
		{"for d in a b; do for f in x .env; do cat $d/$f; done; done", []string{"a/x", "a/.env", "b/x", "b/.env"}, nil,
			false},
		{"d=$HOME/.ssh; cat $d/id_rsa", nil, []string{"$HOME/.ssh/id_rsa"}, false},
		{"d=~/.ssh; cat \"$d/id_rsa\"", nil, []string{"~/.ssh/id_rsa"}, false},
		{"cat ~/.ssh/id_rsa \"$PWD/.env\"", nil, []string{"~/.ssh/id_rsa", "$PWD/.env"}, false},
		{"cat < .env", []string{".env"}, nil, false},
		{"f=.env; cat < \"$f\"", []string{".env"}, nil, false},
		{"f=a; f=.env; wc -l < $f", []string{"a", ".env"}, nil, false},
		{"echo $(<.env)", []string{".env"}, nil, false},
		{"cat .e*", nil, []string{".e*"}, false},
		{"p='.e*'; cat $p", nil, []string{".e*"}, false},
		{"for f in src/*.js; do cat \"$f\"; done", nil, []string{"src/*.js"}, false},
		{"for f in .*; do cat \"$f\"; done", nil, []string{".*"}, false},
		{"for d in src/*; do cat $d/.env; done", nil, []string{"src/*/.env"}, false},
		{"cat {.env,a}", []string{".env", "a"}, nil, false},
		{"grep -f .env x; grep --file=.env x", []string{".env", "x"}, nil, true},
		{"sort --files0-from=.env", []string{".env"}, nil, false},
		{"f=.env; sort --files0-from=\"$f\"", []string{".env"}, nil, false},
		{"git show HEAD:.env", []string{".env"}, nil, true},
		{"dd if=.env", []string{".env"}, nil, false},
		{"tar -xOf a.tar .env", []string{"a.tar", ".env"}, nil, false},
		{"find ~ -name credentials | xargs cat", nil, nil, true},
		{"find . -name .env -exec od -c {} \\;", nil, nil, true},
		{"find . -name .env -exec nl {} +", nil, nil, true},
		{"echo .env | xargs rev", nil, nil, true},
		{"echo .env | xargs -n1 rev", nil, nil, true},
		{"xargs -a .env echo", nil, nil, true},
		{"ls -a | grep env | while read -r f; do cat \"$f\"; done", nil, nil, true},
		{"cat $(echo .env)", nil, nil, true}, {"cat \"$(ls -a | tail -1)\"", nil, nil, true},
		{"cat `echo .env`", nil, nil, true},
		{"cat ~root/.ssh/id_rsa", nil, nil, true}, {"cat ~+/.env", nil, nil, true}, {"cat ~-/x", nil, nil, true},
		{"f=$(echo .env); cat \"$f\"", nil, nil, true}, {"read f <l; cat $f", nil, nil, true},
		{"mapfile -t a <l; cat \"${a[@]}\"", nil, nil, true},
		{"a=(.env x); cat ${a[0]}", nil, nil, true}, {"x=.e; x+=nv; cat $x", []string{".env"}, nil, false},
		{"x=xenv; cat .${x#x}", nil, nil, true},
		{"x='a .env'; cat $x", nil, nil, true}, {"for f in $(ls -a); do cat $f; done", nil, nil, true},
		{"cat \"$1\"", nil, nil, true}, {"printf -v f .env; cat $f", nil, nil, true},
		{"cd .. && cat .env", []string{".env"}, nil, true}, {"(cd ~/.ssh; cat id_rsa)", []string{"id_rsa"}, nil, true},
		{"pushd ~/.ssh; cat id_rsa", []string{"id_rsa"}, nil, true},
		{"grep -r x .", nil, nil, true}, {"rg -uu x", nil, nil, true}, {"git grep x", nil, nil, true},
		{"x=$(ls); cat .e{$x,nv}", nil, nil, true},
		{"cat a$((1))", nil, nil, true}, {"diff <(cat .env) b", []string{".env", "b"}, nil, true},
		{"cat a b", []string{"a", "b"}, nil, false},
		{"cat f | head -3", []string{"f"}, nil, false},
	} {
		v := Judge(c.command, Options{SafeGit: true})
		if !v.ReadOnly {
			continue // it is asked about
		}
		read, err := Read(c.command)
		if err != nil {
			t.Fatal(err)
		}
		vars := read.Variables("~")
		vars.Folders = []string{"$PWD"}
		open, names := v.Open || v.Here, []string{}
		for _, s := range v.Reads {
			for _, text := range vars.Expand(s.Word) {
				open = open || text.Cut
				for _, name := range strings.FieldsFunc(text.Text, func(r rune) bool { return r == ':' || r == ' ' }) {
					names = append(names, strings.Replace(name, "$HOME", "~", 1))
				}
			}
		}
		for _, name := range append(c.reads, c.patterns...) {
			if !slices.Contains(names, strings.Replace(name, "$HOME", "~", 1)) {
				t.Errorf("Judge(%q) does not read %s: %q", c.command, name, names)
			}
		}
		// A folder that is named, or a name made of several, is looked at by who asks.
		if c.open && !open && !strings.Contains(c.command, " .") && !strings.Contains(c.command, "a .env") &&
			!strings.Contains(c.command, "HEAD:") && !strings.Contains(c.command, "~") &&
			!strings.Contains(c.command, "cat f") {
			t.Errorf("Judge(%q) does not say that it reads more: %q", c.command, names)
		}
	}
}

func TestGitRuns(t *testing.T) {
	t.Parallel()
	args := func(command string) []Word {
		t.Helper()
		c, err := Read(command)
		if err != nil || len(c.Parts) == 0 {
			t.Fatalf("Read(%q): %v", command, err)
		}
		return c.Parts[0].Words[1:]
	}
	for _, command := range []string{
		"git clone -u 'touch P' . y", "git clone -u'touch P' . y", "git clone -qu 'touch P' . y",
		"git clone -c core.fsmonitor=x . y", "git clone -ccore.fsmonitor=x . y", "git clone -qccore.fsmonitor=x . y",
		"git clone --config core.fsmonitor=x . y", "git clone --config=core.fsmonitor=x . y",
		"git clone --conf a=b . y", "git clone --template=x . y", "git clone --template x . y",
		"git clone --templ=x . y", "git clone --upload-pack x . y", "git clone --u=x . y", "git clone . y -u x",
		"git clone --separate-git-dir=x . y",
		"git init --template=x", "git fetch --upload-pack=x", "git fetch --upl x", "git pull --upload-pack x",
		"git push --receive-pack=x", "git push --exec=x", "git push --exe x", "git ls-remote --exec=x .",
		"git rebase -x ls", "git rebase -ixls", "git rebase --exec ls", "git rebase --exe=ls", "git grep -O x",
		"git grep -Oless x", "git grep -nO x", "git difftool -x ls", "git difftool --extcmd=ls",
		"git archive -o f HEAD", "git archive -of HEAD", "git archive --output=f HEAD", "git format-patch -o d HEAD",
		"git log --output=f", "git log --outp f", "git diff --ext-diff", "git log --textconv",
		"git -c a=b status", "git -ca=b status", "git --config-env=a=b status", "git --exec-path=x status",
		"git --git-dir=x status", "git -C x status", "git --work-tree=x status", "git \"$x\"", "git clone \"$x\" y",
		"git clone --config=\"$x\" . y", "git clone -c\"$x\" . y",
	} {
		if !GitRuns(args(command)) {
			t.Errorf("GitRuns(%q) is false", command)
		}
	}
	for _, command := range []string{
		"git clone https://example.com/x", "git clone -b main --depth 1 x y", "git clone -bcu x",
		"git clone -o upstream x", "git clone -- -u", "git fetch -u origin", "git fetch --all --prune",
		"git pull --rebase", "git push -u origin main", "git push --force", "git commit -s -m x", "git commit -m -u",
		"git rebase -i HEAD~2", "git rebase -Xours main", "git grep -e -O", "git grep -n x", "git log -1 --stat",
		"git diff --cached", "git --no-pager log", "git add -u", "git status -uno", "git checkout -b x",
	} {
		if GitRuns(args(command)) && command != "git grep -e -O" {
			t.Errorf("GitRuns(%q) is true", command)
		}
	}
}
