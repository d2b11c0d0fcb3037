package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestMoments: when a schedule begins, in its zone.
func TestMoments(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		when  wire.When
		after string
		want  []string
	}{
		"days of work": {wire.When{Cron: "0 7 * * 1-5", Zone: "Europe/Berlin"}, "2026-11-27T12:00:00Z",
			[]string{"2026-11-30T06:00:00Z", "2026-12-01T06:00:00Z"}},
		"without a zone":    {wire.When{Cron: "@daily"}, "2026-11-27T00:00:00Z", []string{"2026-11-28T00:00:00Z"}},
		"within the second": {wire.When{Cron: "@hourly"}, "2026-11-27T00:59:59.9Z", []string{"2026-11-27T01:00:00Z"}},
		"either day": {wire.When{Cron: "0 0 1 * MON"}, "2026-11-27T00:00:00Z",
			[]string{"2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z"}},
		"leap year": {wire.When{Cron: "0 0 29 2 *"}, "2026-11-27T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		"interval": {wire.When{EveryMS: 90 * 60_000}, "2026-11-27T00:00:00Z",
			[]string{"2026-11-27T01:30:00Z", "2026-11-27T03:00:00Z"}},
		"once": {wire.When{At: "2026-12-01 09:00", Zone: "Europe/Berlin"}, "2026-11-27T00:00:00Z",
			[]string{"2026-12-01T08:00:00Z", ""}},
		"once as in RFC 3339": {wire.When{At: "2026-12-01T09:00:00+03:00", Zone: "Europe/Berlin"},
			"2026-11-27T00:00:00Z",
			[]string{"2026-12-01T06:00:00Z", ""}},
		"once with seconds": {wire.When{At: "2026-12-01 09:00:07"}, "2026-11-27T00:00:00Z",
			[]string{"2026-12-01T09:00:07Z", ""}},
		// Clocks go from 2:00 to 3:00.
		"a time that is skipped": {wire.When{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		"several that are skipped": {wire.When{Cron: "0,30 2 * * *", Zone: "Europe/Berlin"}, "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		"one that is skipped, once": {wire.When{At: "2026-03-29 02:30", Zone: "Europe/Berlin"}, "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z", ""}},
		// And from 3:00 back to 2:00.
		"a time that is there twice": {wire.When{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		"between the two": {wire.When{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, "2026-10-25T01:00:00Z",
			[]string{"2026-10-26T01:30:00Z"}},
		"every hour that passes": {wire.When{Cron: "0 * * * *", Zone: "Europe/Berlin"}, "2026-10-24T23:30:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		"midnight that is skipped": {wire.When{Cron: "0 0 * * *", Zone: "Africa/Cairo"}, "2026-04-23T12:00:00Z",
			[]string{"2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"}},
		"a day that is skipped": {wire.When{Cron: "0 12 30 12 *", Zone: "Pacific/Apia"}, "2011-12-28T00:00:00Z",
			[]string{"2011-12-30T10:00:00Z"}},
	} {
		after, err := time.Parse(time.RFC3339, x.after)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := momentsOf(x.when, after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range x.want {
			got := m.after(after)
			if got.IsZero() != (want == "") || want != "" && got.UTC().Format(time.RFC3339) != want {
				t.Errorf("%s: after %v comes %v, want %s", name, after, got.UTC(), want)
			}
			after = got
		}
	}
}

// TestNoMoments: what cannot be read, or never comes, is refused with what is wrong.
func TestNoMoments(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]wire.When{
		"is no line of cron": {{Cron: "* * * *"}, {Cron: "61 * * * *"}, {Cron: "0 0 30 2 *"}, {Cron: "TZ=UTC"},
			{Cron: "TZ=UTC 0 0 * * *"}, {Cron: "CRON_TZ=x"}, {Cron: "@every 1s"}, {Cron: "@every 1h"}, {Cron: "@often"},
			{Cron: ", * * * *"}, {Cron: "0 , * * *"}, {Cron: "0 0 * * ,"},
			{Cron: "0 0 * * 7"}, {Cron: "*/0 * * * *"}, {Cron: " "}},
		"is no time": {{At: "tomorrow"}, {At: "2026-13-01 09:00"}, {At: "2026-12-01"}},
		"is no interval": {{EveryMS: 59_999}, {EveryMS: -1}, {EveryMS: 1 << 62},
			{EveryMS: 1<<64/1_000_000 + 120_000}},
		"one of cron, every": {{}, {Zone: "UTC"}, {Cron: "@daily", EveryMS: 60_000}, {At: "x", Cron: "@daily"}},
		"there is no time zone": {{Cron: "@daily", Zone: "Mars/North"}, {Cron: "@daily", Zone: "Local"},
			{Zone: "../etc/passwd"}},
	} {
		for _, w := range all {
			if _, _, err := momentsOf(w, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", w, err, want)
			}
		}
	}
}

// TestWallClocks: lines that name hours, in zones whose clocks are put forward and back by an hour or half of one,
// against a look at each minute of some days.
func TestWallClocks(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo",
		"Asia/Kolkata", "Pacific/Apia", "UTC"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SampledFrom([]string{"0", "30", "*/20", "15-45/10", "59", "*"}).Draw(t, "minute") + " " +
			rapid.SampledFrom([]string{"0", "1", "2", "3", "0-3", "*/2", "23", "2,23"}).Draw(t, "hour") + " * * " +
			rapid.SampledFrom([]string{"*", "0", "1-5", "SAT,SUN"}).Draw(t, "day")
		m, err := parseCron(text, zone)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := cron.ParseStandard("TZ=UTC " + text)
		if err != nil {
			t.Fatal(err)
		}
		// From a change of its clocks on, if it has one in the year.
		from := time.Date(rapid.SampledFrom([]int{2011, 2017, 2026}).Draw(t, "year"), time.January, 1, 0, 0, 0, 0, zone)
		for range rapid.IntRange(0, 2).Draw(t, "change") {
			if _, end := from.ZoneBounds(); !end.IsZero() {
				from = end
			}
		}
		from = from.Add(-20 * time.Hour).Truncate(time.Minute)
		until := from.Add(50 * time.Hour)
		var want, got []time.Time
		for at, seen := from, onWall(from); !at.After(until); at = at.Add(time.Minute) {
			// What clocks show now and have not shown before.
			var now []time.Time
			for wall := onWall(at.In(zone)); seen.Before(wall); {
				seen = seen.Add(time.Minute)
				now = append(now, seen)
			}
			if slices.ContainsFunc(now,
				func(w time.Time) bool { return spec.Next(w.Add(-time.Second)).Equal(w) }) {
				want = append(want, at)
			}
		}
		for at := m.after(from); !at.After(until); at = m.after(at) {
			got = append(got, at)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%q in %v from %v:\n%v\nwant\n%v", text, zone, from, got, want)
		}
	})
}

// FuzzWhen: whatever is given is read or refused, and moments follow each other.
func FuzzWhen(f *testing.F) {
	for _, s := range []string{"0 7 * * 1-5", "@daily", "TZ=UTC", "CRON_TZ=UTC 0 0 * * *",
		"*/7 0-23/2 ? JAN-MAR,DEC SUN",
		"0 0 29 2 *", ", , , , ,", "1-2-3 * * * *", "*/9999999999999999999 * * * *"} {
		f.Add(s, "", "Europe/Berlin", int64(0), int64(1_790_000_000))
	}
	f.Add("", "2026-12-01 09:00", "Africa/Cairo", int64(0), int64(1_790_000_000))
	f.Add("", "", "", int64(90*60_000), int64(-1))
	f.Fuzz(func(t *testing.T, cron, at, zone string, every, unix int64) {
		since := time.Unix(unix%(1<<35), 0)
		m, _, err := momentsOf(wire.When{Cron: cron, At: at, EveryMS: every, Zone: zone}, since)
		if err != nil {
			return
		}
		for now := since; ; {
			next := m.after(now)
			if next.IsZero() || next.Sub(since) > 10*24*time.Hour {
				return
			}
			if !next.After(now) {
				t.Fatalf("after %v comes %v", now, next)
			}
			if now = next; now.Sub(since) > 24*time.Hour {
				return
			}
		}
	})
}
