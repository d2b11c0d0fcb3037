package worktree

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A few bytes of a pack can stand for as many as its author likes, by differences to differences, and git has each
// object whole in memory that is one. So what a pack of an agent's or from elsewhere says of sizes is looked at before
// git reads it.
const (
	// packedObject is the most that an object may have which is a difference, or which one is from, or which git has
	// whole in memory for another reason. The repositories that we make tell git to pack none above it as a difference.
	packedObject = 128 << 20
	// packedFree and packedRatio are the most that all of them may have: so much, and so much more for each byte.
	packedFree, packedRatio = 4 << 30, 300
)

var errPack = errors.New("its objects are not packed as git packs them")

// indexPack has git take apart a pack that is not ours, as far as checkPack has looked at it.
func indexPack(ctx context.Context, r repo, pack io.Reader, id int, options ...string) error {
	out, in := io.Pipe()
	checked := make(chan error, 1)
	go func() {
		both := io.TeeReader(pack, in)
		err := checkPack(both, id)
		if err == nil {
			_, err = io.Copy(io.Discard, both) // the sum at its end
		}
		checked <- err
		_ = in.CloseWithError(err) // it never fails
	}()
	r.runner.In = out
	err := r.run(ctx, append([]string{"index-pack", "--stdin"}, options...)...)
	select {
	case wrong := <-checked: // else git ended before all was looked at
		if wrong != nil {
			return wrong
		}
		checked <- nil
	default:
	}
	_ = out.Close() // it never fails
	<-checked
	return err
}

// checkPack looks at all that a pack holds, whose ids have so many bytes.
func checkPack(pack io.Reader, id int) error {
	in := &counting{r: bufio.NewReaderSize(pack, 1<<16)}
	head := make([]byte, 12)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:4]) != "PACK" {
		return errPack
	}
	all := int64(0)
	for range binary.BigEndian.Uint32(head[8:]) {
		n, err := in.object(id)
		if err != nil {
			return err
		}
		if all += n; all > packedFree+packedRatio*in.n {
			return fmt.Errorf("%d bytes of its objects stand for %d", in.n, all)
		}
	}
	return nil
}

// counting reads a pack byte by byte, so that what inflates an object takes no more than is its.
type counting struct {
	r *bufio.Reader
	n int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *counting) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// object reads one, and is how large it will be.
func (c *counting) object(id int) (int64, error) {
	b, err := c.ReadByte()
	if err != nil {
		return 0, errPack
	}
	kind, size := b>>4&7, int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = c.ReadByte(); err != nil || shift > 50 {
			return 0, errPack
		}
		size |= int64(b&0x7f) << shift
	}
	const blob, byOffset, byID = 3, 6, 7
	if kind < blob && size > packedObject {
		return 0, fmt.Errorf("one of its commits or folders has %d bytes", size)
	}
	switch kind {
	case byOffset:
		for more := true; more; more = b&0x80 != 0 {
			if b, err = c.ReadByte(); err != nil {
				return 0, errPack
			}
		}
	case byID:
		if _, err := io.CopyN(io.Discard, c, int64(id)); err != nil {
			return 0, errPack
		}
	}
	z, err := zlib.NewReader(c)
	if err != nil {
		return 0, errPack
	}
	begin, err := io.ReadAll(io.LimitReader(z, 32))
	if err != nil {
		return 0, errPack
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(z, size+1))
	if err != nil || int64(len(begin))+rest != size {
		return 0, errPack
	}
	if kind < byOffset {
		return size, nil
	}
	// A difference begins with the size of what it is from, and of what it makes of that.
	sizes := bytes.NewReader(begin)
	from, e1 := binary.ReadUvarint(sizes)
	to, e2 := binary.ReadUvarint(sizes)
	if e1 != nil || e2 != nil {
		return 0, errPack
	}
	if max(from, to) > packedObject {
		return 0, fmt.Errorf("one of its objects has %d bytes, and is packed as a difference", max(from, to))
	}
	return int64(to), nil //nolint:gosec // it was just compared
}
