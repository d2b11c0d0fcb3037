package reader

import (
	"slices"
	"strings"
)

// reading are programs that show what is in files.
func reading(name string) (spec, bool) {
	switch name {
	case "cat":
		return spec{flags: "AbeEnstTuvl", most: many, harmless: true, long: "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting version help"}, true
	case "tac", "rev":
		return spec{flags: "br", values: "s", most: many, harmless: true, long: "before regex separator= version help"}, true
	case "head":
		return spec{flags: "qvz", values: "cn", numbers: true, most: many, harmless: true, long: "bytes= lines= quiet silent verbose zero-terminated version help"}, true
	case "tail":
		return spec{flags: "qvzfFr", values: "cnsb", numbers: true, plus: true, most: many, harmless: true, long: "bytes= lines= quiet silent verbose zero-terminated follow[= retry pid= sleep-interval= max-unchanged-stats= version help"}, true
	case "nl":
		return spec{flags: "p", values: "bdfhilnsvw", most: many, harmless: true, long: "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width= version help"}, true
	case "wc":
		return spec{flags: "clLmw", most: many, harmless: true, files: "files0-from", long: "bytes chars lines files0-from= max-line-length words total= version help"}, true
	case "od":
		return spec{flags: "abcdfhilosxvBDFHILOX", values: "ANjSt", optional: "w", most: many, harmless: true, long: "address-radix= endian= skip-bytes= read-bytes= strings[= format= output-duplicates width[= version help"}, true
	case "hexdump", "hd":
		return spec{flags: "bcCdovxX", values: "nse", most: many, harmless: true, long: "canonical length= skip= no-squeezing version help", check: noControls("e")}, true
	case "strings":
		return spec{flags: "afwdv", values: "netso", numbers: true, most: many, long: "all bytes= radix= encoding= print-file-name include-all-whitespace version help", check: noResponse}, true
	case "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "shasum", "md5", "crc32":
		return spec{flags: "bctzwqrsUp01", values: "la", most: many, harmless: true, long: "binary check tag text zero ignore-missing quiet status strict warn algorithm= length= untagged version help"}, true
	case "base64", "base32", "basenc":
		return spec{flags: "diD", values: "w", most: 1, harmless: name != "base64", long: "decode ignore-garbage wrap= base64 base64url base32 base32hex base16 version help"}, true
	case "cmp":
		return spec{flags: "blsxz", values: "in", most: 4, harmless: true, long: "print-bytes ignore-initial= verbose bytes= quiet silent version help"}, true
	case "diff":
		return spec{
			flags: "abBcdeEiHNnpPqrstTuwyZl", values: "CDFILSUWxX", most: many, harmless: true, open: true, files: "X exclude-from from-file to-file",
			long: "normal brief report-identical-files context[= unified[= ed rcs side-by-side width= left-column suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case no-ignore-file-name-case exclude= exclude-from= starting-file= from-file= to-file= ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr ifdef= line-format= minimal horizon-lines= speed-large-files color[= palette= version help",
		}, true
	case "diff3":
		return spec{flags: "AeExX3ima", values: "L", most: 3, long: "show-all ed text merge label= version help"}, true
	case "comm":
		return spec{flags: "123z", most: 2, harmless: true, long: "check-order nocheck-order output-delimiter= total zero-terminated version help"}, true
	case "join":
		return spec{flags: "iz", values: "aejotv12", most: 2, harmless: true, long: "ignore-case check-order nocheck-order header zero-terminated version help"}, true
	case "less":
		// Not at a terminal it is cat. Not -o and -O, which write, -k, which reads keys, and +,
		// which begins with a command.
		return spec{flags: "NSRrXFiInsMmeEqQfgGw", most: many, long: "LINE-NUMBERS chop-long-lines RAW-CONTROL-CHARS quit-if-one-screen no-init version help", check: func(_ *judge, c *call) string {
			if slices.ContainsFunc(c.operands, func(a arg) bool { return !a.known && !a.pattern && a.texts == nil || strings.HasPrefix(a.shown(), "+") }) {
				return "gives `less` what may be a command"
			}
			for _, t := range c.operands {
				if slices.ContainsFunc(t.texts, func(s string) bool { return strings.HasPrefix(s, "+") }) {
					return "gives `less` what may be a command"
				}
			}
			return ""
		}}, true
	case "look":
		return spec{flags: "adf", values: "t", most: 2, long: "alternative alphanum ignore-case terminate="}, true
	}
	return packed(name)
}

// packed are programs that show what is in archives and binaries, and copy.
func packed(name string) (spec, bool) {
	switch name {
	case "zcat", "bzcat", "xzcat", "zstdcat", "lzcat":
		return spec{most: many}, true
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd":
		return spec{
			flags: "cdltvqkf123456789", most: many, long: "stdout to-stdout decompress uncompress list test verbose quiet keep fast best version help",
			check: onlyShowsPacked,
		}, true
	case "unzip":
		return spec{flags: "lptvZqcz1jC", values: "x", most: many, ordered: true, check: func(_ *judge, c *call) string {
			// A further dash takes an option back, also after --.
			if !c.has("l", "p", "t", "v", "Z", "c", "z") || c.ended || slices.ContainsFunc(c.operands, func(a arg) bool { return a.dash }) {
				return "unpacks files"
			}
			return ""
		}}, true
	case "zipinfo":
		return spec{flags: "12smlvhMtTzC", most: many}, true
	case "ar":
		return spec{most: many, check: func(j *judge, c *call) string {
			if len(c.operands) > 0 && c.operands[0].known && strings.Trim(c.operands[0].text, "tpvO") == "" {
				return noResponse(j, c)
			}
			return "may change an archive"
		}}, true
	case "nm":
		return spec{flags: "aACDgnopruvBP", values: "tf", most: many, long: "debug-syms print-file-name demangle[= dynamic extern-only numeric-sort undefined-only defined-only size-sort format= radix= version help", check: noResponse}, true
	case "size":
		return spec{flags: "ABdotx", most: many, long: "format= radix= totals common version help", check: noResponse}, true
	case "readelf":
		return spec{flags: "ahlSgtesnrudVDAIW", values: "xp", most: many, long: "all file-header program-headers sections section-headers symbols dyn-syms notes relocs dynamic version-info wide headers version help", check: noResponse}, true
	case "dd":
		return spec{most: many, texts: many, check: func(j *judge, c *call) string { return copyBlocks(j, c) }}, true
	case "tee":
		// It shows its input, and writes to each name.
		return spec{flags: "ai", most: many, texts: many, long: "append ignore-interrupts version help", check: func(_ *judge, c *call) string {
			if slices.ContainsFunc(c.operands, func(a arg) bool { return !a.known || !plainDevice(a.text) }) {
				return "writes to the files that it is given"
			}
			return ""
		}}, true
	}
	return spec{}, false
}

// onlyShowsPacked: what is packed or unpacked goes to the output; or it is only listed or
// tested, and nothing else is said, since to some of these programs the last word counts.
func onlyShowsPacked(_ *judge, c *call) string {
	switch {
	case c.has("c", "stdout", "to-stdout"):
		return ""
	case c.has("version", "help") && len(c.operands) == 0 && len(c.options) == 1:
		return "" // with a name, bzip2 goes on
	case c.has("l", "list", "t", "test") && !c.has("d", "decompress", "uncompress", "k", "keep", "version", "help"):
		return ""
	}
	return "replaces the files that it packs or unpacks"
}

// noResponse: these programs take options from a file named by @, among them one that loads
// code. They look for it in each of their words, also in the value of an option.
func noResponse(_ *judge, c *call) string {
	for _, a := range c.operands {
		if a.at {
			return "takes options from the file " + a.shown()
		}
	}
	for _, o := range c.options {
		if o.value.at && o.apart {
			return "takes options from the file " + o.value.shown()
		}
	}
	return ""
}

// hexDump judges xxd, which writes to its second name. It looks at the first letter of an
// option only, and takes all for names after the first one.
func hexDump(j *judge, args []arg) string {
	for len(args) > 0 && args[0].known && len(args[0].text) > 1 && args[0].text[0] == '-' {
		text := args[0].text
		args = args[1:]
		switch {
		case len(text) == 2 && strings.Contains("abCdeEipuv", text[1:]):
		case strings.Contains("cglso", text[1:2]) && len(text) > 2 && text[2] >= '0' && text[2] <= '9':
		case len(text) == 2 && strings.Contains("cglso", text[1:]) && len(args) > 0 && args[0].known && isNumber(args[0].text):
			args = args[1:]
		default:
			return "gives `xxd` the option " + text + ", which is not known to only read"
		}
	}
	if len(args) > 1 || len(args) == 1 && (!args[0].single || args[0].dash && args[0].text != "-") {
		return "gives `xxd` more names than it only reads"
	}
	for _, a := range args {
		j.mayRead(a)
	}
	return ""
}

// The options of tar that are letters: those with a value are not T, whose file may hold
// options, and not I, which runs a program.
const tarFlags, tarValues = "tvzjJOaPnmpRx", "fCX"

// tarOptions: only t, or x to the output, in each of the three ways in which tar takes options, and nothing that
// starts another program but the usual unpackers.
func tarOptions(j *judge, args []arg, p *Part) string {
	if len(args) == 0 {
		return "may change an archive"
	}
	if !args[0].known {
		return "gives `tar` options that are only known when it runs"
	}
	if first := args[0]; first.text != "" && first.text[0] != '-' {
		// In a bundle without a dash the values follow in the order of their letters.
		flags, value := strings.Map(func(r rune) rune {
			if strings.ContainsRune(tarValues, r) {
				return -1
			}
			return r
		}, first.text), strings.Trim(first.text, tarFlags)
		if len(value) > 1 {
			return "gives `tar` more than one value by its first word"
		}
		args = append([]arg{plainArg("-" + flags + value)}, args[1:]...)
	}
	s := spec{
		flags: tarFlags, values: tarValues, most: many, files: "f file C directory X",
		long: "force-local extract get list verbose gzip gunzip ungzip bzip2 xz zstd lzma auto-compress file= directory= exclude= wildcards no-wildcards full-time numeric-owner utc absolute-names to-stdout block-number totals version help strip-components=",
		check: func(_ *judge, c *call) string {
			only := c.has("t", "list") && !c.has("x", "extract", "get") || !c.has("t", "list") && c.has("x", "extract", "get") && c.has("O", "to-stdout") || c.has("version", "help") && len(c.operands) == 0
			if !only {
				return "may write files (tar without t)"
			}
			for _, f := range c.valuesOf("f", "file") {
				if !f.known || strings.Contains(f.text, ":") && !c.has("force-local") {
					return "may reach another machine for its archive"
				}
			}
			return ""
		},
	}
	return j.use(s, "tar", args, p)
}

func copyBlocks(j *judge, c *call) string {
	for _, a := range c.operands {
		key, value, found := strings.Cut(a.text, "=")
		if !a.known || !found {
			return "may write what `dd` is told only when it runs"
		}
		switch key {
		case "if":
			j.reads = append(j.reads, value)
			if strings.HasPrefix(value, "/dev/") && !plainDevice(value) && value != "/dev/urandom" && value != "/dev/random" {
				return "reads the device " + value
			}
		case "bs", "ibs", "obs", "cbs", "count", "skip", "status", "conv", "iflag":
		default:
			return "gives `dd` " + key + "=, which may write"
		}
	}
	return ""
}

// query judges jq, whose programs can read modules and tell the environment.
func query(j *judge, args []arg, p *Part) string {
	s := spec{
		flags: "ceMCaSjrsnRe", most: many, texts: 1,
		long: "compact-output null-input exit-status slurp raw-input raw-output join-output ascii-output color-output monochrome-output sort-keys tab indent= raw-output0 seq stream stream-errors version help args jsonargs",
		check: func(_ *judge, c *call) string {
			if len(c.operands) == 0 {
				return ""
			}
			program := c.operands[0]
			if !program.known {
				return "runs a jq program that is only known when it runs"
			}
			raw := c.has("r", "j", "raw-output", "join-output", "raw-output0")
			if why := checkJq(program.text, raw); why != "" {
				return "runs a jq program that " + why
			}
			return ""
		},
	}
	// --arg name value and --argjson name value take two words.
	var rest []arg
	for i := 0; i < len(args); i++ {
		if a := args[i]; a.known && (a.text == "--arg" || a.text == "--argjson") {
			if i+2 < len(args) && slices.ContainsFunc(j.partsOf(args[i+2]), jqControls) {
				return controlsTerminal
			}
			if i+2 >= len(args) || !args[i+1].single || !args[i+2].single {
				return "gives `jq --arg` what is only known when it runs"
			}
			i += 2
			continue
		}
		rest = append(rest, args[i])
	}
	return j.use(s, "jq", rest, p)
}
