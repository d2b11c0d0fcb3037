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
// what there is room for. The first words and the latest entries are always there.
func Digest(events []troupe.Event, limit int) string {
	var entries []string
	for _, e := range events {
		if text := digest(e.Body); text != "" {
			entries = append(entries, text)
		}
	}
	if len(entries) == 0 {
		return "(nothing was said yet)"
	}
	first, rest := entries[0], entries[1:]
	room := limit - len(first)
	from := len(rest)
	for from > 0 && room-len(rest[from-1]) > 0 {
		from--
		room -= len(rest[from])
	}
	var b strings.Builder
	b.WriteString("The conversation so far, with tool output shortened:\n\n" + first)
	if from > 0 {
		fmt.Fprintf(&b, "\n\n[%d entries are left out here]", from)
	}
	for _, text := range rest[from:] {
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
