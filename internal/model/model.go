// Package model is the contract between sessions and model providers, and what belongs to
// models but to no provider: names, aliases and prices. Providers live in subpackages; none
// of their types is seen above them.
//
// A request is made of bytes that were encoded once. Head holds everything before the
// conversation, Messages the conversation; both are cached by the caller and never change
// within a generation, so that the prefix a provider has cached stays the same to the byte.
package model

import (
	"context"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// Provider speaks to one model service. All methods are safe for concurrent use.
type Provider interface {
	// Name is the part of a model's full name before the slash.
	Name() string
	// Encoder is a version of the encoding, such as "anthropic/1". It changes when the
	// same values would encode to other bytes.
	Encoder() string
	// EncodeHead and EncodeMessage are pure. A message never depends on the others.
	EncodeHead(Head) ([]byte, error)
	EncodeMessage(troupe.Message) ([]byte, error)
	// Stream makes one call and returns the whole reply. sink, if not nil, is called with
	// pieces as they arrive, from the calling goroutine; it must not block. An error is
	// always a *Error; what had arrived by then is in its Partial and Usage.
	Stream(ctx context.Context, r Request, sink func(Delta)) (troupe.Reply, error)
}

// Head is what stands before the conversation.
type Head struct {
	Model     string // the provider's own id, without the provider's name
	System    string
	Tools     []troupe.Tool // sorted by name
	MaxTokens int           // of output per reply
	// Effort is a level that the model takes; "": none is named.
	Effort troupe.Effort
}

// Request is one model call.
type Request struct {
	// Agent says who asks. It is for matching, logs and limits, and is never sent; a hash of its session may be, to
	// find the provider's cache again.
	Agent    Agent
	Model    string // as in Head
	Head     []byte
	Messages [][]byte
	// Generation counts the times the conversation was begun anew; within one, Head and
	// Messages only ever grow.
	Generation int
	// Fresh is how many of the last Messages this call sends for the first time, and
	// FreshBlocks how many content blocks they hold: what cache marks depend on.
	Fresh       int
	FreshBlocks int
	// Common is how many bytes of the first message are those of a block that other sessions begin with as well; 0:
	// none
	// is known to be. Such a block is worth a cache mark in the first request.
	Common int
}

// FirstBlock is how many bytes an encoded message has up to the end of its first content block; 0 if it has no other.
func FirstBlock(message []byte) int {
	content, ok := jscan.Get(message, "content")
	if !ok || len(content) == 0 || content[0] != '[' {
		return 0
	}
	first, n := 0, 0
	jscan.Array(content, func(b []byte) bool {
		if n++; n == 1 {
			first = cap(message) - cap(b) + len(b)
		}
		return n < 2
	})
	if n < 2 {
		return 0
	}
	return first
}

// Agent identifies the session behind a request.
type Agent struct {
	Session troupe.SessionID
	// Origin is the session with whose conversation this one begins: a fork's parent, else itself.
	Origin  troupe.SessionID
	Type    string
	Name    string
	Path    string // "main/Auth Explorer"
	Reply   int    // the reply asked for, 1 for the first
	Attempt int    // how often it has been asked for in this run, over restarts too; 1 for the first
}

// Delta is a piece of a reply on its way. It is for display; the Reply holds everything.
type Delta struct {
	Text     string // more of the reply's text
	Thinking string // more of its thinking
	Tool     string // a call of this tool begins
}

// Error is how a model call failed.
type Error struct {
	Fault   troupe.ModelFault
	Message string // for people; holds no secrets
	// Throttled: the provider turned the call away because there are too many, of this key or
	// of everybody's.
	Throttled bool
	// RetryAfter is how long the provider asked to be left alone; 0 if it did not say.
	RetryAfter time.Duration
	Partial    []troupe.Block
	Usage      troupe.Usage
	Err        error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }
