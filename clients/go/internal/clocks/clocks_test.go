package clocks

import (
	"testing"
	"time"
)

func TestTimeFollowsTheClockThatShowsMore(t *testing.T) {
	since := Reading{time.Unix(1_000_000, 0), time.Hour}
	day := 24 * time.Hour
	for _, one := range []struct {
		name                      string
		wall, monotonic, expected time.Duration
	}{
		{"both go on", time.Minute, time.Minute, time.Minute},
		{"slept", day, time.Second, day},
		{"set forward", day, time.Minute, day},
		{"set back", -day, time.Minute, time.Minute},
		{"set back while it slept", -day, 0, 0},
	} {
		now := Reading{since.Wall.Add(one.wall), since.Monotonic + one.monotonic}
		if elapsed := Elapsed(since, now); elapsed != one.expected {
			t.Errorf("%s: %v", one.name, elapsed)
		}
	}
}

func TestTheClocksAreReadApart(t *testing.T) {
	first := Read()
	second := Read()
	// A wall time that still had its monotonic part would be compared by that.
	if first.Wall != first.Wall.Round(0) || second.Monotonic < first.Monotonic {
		t.Error(first, second)
	}
}
