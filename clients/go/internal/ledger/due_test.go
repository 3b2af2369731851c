package ledger

import (
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/vectors"
	"keyshelf.example/keyshelf/offline"
)

// dueCase is a ledger with a tranche of exports: what is unspent of it, what was used 2 seconds ago, and what is reserved.
type dueCase struct {
	name, at, unspent, used, reserved string
	unsettledFor                      time.Duration
	isShort                           bool
	until                             time.Duration
	// expected is after now; the last request was sent 400 ms ago.
	expected time.Duration
}

func (one dueCase) due(t *testing.T, file *vectorFile) time.Duration {
	t.Helper()
	at := instantOf(t, one.at)
	day := at.UTC().Truncate(24 * time.Hour).Format("2006-01-02T15:04:05.000Z")
	read, err := newJournal(file.Source)
	if err != nil {
		t.Fatal(err)
	}
	held := newHoldings(func() time.Duration { return testNow })
	held.setTranche(&offline.Tranche{
		Source: read.source, Position: read.base, Until: at.Add(one.until).Unix(),
		Of: map[string]any{"exports": map[string]any{day: one.unspent}},
	})
	held.open(read)
	if one.used != "" {
		held.uses.add("exports", amountOf(one.used), testNow-2*time.Second)
	}
	if one.reserved != "" {
		held.hold("exports", day, amountOf(one.reserved))
	}
	claims := held.claims(View{Claims: claimsOf(t, file.Claims, nil), At: at})
	of := basis{claims, &held.local, read, held.granted, held.reserved, held.uses, nil, at, testNow}
	since := never
	if one.unsettledFor > 0 {
		since = testNow - one.unsettledFor
	}
	return of.due(testNow-400*time.Millisecond, since, func(string) bool { return one.isShort }) - testNow
}

func TestWhenARefillIsDue(t *testing.T) {
	var file vectorFile
	vectors.Read(t, "ledger", &file)
	const noon, last, soon = "2026-01-10T12:00:00.000Z", "2026-01-10T23:59:40.000Z", 600 * time.Millisecond
	for _, one := range []dueCase{
		{name: "nothing is used", at: noon, unspent: "0", until: time.Hour, expected: never - testNow},
		{name: "what is left is given back 10 s after the last use", at: noon, unspent: "20", used: "10", until: time.Hour, expected: 8 * time.Second},
		{name: "what is spent is settled within 5 s", at: noon, unspent: "20", used: "10", unsettledFor: time.Second, until: time.Hour, expected: 4 * time.Second},
		{name: "less than half is left, a second after the last request", at: noon, unspent: "4.9", used: "10", until: time.Hour, expected: soon},
		{name: "half is left", at: noon, unspent: "5", used: "10", until: time.Hour, expected: 8 * time.Second},
		{name: "the last refill brought little", at: noon, unspent: "4.9", used: "10", isShort: true, until: time.Hour, expected: 8 * time.Second},
		{name: "the period ends within 30 s", at: last, unspent: "20", used: "10", until: time.Hour, expected: soon},
		{name: "what is reserved is kept alive", at: noon, unspent: "20", reserved: "20", until: 15 * time.Minute, expected: 5 * time.Minute},
		{name: "its time is over", at: noon, unspent: "20", used: "10", until: -time.Second, expected: soon},
	} {
		if due := one.due(t, &file); due != one.expected {
			t.Errorf("%s: %v and not %v", one.name, due, one.expected)
		}
	}
}
