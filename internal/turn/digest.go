package turn

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// What of one entry a digest shows.
const (
	digestWords  = 4000
	digestResult = 600
	digestInput  = 300
)

// Digest retells a log in at most about limit bytes, for a summary of a conversation that is
// too long to be sent as it is: words nearly whole, tool output shortened, and of the middle
// what there is room for. The first words and the latest entries are always there; behind the log
// that a fork goes on from also those that the fork was begun with.
func Digest(events []troupe.Event, limit int) string {
	var entries []string
	var first []bool // of a session
	var of troupe.SessionID
	room := limit
	for _, e := range events {
		text := digest(e.Body)
		if text == "" {
			continue
		}
		begins := len(entries) == 0 || e.Session != of
		if of = e.Session; begins {
			room -= len(text)
		}
		entries, first = append(entries, text), append(first, begins)
	}
	if len(entries) == 0 {
		return "(nothing was said yet)"
	}
	from := len(entries)
	for from > 0 && (first[from-1] || room > len(entries[from-1])) {
		if from--; !first[from] {
			room -= len(entries[from])
		}
	}
	var b strings.Builder
	b.WriteString("The conversation so far, with tool output shortened:")
	out := 0
	for i, text := range entries {
		if i < from && !first[i] {
			out++
			continue
		}
		if out > 0 {
			fmt.Fprintf(&b, "\n\n[%d entries are left out here]", out)
			out = 0
		}
		b.WriteString("\n\n" + text)
	}
	return b.String()
}

func digest(body troupe.Body) string {
	switch b := body.(type) {
	case troupe.MailDelivered:
		var parts []string
		for _, m := range b.Mail {
			m.Brief = nil // it is told anew behind the summary
			if text := troupe.JoinText(mailBlocks(m)); text != "" {
				parts = append(parts, "USER: "+clip(text, digestWords))
			}
		}
		return strings.Join(parts, "\n\n")
	case troupe.Replied:
		var parts []string
		if text := troupe.JoinText(b.Blocks); text != "" {
			parts = append(parts, "YOU: "+clip(text, digestWords))
		}
		for _, block := range b.Blocks {
			if block.Type == troupe.CallBlock && block.Call != nil {
				parts = append(parts, "YOU CALLED "+block.Call.Name+": "+clip(block.Call.Input, digestInput))
			}
		}
		return strings.Join(parts, "\n")
	case troupe.ToolFinished:
		limit := digestResult
		if b.Outcome != nil {
			limit = digestWords
		}
		return "RESULT OF " + b.Name + ": " + clip(troupe.JoinText(b.Result.Blocks), limit)
	case troupe.Compacted:
		return "SUMMARY OF WHAT WAS BEFORE: " + clip(troupe.JoinText(b.Blocks), 4*digestWords)
	}
	return ""
}

// clip keeps the beginning and the end of a text.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, _ := Cap(s, n*2/3)
	tail := s[len(s)-n/3:]
	for tail != "" && tail[0]&0xC0 == 0x80 {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s [… %d bytes …] %s", head, len(s)-len(head)-len(tail), tail)
}
