package troupe

// Role is who speaks a message to a model.
type Role string

// The two roles every provider knows.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one provider-neutral message.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// BlockType names what a Block holds.
type BlockType string

// Kinds of block.
const (
	TextBlock     BlockType = "text"     // Text
	ImageBlock    BlockType = "image"    // Image
	CallBlock     BlockType = "call"     // Call
	ResultBlock   BlockType = "result"   // Result, answering Call.Index of the reply before
	ThinkingBlock BlockType = "thinking" // Text for people; Raw goes back verbatim
	OpaqueBlock   BlockType = "opaque"   // Raw only: a kind this version does not know
)

// Block is one piece of a message. Which fields are set follows from Type.
type Block struct {
	Type   BlockType `json:"type"`
	Text   string    `json:"text,omitempty"`
	Image  *Image    `json:"image,omitempty"`
	Call   *Call     `json:"call,omitempty"`
	Result *Result   `json:"result,omitempty"`
	// Raw is the provider's own JSON for blocks that must go back byte for byte (signed
	// thinking); empty if the block is for people only. It is a text, because JSON within
	// JSON would be written anew. Only the provider named by Provider is sent it. Of text and calls it is what the
	// provider wants back beside them, such as an id.
	Raw      string `json:"raw,omitempty"`
	Provider string `json:"provider,omitempty"`
}

// Text is a text block.
func Text(s string) Block { return Block{Type: TextBlock, Text: s} }

// Image is a picture; Data is its undecoded bytes.
type Image struct {
	MediaType string `json:"media_type"` // image/png, image/jpeg, image/gif or image/webp
	Data      []byte `json:"data"`
}

// Call is one tool call of a reply. (Reply, Index) is its identity.
type Call struct {
	Reply int    `json:"reply"`
	Index int    `json:"index"`
	Name  string `json:"name"`
	// Input is the arguments exactly as the model wrote them; it may be broken JSON.
	Input string `json:"input"`
	// ProviderID is what the provider called it, kept for debugging only.
	ProviderID string `json:"provider_id,omitempty"`
}

// Result is what became of a call. Every call has exactly one.
type Result struct {
	Reply int `json:"reply"`
	Call  int `json:"call"`
	// ProviderID is the call's, for providers that want a reply back exactly as it came.
	ProviderID string  `json:"provider_id,omitempty"`
	Blocks     []Block `json:"blocks"` // text and images only
	IsError    bool    `json:"is_error,omitempty"`
}

// JoinText concatenates the text blocks, a newline between two.
func JoinText(blocks []Block) string {
	var out string
	for _, b := range blocks {
		if b.Type != TextBlock || b.Text == "" {
			continue
		}
		if out != "" {
			out += "\n"
		}
		out += b.Text
	}
	return out
}

// StopReason is why a model ended its reply.
type StopReason string

// Stop reasons, as far as Troupe tells them apart.
const (
	StopEndTurn   StopReason = "end_turn"
	StopToolUse   StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
	StopOther     StopReason = "other"
)

// Reply is a whole model reply as a provider's adapter returns it.
type Reply struct {
	Blocks    []Block
	Stop      StopReason
	Usage     Usage
	Model     string // the full id the provider says it used
	RequestID string // the provider's id of the request, for its support
	Doubt     string // why Usage is an estimate although the provider counted; "" if it is not
}
