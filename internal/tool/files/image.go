package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
)

// What model services take. An image that they refuse would stay in the conversation and
// spoil every later call, so it must not get in.
const (
	maxImage     = 3_700_000 // bytes: 5 MB once written as base64
	maxImageSide = 8000      // pixels
)

// imageType is the media type of an image, by its first bytes.
func imageType(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	default:
		return ""
	}
}

func (c *readCall) image(env tool.Env, r io.Reader) (tool.Output, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err != nil {
		return change.Explain(env, c.target, err), nil
	}
	if len(data) > maxImage {
		return tool.Errorf("%s is an image of more than %s. Make it smaller first.", env.Rel(c.target.Path),
			tool.FormatBytes(maxImage)), nil
	}
	img, err := ImageBlock(data)
	if err != nil {
		return tool.Errorf("%s: %v.", env.Rel(c.target.Path), err), nil
	}
	return c.done(tool.Hash(data), img), nil
}

// ImageBlock checks that an image is one a model can be sent.
func ImageBlock(data []byte) (troupe.Block, error) {
	media := imageType(data)
	var size image.Config
	err := errors.New("no known kind of image")
	switch media {
	case "image/png":
		size, err = png.DecodeConfig(bytes.NewReader(data))
	case "image/jpeg":
		size, err = jpeg.DecodeConfig(bytes.NewReader(data))
	case "image/gif":
		size, err = gif.DecodeConfig(bytes.NewReader(data))
	case "image/webp":
		size, err = webpConfig(data)
	}
	switch {
	case err != nil:
		return troupe.Block{}, errors.New("the image is damaged")
	case size.Width > maxImageSide || size.Height > maxImageSide || size.Width < 1 || size.Height < 1:
		return troupe.Block{}, errors.New("the image has more than 8000 pixels on a side; make it smaller first")
	case len(data) > maxImage:
		return troupe.Block{}, errors.New("the image is too large")
	}
	return troupe.Block{Type: troupe.ImageBlock, Image: &troupe.Image{MediaType: media, Data: data}}, nil
}

// webpConfig reads the size from the three kinds of WebP header.
func webpConfig(data []byte) (image.Config, error) {
	if len(data) < 30 {
		return image.Config{}, io.ErrUnexpectedEOF
	}
	switch string(data[12:16]) {
	case "VP8X":
		w := uint32(data[24]) | uint32(data[25])<<8 | uint32(data[26])<<16
		h := uint32(data[27]) | uint32(data[28])<<8 | uint32(data[29])<<16
		return image.Config{Width: int(w) + 1, Height: int(h) + 1}, nil
	case "VP8L":
		bits := binary.LittleEndian.Uint32(data[21:])
		return image.Config{Width: int(bits&0x3fff) + 1, Height: int(bits>>14&0x3fff) + 1}, nil
	case "VP8 ":
		w, h := binary.LittleEndian.Uint16(data[26:]), binary.LittleEndian.Uint16(data[28:])
		return image.Config{Width: int(w & 0x3fff), Height: int(h & 0x3fff)}, nil
	default:
		return image.Config{}, errors.New("unknown kind of WebP")
	}
}
