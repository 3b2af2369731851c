package keyshelf

import (
	"fmt"
	"sort"
	"testing"
	"time"
)

// measure reports the 99th percentile of calls in microseconds.
func measure(b *testing.B, name string, call func() error) {
	b.Run(name, func(b *testing.B) {
		times := make([]time.Duration, b.N)
		b.ResetTimer()
		for round := range times {
			began := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			times[round] = time.Since(began)
		}
		b.StopTimer()
		sort.Slice(times, func(one, other int) bool { return times[one] < times[other] })
		b.ReportMetric(float64(times[len(times)*99/100])/1000, "p99-us")
	})
}

// BenchmarkConsume measures what a consumption costs that a tranche pays, with a directory.
func BenchmarkConsume(b *testing.B) {
	origin := newLedgerOrigin(b)
	client := origin.client(WithDirectory(b.TempDir()))
	consume(b, client, "large", "10000000", "")
	eventually(b, "a tranche", func() bool { return unspent(client, "large") >= 10_000_000 })
	denied := 0
	measure(b, "consume", func() error {
		answer, err := client.Consume(background, "globex-prod", Check{"large", "1"}, "")
		if !answer.Allowed {
			denied++
		}
		return err
	})
	if denied > 0 {
		b.Error(denied, "are denied")
	}
}

// BenchmarkLocal measures what a check and a flag cost in process.
func BenchmarkLocal(b *testing.B) {
	origin := newOrigin(b)
	client := origin.client()
	measure := func(name string, call func() error) { measure(b, name, call) }
	for _, count := range []int{1, 10} {
		checks := make([]Check, count)
		for place := range checks {
			checks[place] = Check{Entitlement: "api-calls", Requested: Units(int64(place))}
		}
		measure(fmt.Sprintf("check-%d", count), func() error {
			_, err := client.CheckAll(background, "globex-prod", checks)
			return err
		})
	}
	french := map[string]any{"targetingKey": "anna", "country": "fr"}
	measure("flag", func() error {
		flags, err := client.Flags(background, french)
		if err == nil && !flags.Bool("new-search", false) {
			b.Error("it is off")
		}
		return err
	})
	measure("request", func() error {
		_, err := client.Check(background, "globex-prod", checkOfCalls, Remote())
		return err
	})
}

var checkOfCalls = Check{Entitlement: "api-calls"}
