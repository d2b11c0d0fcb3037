package files

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
	"github.com/troupe-dev/troupe/internal/tool/internal/ipynb"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

const (
	maxCellOutput     = 10 << 10 // bytes shown of one output
	maxNotebookImages = 10
	maxNotebookPics   = 2 * maxImage // bytes of all images shown
)

// notebook is as much of a Jupyter notebook as is shown.
type notebook struct {
	Cells []cell `json:"cells"`
}

type cell struct {
	Type    string   `json:"cell_type"`
	ID      string   `json:"id"`
	Source  lines    `json:"source"`
	Outputs []output `json:"outputs"`
}

type output struct {
	Type      string           `json:"output_type"`
	Text      lines            `json:"text"`
	Data      map[string]lines `json:"data"`
	Error     string           `json:"ename"`
	Value     string           `json:"evalue"`
	Traceback lines            `json:"traceback"`
}

// lines is text that notebooks write as a string or as a list of strings. Data of another
// shape (there is structured output in the wild) reads as empty.
type lines string

func (l *lines) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = lines(one)
		return nil
	}
	var many []string
	if json.Unmarshal(b, &many) == nil {
		*l = lines(strings.Join(many, ""))
	}
	return nil
}

func (c *readCall) notebook(ctx context.Context, env tool.Env, r io.Reader) (tool.Output, error) {
	data, err := io.ReadAll(io.LimitReader(r, safefile.MaxWhole))
	if err != nil {
		return change.Explain(env, c.target, err), nil
	}
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	var nb notebook
	if err := json.Unmarshal(data, &nb); err != nil || nb.Cells == nil {
		return tool.Errorf("%s is not a notebook that can be read (broken JSON, or no cells). Bash can show it as it "+
			"is.", env.Rel(c.target.Path)), nil
	}
	return c.done(tool.Hash(data), showNotebook(nb, c.in)...), nil
}

// showNotebook writes the wanted cells; images stand where they occur.
func showNotebook(nb notebook, in readInput) []troupe.Block {
	v := notebookView{}
	first := in.offset - 1
	if first >= len(nb.Cells) {
		return []troupe.Block{troupe.Text(fmt.Sprintf("(The notebook has %d cells; there is no cell %d.)",
			len(nb.Cells), in.offset))}
	}
	i := first
	for ; i < len(nb.Cells) && i-first < in.limit && (v.size < maxText || i == first); i++ {
		v.cell(i+1, nb.Cells[i])
	}
	if first > 0 || i < len(nb.Cells) {
		fmt.Fprintf(&v.text, "(Cells %d-%d of %d.", in.offset, i, len(nb.Cells))
		if i < len(nb.Cells) {
			fmt.Fprintf(&v.text, " Go on with offset %d.", i+1)
		}
		v.text.WriteString(")")
	}
	v.flush()
	return v.blocks
}

type notebookView struct {
	blocks []troupe.Block
	text   strings.Builder
	size   int // bytes of text so far
	images int
	pics   int // their bytes
}

func (v *notebookView) flush() {
	if v.text.Len() > 0 {
		v.blocks = append(v.blocks, troupe.Text(v.text.String()))
		v.text.Reset()
	}
}

func (v *notebookView) write(s string, limit int) {
	s, cut := tool.Cut(strings.TrimRight(cleanText([]byte(s)), "\n"), limit)
	v.text.WriteString(s)
	if cut > 0 {
		fmt.Fprintf(&v.text, "… [%s cut]", tool.FormatBytes(int64(cut)))
	}
	v.text.WriteByte('\n')
	v.size += len(s)
}

func (v *notebookView) cell(n int, c cell) {
	kind, _ := tool.Cut(c.Type, 20)
	fmt.Fprintf(&v.text, "[cell %d, %s", n, kind)
	if ipynb.ValidID(c.ID) {
		v.text.WriteString(", id " + c.ID)
	}
	v.text.WriteString("]\n")
	v.write(string(c.Source), maxText/2)
	for _, o := range c.Outputs {
		v.output(o)
	}
}

func (v *notebookView) output(o output) {
	if v.size > maxText {
		return // the cells after this one will not be shown either, and it is said where to go on
	}
	switch {
	case o.Error != "" || o.Traceback != "":
		fmt.Fprintf(&v.text, "[error]\n")
		v.write(o.Error+": "+o.Value, maxCellOutput)
	case o.Text != "":
		fmt.Fprintf(&v.text, "[output]\n")
		v.write(string(o.Text), maxCellOutput)
	case o.Data != nil:
		if v.picture(o.Data) {
			return
		}
		if s := o.Data["text/plain"]; s != "" {
			fmt.Fprintf(&v.text, "[output]\n")
			v.write(string(s), maxCellOutput)
		}
	}
}

// picture shows the image of an output, if it has one that can be shown.
func (v *notebookView) picture(data map[string]lines) bool {
	for _, media := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		s, ok := data[media]
		if !ok {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(s)), ""))
		if err != nil {
			return false
		}
		img, err := ImageBlock(raw)
		if err != nil {
			return false
		}
		if v.images == maxNotebookImages || v.pics+len(raw) > maxNotebookPics {
			v.text.WriteString("[output: an image, not shown: too many]\n")
			return true
		}
		v.text.WriteString("[output: image]\n")
		v.flush()
		v.blocks = append(v.blocks, img)
		v.images++
		v.pics += len(raw)
		return true
	}
	return false
}
