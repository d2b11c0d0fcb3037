package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result is what came of a call.
type Result struct {
	Pieces  []Piece
	IsError bool
}

// Piece is a part of it: Text, or Data of a kind.
type Piece struct {
	Text  string
	Media string // the media type of Data
	Data  []byte
}

func resultOf(r *mcp.CallToolResult) Result {
	out := Result{IsError: r.IsError}
	said := false
	for _, c := range r.Content {
		p := pieceOf(c)
		said = said || strings.TrimSpace(p.Text) != ""
		out.Pieces = append(out.Pieces, p)
	}
	// A server says the same in words, if it follows the specification.
	if r.StructuredContent != nil && !said {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			out.Pieces = append(out.Pieces, Piece{Text: string(data)})
		}
	}
	return out
}

func pieceOf(c mcp.Content) Piece {
	switch c := c.(type) {
	case *mcp.TextContent:
		return Piece{Text: c.Text}
	case *mcp.ImageContent:
		return Piece{Media: c.MIMEType, Data: c.Data}
	case *mcp.AudioContent:
		return Piece{Media: c.MIMEType, Data: c.Data}
	case *mcp.ResourceLink:
		return Piece{Text: fmt.Sprintf("(resource %s: %s)", c.URI, c.Name)}
	case *mcp.EmbeddedResource:
		return contents(c.Resource)
	default:
		return Piece{Text: fmt.Sprintf("(content of a kind that Troupe does not know: %T)", c)}
	}
}

func contents(r *mcp.ResourceContents) Piece {
	switch {
	case r == nil:
		return Piece{}
	case len(r.Blob) > 0:
		return Piece{Media: r.MIMEType, Data: r.Blob}
	default:
		return Piece{Text: r.Text}
	}
}

// Resource is something that a server lets be read.
type Resource struct {
	URI, Name, Description string
}

const maxResources = 500

// Resources lists what a server lets be read.
func (s *Servers) Resources(ctx context.Context, t Target) (out []Resource, err error) {
	ctx, cancel := context.WithTimeout(ctx, bound(t.Entry.Timeout, usualStart))
	defer cancel()
	c, err := s.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	for r, err := range c.session.Resources(ctx, nil) {
		if err != nil {
			return nil, c.failure(ctx, err, "the list of its resources")
		}
		if len(out) == maxResources {
			break
		}
		out = append(out, Resource{URI: r.URI, Name: r.Name, Description: text(r.Description)})
	}
	return out, nil
}

// Read reads one.
func (s *Servers) Read(ctx context.Context, t Target, uri string) (out Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, bound(t.Entry.Timeout, usualCall))
	defer cancel()
	c, err := s.connect(ctx, t)
	if err != nil {
		return out, err
	}
	r, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return out, c.failure(ctx, err, "reading the resource")
	}
	for _, part := range r.Contents {
		out.Pieces = append(out.Pieces, contents(part))
	}
	return out, nil
}
