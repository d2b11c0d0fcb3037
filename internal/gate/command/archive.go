package command

import (
	"strings"
)

// What is known of programs that show what is packed, and of xxd.

func onlyUnpacksToOutput(_ *judge, u *invocation) string {
	tests := u.has("l", "list", "t", "test") && !u.has("d", "decompress")
	if !u.has("c", "stdout", "to-stdout") && !tests {
		return "replaces the files that it packs or unpacks"
	}
	return ""
}

// listArchive judges tar: one bundle of letters that lists a file of this machine, or unpacks it to
// the output, and nothing else that may be an option.
func (j *judge) listArchive(words []Word) string {
	args := words[1:]
	letters := ""
	if len(args) > 0 {
		letters = strings.TrimPrefix(args[0].Text, "-")
	}
	if len(args) < 2 || !args[0].Known || strings.Trim(letters, "tvzjJfxO") != "" ||
		strings.Contains(letters, "t") == strings.Contains(letters, "x") ||
		strings.Contains(letters, "x") && !strings.Contains(letters, "O") ||
		strings.Index(letters, "f") != len(letters)-1 {
		return "may change an archive, or unpack it"
	}
	for i, w := range args[1:] {
		if !w.Known || w.mayBegin('-') || i == 0 && strings.Contains(w.Text, ":") {
			return "may reach another machine for its archive, or start a program"
		}
	}
	shown := args[1:2]
	if strings.Contains(letters, "x") {
		shown = args[1:]
	}
	for _, w := range shown {
		j.out.Reads = append(j.out.Reads, Source{Word: w})
	}
	return ""
}

// onlyShowsMembers judges unzip. A further dash takes an option back, wherever it stands.
func onlyShowsMembers(_ *judge, u *invocation) string {
	if !u.has("l", "p", "t", "v", "Z", "c", "z") || u.begins('-') {
		return "unpacks files"
	}
	return ""
}

// onlyShowsObjects judges ar, which takes options from a file named by @.
func onlyShowsObjects(j *judge, u *invocation) string {
	if len(u.operands) == 0 || !u.operands[0].Known || strings.Trim(u.operands[0].Text, "tpvO") != "" {
		return "may change an archive"
	}
	return noOptionFiles(j, u)
}

// hexDump judges xxd, which writes to its second name. It looks at the first letter of an option
// only, and takes all words behind its first name for names.
func (j *judge) hexDump(words []Word) string {
	number := func(text string) bool { return text != "" && strings.Trim(text, digits) == "" }
	args := words[1:]
	for len(args) > 0 && args[0].Known && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		letter, value := args[0].Text[1:2], args[0].Text[2:]
		switch {
		case value == "" && strings.Contains("abCdeEipuv", letter), strings.Contains("cgls", letter) && number(value):
			args = args[1:]
		case value == "" && strings.Contains("cgls", letter) && len(args) > 1 && args[1].Known && number(args[1].Text):
			args = args[2:]
		default:
			return "gives `xxd` the option " + args[0].Text + ", which is not known to only read"
		}
	}
	if len(args) > 1 || len(args) == 1 && (!args[0].single() || args[0].mayBegin('-')) {
		return "gives `xxd` more than the name that it reads"
	}
	for _, w := range args {
		j.out.Reads = append(j.out.Reads, Source{Word: w})
	}
	return ""
}
