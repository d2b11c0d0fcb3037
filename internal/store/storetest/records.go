package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// records is a store that keeps records.
func records(t *testing.T, s store.Store) store.Records {
	t.Helper()
	r, ok := s.(store.Records)
	if !ok {
		t.Fatalf("%T keeps no records", s)
	}
	return r
}

// testRecords: values are kept by kind and key, listed in the order of their keys, and changed only by those who know
// what they change.
func testRecords(e *env) {
	r, ctx := records(e.T, e.Store), e.Context()
	put := func(kind, key string, version int64, value string) int64 {
		e.Helper()
		v, err := r.PutRecord(ctx, store.Record{Kind: kind, Key: key, Version: version, Value: []byte(value)})
		if err != nil {
			e.Fatalf("put %s %s: %v", kind, key, err)
		}
		return v
	}
	refused := func(want error, err error) {
		e.Helper()
		if !errors.Is(err, want) {
			e.Errorf("the error is %v, want %v", err, want)
		}
	}
	if _, err := r.Record(ctx, "k", "a"); !errors.Is(err, troupe.ErrNotFound) {
		e.Errorf("a record that is not there: %v", err)
	}
	first := put("k", "a", 0, "one")
	_, err := r.PutRecord(ctx, store.Record{Kind: "k", Key: "a", Value: []byte("again")})
	refused(troupe.ErrChanged, err)
	_, err = r.PutRecord(ctx, store.Record{Kind: "k", Key: "none", Version: first, Value: []byte("x")})
	refused(troupe.ErrChanged, err)
	second := put("k", "a", first, "two")
	_, err = r.PutRecord(ctx, store.Record{Kind: "k", Key: "a", Version: first, Value: []byte("late")})
	refused(troupe.ErrChanged, err)
	refused(troupe.ErrChanged, r.DeleteRecord(ctx, "k", "a", first))
	refused(troupe.ErrNotFound, r.DeleteRecord(ctx, "k", "none", first))
	if got, err := r.Record(ctx, "k", "a"); err != nil || got.Version != second || string(got.Value) != "two" ||
		got.Kind != "k" || got.Key != "a" {
		e.Errorf("the record is %+v, %v", got, err)
	}
	if err := r.DeleteRecord(ctx, "k", "a", second); err != nil {
		e.Error(err)
	}
	if third := put("k", "a", 0, ""); third <= second || second <= first {
		e.Errorf("the versions %d, %d, %d do not rise", first, second, third)
	}
	// What is kept is nobody else's bytes.
	value := []byte("mine")
	if _, err := r.PutRecord(ctx, store.Record{Kind: "own", Key: "a", Value: value}); err != nil {
		e.Fatal(err)
	}
	for range 2 {
		value[0] = 'x'
		got, err := r.Record(ctx, "own", "a")
		all, lerr := r.Records(ctx, "own", "", 0)
		if err != nil || lerr != nil || len(all) != 1 || string(got.Value) != "mine" || string(all[0].Value) != "mine" {
			e.Fatalf("the record is %+v, listed as %+v, %v, %v", got, all, err, lerr)
		}
		got.Value[0], all[0].Value[0] = 'y', 'z'
	}
	for _, key := range []string{"é", "b", "B", "a/b", "a b", "日本"} {
		put("list", key, 0, key)
	}
	keys := func(after string, limit int) (out []string) {
		e.Helper()
		all, err := r.Records(ctx, "list", after, limit)
		if err != nil {
			e.Fatal(err)
		}
		for _, x := range all {
			if out = append(out, x.Key); string(x.Value) != x.Key || x.Kind != "list" || x.Version == 0 {
				e.Errorf("listed is %+v", x)
			}
		}
		return out
	}
	want := []string{"B", "a b", "a/b", "b", "é", "日本"}
	if got := keys("", 0); !slices.Equal(got, want) {
		e.Errorf("the keys are %q, want %q", got, want)
	}
	if got := keys("a b", 2); !slices.Equal(got, want[2:4]) {
		e.Errorf("two behind the second are %q", got)
	}
	if got := keys("日本", 0); len(got) > 0 {
		e.Errorf("behind the last there are %q", got)
	}
}

// testRecordsRefuse: what is no record is refused and changes nothing; a call that nobody waits for does nothing.
func testRecordsRefuse(e *env) {
	r, ctx := records(e.T, e.Store), e.Context()
	large := bytes.Repeat([]byte{0, 255}, 1<<19)
	v, err := r.PutRecord(ctx, store.Record{Kind: "k", Key: "large", Value: large})
	if got, rerr := r.Record(ctx, "k", "large"); err != nil || rerr != nil || got.Version != v ||
		!bytes.Equal(got.Value, large) {
		e.Errorf("a large value: %v, %v", err, rerr)
	}
	plain := func(what string, x store.Record, err error) {
		e.Helper()
		if err == nil || errors.Is(err, troupe.ErrChanged) || errors.Is(err, troupe.ErrNotFound) {
			e.Errorf("%s %.20q %.20q of %d bytes: %v", what, x.Kind, x.Key, len(x.Value), err)
		}
	}
	for _, bad := range []store.Record{{}, {Key: "k"}, {Kind: "k"}, {Kind: "k", Key: "a\x00"},
		{Kind: "k", Key: "\xff"}, {Kind: strings.Repeat("k", 65), Key: "k"},
		{Kind: "k", Key: strings.Repeat("k", 513)}} {
		_, err := r.PutRecord(ctx, bad)
		plain("put", bad, err)
		// Who asks may have been sent the key by a stranger.
		_, err = r.Record(ctx, bad.Kind, bad.Key)
		for _, err := range []error{err, r.DeleteRecord(ctx, bad.Kind, bad.Key, v)} {
			if !errors.Is(err, troupe.ErrNotFound) {
				e.Errorf("read or delete %.20q %.20q: %v", bad.Kind, bad.Key, err)
			}
		}
		if bad.Kind != "k" || bad.Key != "" { // behind "" is all of a kind
			_, err = r.Records(ctx, bad.Kind, bad.Key, 0)
			plain("list", bad, err)
		}
	}
	over := store.Record{Kind: "k", Key: "large", Version: v, Value: append(large, 0)}
	_, err = r.PutRecord(ctx, over)
	plain("put", over, err)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	over.Value = nil
	_, err = r.PutRecord(gone, over)
	_, rerr := r.Record(gone, "k", "large")
	_, lerr := r.Records(gone, "k", "", 0)
	for _, err := range []error{err, rerr, lerr, r.DeleteRecord(gone, "k", "large", v)} {
		if !errors.Is(err, context.Canceled) {
			e.Errorf("a call that nobody waits for: %v", err)
		}
	}
	if got, err := r.Record(ctx, "k", "large"); err != nil || got.Version != v || !bytes.Equal(got.Value, large) {
		e.Errorf("what was refused has changed it: version %d of %d, %v", got.Version, v, err)
	}
}

// testRecordsRace: who changes what another process has changed meanwhile has to look again, so that nothing is lost.
func testRecordsRace(e *env) {
	both := []store.Records{records(e.T, e.Store), records(e.T, e.open())}
	const workers, each = 100, 1
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			r := both[i%2]
			for n := 0; n < each; {
				x, err := r.Record(e.Context(), "k", "sum")
				if errors.Is(err, troupe.ErrNotFound) {
					x, err = store.Record{Kind: "k", Key: "sum"}, nil
				}
				sum, _ := strconv.Atoi(string(x.Value))
				x.Value = []byte(strconv.Itoa(sum + 1))
				if err == nil {
					_, err = r.PutRecord(e.Context(), x)
				}
				switch {
				case err == nil:
					n++
				case !errors.Is(err, troupe.ErrChanged):
					e.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if x, err := both[1].Record(e.Context(), "k", "sum"); err != nil || string(x.Value) != strconv.Itoa(workers*each) {
		e.Errorf("the sum is %q, %v", x.Value, err)
	}
}
