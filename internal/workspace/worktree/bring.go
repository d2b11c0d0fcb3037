package worktree

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// bring copies the objects of an agent's repository to the keeper. Each is named by what is in it, by our own
// reckoning; what it borrows from elsewhere is not looked at. One that is not what its name says stays behind, with
// the reason: whether anything lacks it is found out by whoever wants to keep something.
func (r repo) bring(ctx context.Context, agent *os.Root, p place, idBytes int) error {
	var trouble error
	folders, err := fs.ReadDir(agent.FS(), "objects")
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if len(folder.Name()) != 2 || !folder.IsDir() {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		files, err := fs.ReadDir(agent.FS(), "objects/"+folder.Name())
		if err != nil {
			trouble = errors.Join(trouble, err)
			continue
		}
		for _, f := range files {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			id := folder.Name() + f.Name()
			to := filepath.Join(p.repo, "objects", folder.Name(), f.Name())
			if _, err := os.Lstat(to); err == nil || !isID(id) || !f.Type().IsRegular() {
				continue
			}
			if err := bringLoose(agent, "objects/"+folder.Name()+"/"+f.Name(), id, to); err != nil {
				trouble = errors.Join(trouble, fmt.Errorf("object %s: %w", id, err))
			}
		}
	}
	return errors.Join(trouble, r.bringPacks(ctx, agent, p, idBytes))
}

// looseMost is more than any object is that a person waits for: a small file may stand for a huge one.
const looseMost = 1 << 30

// bringLoose copies one object that is a file of its own.
func bringLoose(agent *os.Root, from, id, to string) (err error) {
	f, err := agent.OpenFile(from, readFlags, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New("it is no regular file"))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(to), "tmp_obj_*")
	if err != nil {
		return err
	}
	err = errors.Join(sameObject(io.TeeReader(f, temp), id), temp.Chmod(0o400), temp.Close())
	return settleFile(temp.Name(), to, err)
}

func settleFile(temp, to string, err error) error {
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return disk.Settle(temp, to)
}

// sameObject reads an object as git stores it, to its end, and compares its name with what is in it.
func sameObject(in io.Reader, id string) error {
	sum := sha1.New()
	if len(id) == 64 {
		sum = sha256.New()
	}
	packed := bufio.NewReader(in)
	z, err := zlib.NewReader(packed)
	if err != nil {
		return err
	}
	plain := bufio.NewReaderSize(z, 64) // a small file may stand for a head without end
	head, err := plain.ReadSlice(0)
	if err != nil {
		return errors.New("it has no head")
	}
	_, size, _ := strings.Cut(strings.TrimSuffix(string(head), "\x00"), " ")
	most, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return errors.New("it has no size")
	}
	if most > looseMost || most > packedObject && !bytes.HasPrefix(head, []byte("blob ")) {
		return errors.New("it is too large")
	}
	_, _ = sum.Write(head) // a hash takes everything
	n, err := io.Copy(sum, io.LimitReader(plain, most+1))
	switch {
	case err != nil:
		return err
	case n != most || hex.EncodeToString(sum.Sum(nil)) != id:
		return errors.New("it is another one")
	}
	if _, err := io.Copy(io.Discard, packed); err != nil { // what is copied on the way is copied whole
		return err
	}
	return z.Close()
}

// bringPacks copies the packs, which git takes apart and names anew. Ids have so many bytes.
func (r repo) bringPacks(ctx context.Context, agent *os.Root, p place, id int) error {
	files, err := fs.ReadDir(agent.FS(), "objects/pack")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	list := filepath.Join(p.folder, "packs") // those that were brought
	known, err := disk.Read(list, packedMost)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var trouble error
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".pack") || !f.Type().IsRegular() || bytes.Contains(known, []byte(name+"\n")) {
			continue
		}
		if err := r.bringPack(ctx, agent, "objects/pack/"+name, id); err != nil {
			trouble = errors.Join(trouble, fmt.Errorf("%s: %w", name, err))
			continue
		}
		known = append(known, name+"\n"...)
	}
	return errors.Join(trouble, disk.Cache(list, known))
}

func (r repo) bringPack(ctx context.Context, agent *os.Root, name string, id int) error {
	f, err := agent.OpenFile(name, readFlags, 0)
	if err != nil {
		return err
	}
	return errors.Join(indexPack(ctx, r, f, id, "--fix-thin"), f.Close())
}
