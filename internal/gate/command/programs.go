package command

// program is what is known of one program. The table below is the only place that knows any.
type program struct {
	use use
	// flags are letters without a value, values letters with one, glued or in the next word,
	// optional letters with one that is glued. files are the options whose values name files.
	flags, values, optional, files string
	// long are options: "x" without a value, "x=" with one, "x[=" with one that is glued or none.
	long    string
	most    int  // the operands that it may have; 0 is any number
	ordered bool // behind its first operand all are operands
	texts   int  // how many of its first operands are text and no files
	shows   shows
	escapes bool                             // it makes control characters of escapes in its words
	check   func(*judge, *invocation) string // looks at what its options left
	own     func(*judge, []Word) string

	wraps  *wrapper // what follows its options is the command that it runs
	starts starting
	runs   string // options whose values are commands
	subs   bool   // its first word that is no option says what it does
	plain  string // options before a subcommand that have no value
	state  bool   // a builtin after which the same words may mean something else
	// code says whether a program in its own language, which it is given, may start others.
	code func(text string) bool
}

// use is what a program is used for.
type use int

const (
	anything    use = iota
	looks           // reading, by options that are not listed
	readsMore       // also reading: with the options listed here it only reads; a rule for it is not about reading
	reads           // reading: with the options listed here it only reads
	readsAlways     // reading, with all options that there are
)

// shows is what a program shows of the files that it is given.
type shows int

const (
	contents shows = iota
	names          // names and attributes, and nothing of what is in them
	below          // what is below the folders, too
	here           // or below the folder that it is in, if it is given none
)

// shell: it runs the text that it reads, or is given.
func (p program) shell() bool { return p.runs == shellRuns }

// starting is whether what follows any of a program's words may be a command.
type starting int

const (
	startsNone   starting = iota
	startsSome            // it may be; rules that allow take the program for what it says
	startsOthers          // it does nothing else
)

const (
	all       = 1 << 30 // of the operands
	none      = -1
	shellRuns = "-c -lc -ic -ec"
	digits    = "0123456789"
	tools     = "-h -help -version --help --version --debug --verbose --quiet --offline --locked --frozen"
)

// lookup is the table.
func lookup(name string) program {
	switch name {
	// What is used on files, and only reads whatever its options.
	case "cat", "tac", "rev", "head", "tail", "nl", "wc", "od", "md5sum", "sha1sum", "sha224sum", "sha256sum",
		"sha384sum", "sha512sum", "b2sum", "cksum", "sum",
		"base32", "basenc", "cmp", "comm", "join", "tsort", "cut", "expand", "unexpand", "fold", "fmt", "pr", "column":
		return program{use: readsAlways, check: readsNames}
	case "diff":
		return program{use: readsAlways, shows: below, check: readsNames}
	case "diff3":
		return program{
			use: reads, flags: "AeExX3ima", values: "L", long: "show-all ed text merge label=",
		}
	case "hexdump", "hd", "paste":
		return program{use: readsAlways, escapes: true, values: "f", files: "f"}
	case "grep", "egrep", "fgrep":
		return program{
			use: readsAlways, values: "efmABCDd", files: "f file",
			long: "regexp= file= max-count= label= after-context= before-context= context=", texts: 1,
			check: searchesBelow,
		}
	case "tr":
		return program{use: readsAlways, texts: all, check: translates}
	case "numfmt":
		return program{
			use: reads, flags: "z", values: "d", texts: all,
			long: "from= to= from-unit= to-unit= field= format= grouping header[= padding= round= suffix= " +
				"delimiter= invalid=",
		}
	case "tee":
		return program{
			use: readsMore, flags: "ai", long: "append ignore-interrupts", texts: all, check: onlyToDevices,
		}
	// What says names and attributes.
	case "ls", "dir", "vdir", "readlink", "realpath", "df", "which", "type", "whereis":
		return program{use: readsAlways, shows: names}
	case "du":
		return program{use: readsAlways, shows: names, check: readsNames}
	case "stat":
		return program{use: readsAlways, shows: names, escapes: true}
	case "file":
		return program{
			use: reads, shows: names, flags: "bhiklLNnrs0I", values: "Fe",
			long: "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad raw " +
				"special-files extension separator= exclude= print0",
		}
	case "tree":
		return program{
			use: reads, shows: names, flags: "adflxCnNpsuhgDqQrtvUASiJX", values: "LPIT",
			long: "noreport dirsfirst filesfirst prune du si inodes device charset= filelimit= gitignore " +
				"matchdirs ignore-case sort=",
		}
	case "fd", "fdfind":
		return program{
			use: reads, shows: names, flags: "HIsigapLFu10lq", values: "dteEScj", texts: 1,
			runs: "-x -X --exec --exec-batch",
			long: "hidden no-ignore case-sensitive ignore-case glob absolute-path full-path follow fixed-strings " +
				"max-depth= min-depth= exact-depth= type= extension= exclude= print0 color= size= changed-within= " +
				"changed-before= max-results= quiet",
		}
	case "find", "gfind":
		return program{use: reads, shows: names, runs: "-exec -execdir -ok -okdir", escapes: true, own: (*judge).find}
	// What only tells, and opens no file.
	case "basename", "dirname", "pwd", "uname", "nproc", "whoami", "id", "groups", "tty", "uptime", "free", "seq",
		"expr", "factor", "sleep", "logname", "hostid",
		"true", "false", ":", "yes", "lscpu", "lsblk", "help", "exit", "break", "continue", "return", "shift", "wait":
		return program{use: readsAlways, shows: names, texts: all}
	case "users", "who", "w":
		return program{use: reads, flags: "abdHlmpqrstTuhfsio", most: none}
	case "cal", "ncal":
		return program{use: reads, flags: "13mjynsbhwMSe", most: 3, texts: all}
	case "getconf", "locale": // -v of getconf starts a program
		return program{use: reads, flags: "akcm", texts: all}
	case "pgrep", "pidof":
		return program{
			use: reads, flags: "lafxnovciswzq", values: "uUPtgGd", texts: all,
			long: "list-name list-full full exact newest oldest count",
		}
	case "jobs", "dirs", "umask", "ulimit":
		return program{use: readsMore, flags: "lnprsvSHadftu", most: none}
	case "echo", "printf":
		return program{use: readsAlways, shows: names, texts: all, escapes: true, check: onlyShows}
	case "test", "[":
		return program{use: readsAlways, shows: names, texts: all, own: (*judge).condition}
	case "cd":
		return program{use: readsMore, own: (*judge).changeFolder}
	case "hostname":
		return program{use: reads, flags: "sfdiI", most: none}
	case "printenv":
		return program{use: readsMore, texts: all, check: onlyPlainVariables}
	case "date":
		return program{
			use: reads, flags: "uR", values: "dr", optional: "I", files: "r reference", texts: all, escapes: true,
			long: "date= reference= utc universal iso-8601[= rfc-3339= rfc-email", check: onlyFormats,
		}
	case "ps":
		return program{
			use: reads, flags: "eAafFljTLHNwdc", values: "pCugUtGqso", texts: all,
			long: "forest no-headers headers sort= pid= ppid= user= cols= width=", check: onlyProcesses,
		}
	// What changes text on its way.
	case "sort", "gsort":
		return program{
			use: reads, flags: "bdfgiMhnrRVcCmsuz", values: "kSt", runs: "--compress-program",
			long: "numeric-sort reverse unique version-sort human-numeric-sort key= field-separator= stable " +
				"ignore-case zero-terminated check[= merge ignore-leading-blanks dictionary-order " +
				"general-numeric-sort ignore-nonprinting month-sort random-sort sort= batch-size= debug " +
				"buffer-size= parallel=",
		}
	case "uniq":
		return program{
			use: reads, flags: "cdDiuz", values: "fsw", most: 1, ordered: true,
			long: "count repeated unique ignore-case all-repeated[= skip-fields= group[= skip-chars= " +
				"zero-terminated check-chars=",
		}
	case "xxd": // which writes to its second name, and reads the first letter of an option only
		return program{use: reads, own: (*judge).hexDump}
	case "base64":
		return program{use: reads, flags: "diD", values: "w", long: "decode ignore-garbage wrap=", most: 1}
	case "shasum", "md5", "crc32":
		return program{use: reads, flags: "bctUpqrsx01", values: "a", long: "binary check text tag quiet status " +
			"strict warn ignore-missing algorithm="}
	case "look":
		return program{use: reads, flags: "adf", values: "t", most: 2, texts: 1}
	case "bc":
		return program{use: reads, flags: "lqs", long: "mathlib quiet standard", most: none}
	case "iconv":
		return program{
			use: reads, flags: "lcs", values: "ft", long: "from-code= to-code= list silent", check: onlyCharacterSets,
		}
	case "strings":
		return program{
			use: reads, flags: "afwdo" + digits, values: "nets", check: noOptionFiles,
			long: "all bytes= radix= encoding= print-file-name include-all-whitespace",
		}
	case "less":
		return program{use: reads, flags: "NSRrXFiInsMmeEqQfgGw", runs: "+", check: onlyShowsPages}
	case "sed", "gsed":
		return program{
			use: reads, flags: "nErsuz", values: "e", long: "quiet silent regexp-extended expression=", texts: 1,
			check: script(sedOnlyReads), code: sedRuns,
		}
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return program{
			use: reads, values: "Fv", texts: 1, ordered: true, escapes: true, check: script(awkOnlyReads),
			code: awkRuns,
		}
	case "nm", "size", "readelf":
		return program{
			use: reads, flags: "aACDgnuropvSBdPWhlsefVI", values: "tx", check: noOptionFiles,
			long: "demangle[= dynamic headers debug-syms print-file-name extern-only numeric-sort undefined-only " +
				"defined-only size-sort format= radix= totals common all wide sections symbols notes relocs " +
				"file-header program-headers section-headers dyn-syms version-info",
		}
	case "zipinfo":
		return program{use: readsMore, flags: "12smlvhtTzC"}
	case "unzip":
		return program{use: readsMore, flags: "lptvZqcz1jC", ordered: true, check: onlyShowsMembers}
	case "ar":
		return program{use: readsMore, check: onlyShowsObjects}
	case "shuf":
		return program{
			use: readsMore, flags: "erz", values: "in", long: "echo input-range= head-count= repeat zero-terminated",
		}
	case "jq":
		return program{
			use: reads, flags: "ceMCaSjrsnR",
			long: "compact-output null-input exit-status slurp raw-input raw-output join-output sort-keys tab " +
				"indent= seq stream stream-errors ascii-output color-output monochrome-output raw-output0 args " +
				"jsonargs",
			texts: 1, escapes: true, own: (*judge).query, check: script(jqOnlyReads),
		}
	case "tar", "gtar", "bsdtar":
		return program{
			use: readsMore, own: (*judge).listArchive,
			runs: "--to-command --use-compress-program -I --checkpoint-action=exec --rsh-command --info-script -F",
		}
	case "gzip", "bzip2", "xz", "zstd", "gunzip", "bunzip2", "unxz", "unzstd":
		return program{use: readsMore, flags: "cdltv", long: "stdout to-stdout decompress list test",
			check: onlyUnpacksToOutput}
	case "zcat", "bzcat", "xzcat", "zstdcat", "lzcat":
		return program{use: reads}
	case "rg":
		return program{
			use: reads, shows: here, flags: "FHIilLNnoPpqSsUuvwxc0.ab", values: "ABCEefgjMmrtTd", texts: 1,
			files: "f file",
			runs:  "--pre --hostname-bin",
			long: "after-context= before-context= context= case-sensitive color= column count files " +
				"files-with-matches fixed-strings glob= heading hidden ignore-case invert-match json " +
				"line-number max-columns= max-count= max-depth= multiline no-filename no-heading no-ignore " +
				"no-line-number only-matching pcre2 quiet regexp= smart-case sort= stats type= type-not= " +
				"vimgrep word-regexp binary byte-offset colors= count-matches crlf encoding= file= " +
				"files-without-match follow glob-case-insensitive iglob= include-zero line-buffered line-regexp " +
				"max-columns-preview max-filesize= mmap no-mmap multiline-dotall no-config no-hidden no-ignore-dot " +
				"no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent " +
				"no-ignore-vcs " +
				"no-messages no-unicode null null-data one-file-system passthru pretty replace= sortr= text " +
				"threads= trim type-list unrestricted with-filename",
			check: searchesBelow,
		}
	case "go":
		return program{use: readsMore, runs: "-exec -toolexec -vettool", plain: tools, own: (*judge).goTells}
	case "gofmt":
		return program{use: readsMore, shows: below, flags: "dels"}
	case "git":
		return program{
			use: looks, subs: true, plain: "-p -P -h -v --paginate --bare --literal-pathspecs --glob-pathspecs " +
				"--noglob-pathspecs --icase-pathspecs --version --help --html-path --man-path --info-path",
			runs: "run foreach --exec -x --upload-pack --receive-pack --extcmd --tree-filter --index-filter " +
				"--msg-filter -c -O --open-files-in-pager --config-env",
		}
	// What is used for reading, though nobody lists with which options.
	case "ag", "lsof", "more", "objdump", "zgrep", "where":
		return program{use: looks}
	case "man":
		return program{use: looks, runs: "-P --pager -H"}
	}
	return carrier(name)
}

// carrier are the programs that run others, and what else changes what a command means.
func carrier(name string) program {
	if isLoader(name) {
		return program{starts: startsOthers}
	}
	switch name {
	// What is looked through.
	case "command":
		return program{
			use: reads, shows: names, wraps: &wrapper{flags: "p"}, starts: startsOthers, texts: all, flags: "vVp",
		}
	case "builtin", "nohup":
		return program{wraps: &wrapper{}, starts: startsOthers}
	case "exec":
		return program{wraps: &wrapper{flags: "cl", values: "a"}, starts: startsOthers, state: true}
	case "time":
		return program{wraps: &wrapper{flags: "p"}, starts: startsOthers}
	case "timeout":
		return program{
			wraps: &wrapper{flags: "vpf", values: "ks", operands: 1,
				long: "--foreground --preserve-status --verbose --kill-after= --signal="},
			starts: startsOthers,
		}
	case "nice":
		return program{wraps: &wrapper{values: "n", number: true, long: "--adjustment="}, starts: startsOthers}
	case "stdbuf":
		return program{wraps: &wrapper{values: "ioe", long: "--input= --output= --error="}, starts: startsOthers}
	case "env":
		return program{
			wraps:  &wrapper{flags: "i0", values: "u", assigns: true, long: "--ignore-environment --null --unset="},
			starts: startsOthers,
		}
	case "xargs":
		return program{
			use: reads, shows: names,
			wraps: &wrapper{flags: "0rtxop", values: "nPLIsdEa",
				long: "--arg-file= --open-tty --null --no-run-if-empty --verbose --exit --max-args= --max-procs= " +
					"--max-lines= --delimiter="},
			starts: startsOthers, flags: "0rtx", values: "nPLIsdE", texts: all,
		}
	// What has options that matter, so that it is a part itself.
	case "sudo":
		return program{
			wraps: &wrapper{visible: true, flags: "nEHSkbAi", values: "ughpCrtTDU", assigns: true,
				long: "--non-interactive --preserve-env --set-home --login --user= --group="},
			starts: startsOthers,
		}
	case "doas":
		return program{wraps: &wrapper{visible: true, flags: "n", values: "uC"}, starts: startsOthers}
	case "setsid":
		return program{wraps: &wrapper{visible: true, flags: "cfw"}, starts: startsOthers}
	case "chroot", "chrt", "flock":
		return program{
			wraps: &wrapper{visible: true, flags: "abfiorsxenF", values: "wE", operands: 1}, starts: startsOthers,
		}
	case "ionice", "watch":
		return program{wraps: &wrapper{visible: true, flags: "bcdegtwx", values: "n"}, starts: startsOthers}
	case "busybox", "toybox", "strace", "unshare":
		return program{
			wraps: &wrapper{visible: true, flags: "cfFqrtTvxyiCkwmunpU", values: "abeEIoOPsSuX"}, starts: startsOthers,
		}
	case "capsh", "choom", "firejail", "ltrace", "nsenter", "parallel", "pkexec", "prlimit", "runuser", "script",
		"setarch", "setpriv", "su", "systemd-run", "taskset", "unbuffer",
		"rlwrap", "chronic", "ifne", "sem", "sshpass", "linux32", "linux64", "runcon", "aa-exec", "start-stop-daemon",
		"chpst", "softlimit", "setuidgid", "eatmydata", "cpulimit", "trickle", "daemonize", "fzf":
		return program{starts: startsOthers}
	// Their words may be a command, or something else.
	case "-", "entr", "fakeroot", "faketime", "proot", "bwrap", "valgrind", "perf", "xvfb-run", "dbus-run-session",
		"sg", "coproc", "direnv", "nix-shell", "poetry", "pipenv", "uv", "uvx", "npx",
		"bunx", "rtk", "mise", "asdf", "hyperfine", "gdb", "lldb", "torsocks", "torify", "proxychains", "proxychains4",
		"caffeinate", "arch", "numactl", "cgexec", "pipx", "at", "batch",
		"ssh-agent", "gosu", "su-exec", "tini", "dumb-init", "catchsegv", "run-parts", "tmux", "screen":
		return program{starts: startsSome}
	case "rsync":
		return program{runs: "-e --rsh --rsync-path"}
	case "scp", "sftp":
		return program{runs: "-S"}
	case "ssh":
		return program{runs: "-o -oProxyCommand"}
	case "docker", "podman", "nerdctl":
		return program{
			subs: true, runs: "exec run -- --entrypoint", plain: "-D -v --debug --tls --tlsverify --version --help",
		}
	case "npm", "pnpm", "yarn", "bun":
		return program{
			subs: true, runs: "exec -- dlx -c --call",
			plain: "-s -d -q -g -f -y -h -v -D -S -E -O -P --silent --quiet --verbose --global --force --yes " +
				"--json --dry-run --production --ignore-scripts --help --version",
		}
	case "cargo":
		return program{subs: true, runs: "exec -- dlx -c --call", plain: tools}
	case "kubectl":
		return program{subs: true, runs: "exec run -- --entrypoint", plain: tools}
	case "make", "gmake":
		return program{runs: "SHELL= --eval -E", plain: tools}
	case "python", "python2", "python3":
		return program{runs: "-c"}
	case "perl", "ruby", "lua":
		return program{runs: "-e -E -ne -pe -le -lne -lpe -ane -lane"}
	case "node", "php":
		return program{runs: "-e -p -r -pe --eval --print --run"}
	case "socat":
		return program{runs: "EXEC: SYSTEM: exec: system:"}
	case "nc", "ncat", "netcat":
		return program{runs: "-e -c --exec --sh-exec"}
	case "gcc", "cc", "clang":
		return program{runs: "-wrapper"}
	case "cmake":
		return program{runs: "-E env time"}
	case "terraform", "tofu", "helm", "gh", "aws", "gcloud", "systemctl":
		return program{subs: true, plain: tools}
	case "split":
		return program{runs: "--filter"}
	case "vim", "vi", "nvim", "ex":
		return program{runs: "-c + --cmd"}
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "fish":
		return program{runs: shellRuns}
	case "eval", "trap":
		return program{starts: startsSome, state: true}
	case ".", "alias", "bind", "complete", "declare", "enable", "export", "fc", "getopts", "hash", "history", "let",
		"local",
		"mapfile", "popd", "pushd", "read", "readarray", "readonly", "set", "shopt", "source", "typeset", "unalias",
		"unset":
		return program{state: true}
	}
	return program{}
}
