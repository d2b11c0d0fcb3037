package gate

// Rule is a parsed permission rule.
type Rule struct{}
