package reader

import "strings"

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
		return spec{flags: "bcCdovxX", values: "nse", most: many, harmless: true, long: "canonical length= skip= no-squeezing version help"}, true
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
			check: func(_ *judge, c *call) string {
				if c.has("c", "stdout", "to-stdout", "l", "list", "t", "test", "version", "help") {
					return ""
				}
				return "replaces the files that it packs or unpacks"
			},
		}, true
	case "unzip":
		return spec{flags: "lptvZqcz1jC", values: "x", most: many, check: func(_ *judge, c *call) string {
			if c.has("l", "p", "t", "v", "Z", "c", "z") {
				return ""
			}
			return "unpacks files"
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
		return spec{flags: "ai", long: "append ignore-interrupts version help"}, true
	}
	return spec{}, false
}

// noResponse: these programs take options from a file named by @, among them one that loads
// code.
func noResponse(_ *judge, c *call) string {
	for _, a := range c.operands {
		if strings.HasPrefix(a.text, "@") || strings.HasPrefix(strings.Trim(a.written, "\"'"), "@") {
			return "takes options from the file " + a.shown()
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

// tarOptions: only t, in each of the three ways in which tar takes options, and nothing that
// starts another program but the usual unpackers.
func tarOptions(j *judge, args []arg, p *Part) string {
	if len(args) == 0 {
		return "may change an archive"
	}
	if first := args[0]; first.known && first.text != "" && first.text[0] != '-' {
		bundle := plainArg("-" + first.text)
		if strings.Count(first.text, "f") > 1 || strings.Contains(first.text, "f") && !strings.HasSuffix(first.text, "f") {
			// In a bundle without a dash values follow in order; only f has one here.
			bundle = plainArg("-" + strings.ReplaceAll(first.text, "f", "") + "f")
		}
		args = append([]arg{bundle}, args[1:]...)
	}
	s := spec{
		flags: "tvzjJOaPnmpR", values: "fCTX", most: many, files: "f file C directory T X",
		long: "list verbose gzip gunzip ungzip bzip2 xz zstd lzma auto-compress file= directory= exclude= wildcards no-wildcards full-time numeric-owner utc absolute-names to-stdout block-number totals version help strip-components=",
		check: func(_ *judge, c *call) string {
			if !c.has("t", "list", "version", "help") {
				return "may write files (tar without t)"
			}
			for _, f := range c.valuesOf("f", "file") {
				if !f.known || strings.Contains(f.text, ":") {
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
			for _, word := range []string{"env", "ENV", "import", "include", "$__", "input_filename", "debug", "get_search_list"} {
				if strings.Contains(program.text, word) {
					return "runs a jq program that may tell the environment or read modules (" + word + ")"
				}
			}
			return ""
		},
	}
	// --arg name value and --argjson name value take two words.
	var rest []arg
	for i := 0; i < len(args); i++ {
		if a := args[i]; a.known && (a.text == "--arg" || a.text == "--argjson") {
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
