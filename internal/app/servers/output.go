package servers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
)

// What of a result a model is shown. The rest is in a file.
const (
	keepHead  = 20 << 10
	keepTail  = 10 << 10
	maxImages = 8
	maxFile   = 64 << 20
)

// output is a result as a model is told it: text that cannot look like the runtime's own words, images that a
// provider takes, and where all else is.
func output(env tool.Env, r mcp.Result) tool.Output {
	out := tool.Output{IsError: r.IsError}
	var text strings.Builder
	images := 0
	for i, p := range r.Pieces {
		if len(p.Data) == 0 {
			if text.Len() > 0 && p.Text != "" {
				text.WriteString("\n")
			}
			text.WriteString(p.Text)
			continue
		}
		block, err := files.ImageBlock(p.Data)
		if strings.HasPrefix(p.Media, "image/") && err == nil && images < maxImages {
			images++
			out.Blocks = append(out.Blocks, block)
			continue
		}
		fmt.Fprintf(&text, "\n(%s of %s: %s)", visible(p.Media), tool.FormatBytes(int64(len(p.Data))),
			where(save(env, fmt.Sprintf("-%d%s", i, extension(p.Media)), p.Data)))
	}
	if s := shorten(env, clean(text.String())); s != "" {
		out.Blocks = append([]troupe.Block{troupe.Text(s)}, out.Blocks...)
	}
	return out
}

// clean takes out of a stranger's text what a person would not see and what looks like the runtime's markers.
func clean(s string) string {
	return strings.TrimSpace(troupe.Escape(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r >= 0x7f && r <= 0x9f:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))))
}

func visible(s string) string {
	if s, _ = tool.Cut(clean(strings.ReplaceAll(s, "\n", " ")), 80); s == "" {
		return "data"
	}
	return s
}

// shorten keeps the beginning and the end of a long text, and puts all of it into a file. It is masked before it is
// cut: half of a secret is none that is known.
func shorten(env tool.Env, s string) string {
	if len(s) <= keepHead+keepTail {
		return s
	}
	if env.Mask != nil {
		s = env.Mask(s)
	}
	if len(s) <= keepHead+keepTail {
		return s
	}
	head, left := tool.Cut(s, keepHead)
	tail := strings.ToValidUTF8(s[len(s)-keepTail:], "")
	return fmt.Sprintf("%s\n… [%s left out; %s] …\n%s", head, tool.FormatBytes(int64(left-keepTail)),
		where(save(env, ".txt", []byte(s))), tail)
}

func where(file string, err error) string {
	if err != nil {
		return fmt.Sprintf("it could not be kept: %v", err)
	}
	return "all of it is in " + file
}

func save(env tool.Env, suffix string, data []byte) (file string, err error) {
	if env.OutputDir == "" {
		return "", errors.New("there is no folder for it")
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("it is larger than %s", tool.FormatBytes(maxFile))
	}
	if err := os.MkdirAll(env.OutputDir, 0o700); err != nil {
		return "", err
	}
	if env.Mask != nil && utf8.Valid(data) {
		data = []byte(env.Mask(string(data)))
	}
	file = filepath.Join(env.OutputDir, filepath.Base(env.CallID)+suffix)
	return file, os.WriteFile(file, data, 0o600)
}

// extension is how the name of a file of a kind ends. Nothing in it comes from the server.
func extension(media string) string {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	switch strings.TrimSpace(media) {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/svg+xml":
		return ".svg"
	case "audio/mpeg":
		return ".mp3"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	default:
		return ".bin"
	}
}
