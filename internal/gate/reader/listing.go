package reader

import "strings"

// listing are programs that tell about files, and about the machine.
func listing(name string) (spec, bool) {
	switch name {
	case "ls", "dir", "vdir":
		return spec{
			flags: "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1", values: "ITw", most: many, harmless: true,
			long: "all almost-all author escape block-size= ignore-backups color[= directory dired classify[= file-type format= full-time group-directories-first no-group human-readable si dereference-command-line dereference-command-line-symlink-to-dir hide= hyperlink[= indicator-style= inode ignore= kibibytes dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero version help",
		}, true
	case "stat":
		return spec{flags: "LtxsrnqF", values: "c", optional: "f", most: many, harmless: true, long: "dereference file-system format= printf= terse cached= version help", check: noControls("printf", "f")}, true
	case "readlink", "realpath":
		return spec{flags: "femnqsvzLP", most: many, harmless: true, long: "canonicalize canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip no-symlinks zero no-newline silent verbose version help"}, true
	case "basename":
		return spec{flags: "az", values: "s", most: many, texts: many, harmless: true, long: "multiple suffix= zero version help"}, true
	case "dirname":
		return spec{flags: "z", most: many, texts: many, harmless: true, long: "zero version help"}, true
	case "pwd":
		return spec{flags: "LP", harmless: true, long: "logical physical"}, true
	case "du":
		return spec{flags: "0aAbcDgHhklLmPsSxn", values: "BdtX", most: many, harmless: true, long: "null all apparent-size block-size= bytes total dereference-args max-depth= human-readable inodes kilobytes dereference count-links no-dereference separate-dirs si summarize threshold= time[= time-style= exclude-from= exclude= one-file-system version help"}, true
	case "df":
		return spec{flags: "ahHiklPTvm", values: "Btx", most: many, harmless: true, long: "all block-size= human-readable si inodes local portability type= print-type exclude-type= total output[= no-sync version help"}, true
	case "tree":
		return spec{flags: "adflxCnNpsuhgDqQrtvUASiJX", values: "LPITH", long: "noreport dirsfirst filesfirst prune du si inodes device charset= filelimit= timefmt= gitignore matchdirs ignore-case version help sort=", most: many}, true
	case "file":
		// Not -C and -m, which compile and read rules; not -z, which starts programs; not
		// -p, which sets times.
		return spec{flags: "bhiklLNnrs0vI", values: "Fe", most: many, long: "brief mime mime-type mime-encoding keep-going dereference no-dereference no-pad raw special-files version help extension separator= exclude= print0"}, true
	case "type", "which", "whereis":
		return spec{flags: "aftpPsbm", most: many, texts: many, harmless: true, long: "all version help"}, true
	case "command":
		return spec{flags: "vVp", most: many, texts: many}, true
	}
	return machine(name)
}

// machine are programs that tell about the machine and its processes.
func machine(name string) (spec, bool) {
	switch name {
	case "uname", "arch", "nproc", "whoami", "logname", "tty", "users", "hostid":
		return spec{flags: "asnrvmpio", long: "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system ignore= version help"}, true
	case "id", "groups":
		return spec{flags: "agGnruz", most: many, texts: many, long: "group groups name real user zero version help"}, true
	case "who", "w":
		return spec{flags: "abdHlmpqrstTuhfsio", most: 0, long: "all boot count heading version help"}, true
	case "hostname":
		return spec{flags: "sfdiIAyv", long: "short long fqdn domain ip-address all-ip-addresses version help"}, true
	case "uptime":
		return spec{flags: "ps", long: "pretty since version help"}, true
	case "free":
		return spec{flags: "bkmghltvw", long: "bytes kilo mega giga human lohi total wide version help kibi mebi gibi si"}, true
	case "vmstat":
		return spec{flags: "adfmnstwS", most: 2, texts: many, long: "version help"}, true
	case "lscpu", "lsblk":
		return spec{flags: "abdfilmnprStyJPO", optional: "eo", long: "all json bytes version help"}, true
	case "getconf":
		return spec{flags: "a", most: 2, texts: many}, true
	case "locale":
		return spec{flags: "akcm", most: many, texts: many}, true
	case "date":
		return spec{
			flags: "uRn", values: "dr", optional: "I", most: 1, texts: many, files: "r reference", plus: false,
			long: "date= reference= utc universal iso-8601[= rfc-3339= rfc-email version help",
			check: func(_ *judge, c *call) string {
				for _, a := range c.operands {
					if !strings.HasPrefix(a.text, "+") {
						return "may set the clock"
					}
				}
				return ""
			},
		}, true
	case "cal", "ncal":
		return spec{flags: "13mjynsbhwMSe", most: 3, texts: many, long: "version help"}, true
	case "ps":
		return spec{
			flags: "eAaufFljTHLNwdyMcZ", values: "opCutGgUqOs", most: 2, texts: many,
			long:  "forest no-headers headers sort= pid= ppid= user= format= cols= width= version help",
			check: func(_ *judge, c *call) string { return processes(c) },
		}, true
	case "pgrep", "pidof":
		return spec{flags: "lafxnovciswzq", values: "uUPtgGds", most: many, texts: many, long: "list-name list-full full exact newest oldest count version help"}, true
	case "sleep":
		return spec{most: many, texts: many}, true
	}
	return spec{}, false
}

// processes: without a dash, e means that the environment is shown too.
func processes(c *call) string {
	for _, a := range c.operands {
		if !a.known || strings.Trim(a.text, "auxfwljvs0123456789,") != "" {
			return "may tell the environment of processes"
		}
	}
	for _, o := range c.options {
		if o.given && (!o.value.known || strings.Contains(strings.ToLower(o.value.text), "env")) {
			return "may tell the environment of processes"
		}
	}
	return ""
}
