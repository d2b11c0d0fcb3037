package yamlfile

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// AppendJSON appends the value that stands here as JSON, members in the file's order.
func (n Node) AppendJSON(dst []byte) ([]byte, error) { return n.appendJSON(dst, 0) }

func (n Node) appendJSON(dst []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, n.Errorf("values are nested more than %d deep", maxDepth)
	}
	var err error
	switch n.n.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		first := true
		err = n.Members("the value", func(key string, v Node) error {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(jscan.AppendQuoted(dst, key), ':')
			var err error
			dst, err = v.appendJSON(dst, depth+1)
			return err
		})
		return append(dst, '}'), err
	case yaml.SequenceNode:
		dst = append(dst, '[')
		err = n.Elements("the value", func(i int, v Node) error {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			dst, err = v.appendJSON(dst, depth+1)
			return err
		})
		return append(dst, ']'), err
	case yaml.ScalarNode:
		return n.appendScalar(dst)
	case yaml.DocumentNode, yaml.AliasNode, yaml.StreamNode:
	}
	return dst, n.Errorf("this is not a value")
}

func (n Node) appendScalar(dst []byte) ([]byte, error) {
	switch n.n.ShortTag() {
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		var b bool
		if err := n.n.Decode(&b); err != nil {
			return dst, n.Errorf("%q is neither true nor false", n.n.Value)
		}
		return strconv.AppendBool(dst, b), nil
	case "!!int":
		if v, err := strconv.ParseInt(strings.ReplaceAll(n.n.Value, "_", ""), 0, 64); err == nil {
			return strconv.AppendInt(dst, v, 10), nil
		}
		return dst, n.Errorf("%s is no whole number that fits 64 bits; quote it to pass it as text", n.n.Value)
	case "!!float":
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.n.Value, "_", ""), 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return dst, n.Errorf("JSON has no number %s; quote it to pass it as text", n.n.Value)
		}
		return strconv.AppendFloat(dst, v, 'g', -1, 64), nil
	default:
		return jscan.AppendQuoted(dst, n.n.Value), nil
	}
}
