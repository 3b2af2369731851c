package local

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/vectors"
	"keyshelf.example/keyshelf/offline"
)

// away is a service that does not answer.
type away struct{}

var errAway = errors.New("away")

func (away) Snapshot(context.Context, string, string) (Reply, error)  { return Reply{}, errAway }
func (away) Keys(context.Context, string) (offline.Keys, error)       { return nil, errAway }
func (away) Changes(context.Context, []string) (io.ReadCloser, error) { return nil, errAway }
func (away) Refill(context.Context, string, any) (ledger.Response, error) {
	return ledger.Response{}, errAway
}

// coldStart starts one process after the other without a service, each with a clock.
type coldStart struct {
	t         *testing.T
	file      statesFile
	directory string
}

func newColdStart(t *testing.T) *coldStart {
	cold := &coldStart{t: t, directory: t.TempDir()}
	vectors.Read(t, "local-states", &cold.file)
	return cold
}

// start starts a process some time after the snapshot A was signed, and returns what it holds after a further time.
func (cold *coldStart) start(after time.Duration, runs time.Duration, do func(*follower)) State {
	cold.t.Helper()
	store, err := OpenStore(cold.directory)
	if err != nil {
		cold.t.Fatal(err)
	}
	defer store.Close()
	start, _ := values.Millis(cold.file.Clock)
	now := clocks.Reading{Wall: time.UnixMilli(start).Add(after), Monotonic: time.Hour}
	pinned := offline.Keys{}
	for kid, x := range cold.file.Keys {
		pinned[kid] = x
	}
	options := &Options{
		Clock:   Clock{Read: func() clocks.Reading { return now }, Random: func() float64 { return 0.5 }},
		Service: away{}, Store: store, Keys: pinned, Issuer: cold.file.Issuer,
	}
	one := newFollower(cold.file.Instance, options, nil)
	now.Monotonic += runs
	now.Wall = now.Wall.Add(runs)
	if do != nil {
		do(one)
	}
	one.facts.isStarting = false
	one.store()
	return one.view().State
}

// held stores the snapshot A, as a process that fetched it.
func (cold *coldStart) held() {
	cold.t.Helper()
	state := cold.start(0, 0, func(one *follower) {
		reply := Reply{Token: cold.file.Snapshots["A"].Token, ETag: `"A"`}
		if err := one.receive(context.Background(), reply, nil, time.Hour); err != nil {
			cold.t.Fatal(err)
		}
	})
	if state != Polling {
		cold.t.Fatal(state)
	}
}

func (cold *coldStart) path() string {
	cold.t.Helper()
	paths, _ := filepath.Glob(filepath.Join(cold.directory, "slot-0", "snapshot-*.json"))
	if len(paths) != 1 {
		cold.t.Fatal(paths)
	}
	return paths[0]
}

const day = 24 * time.Hour

func TestAFileThatIsCutAtAnyByteIsAsIfAbsent(t *testing.T) {
	cold := newColdStart(t)
	cold.held()
	path := cold.path()
	whole, _ := os.ReadFile(path)
	for length := 0; length <= len(whole); length++ {
		if err := os.WriteFile(path, whole[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		expected := None
		if length == len(whole) {
			expected = Stale
		}
		if state := cold.start(time.Hour, 0, nil); state != expected {
			t.Fatal(length, state)
		}
		if bad, err := os.ReadFile(path + ".bad"); expected == None && (err != nil || len(bad) != length) {
			t.Fatal(length, err)
		}
	}
}

func TestNoBitOfAStoredTokenMayChange(t *testing.T) {
	cold := newColdStart(t)
	cold.held()
	path := cold.path()
	whole, _ := os.ReadFile(path)
	begin := strings.Index(string(whole), cold.file.Snapshots["A"].Token)
	signed := strings.LastIndex(cold.file.Snapshots["A"].Token, ".")
	for place := range cold.file.Snapshots["A"].Token {
		// Each of the signature, and some of the claims.
		if place < signed && place%11 > 0 {
			continue
		}
		changed := append([]byte{}, whole...)
		changed[begin+place] ^= 1 << (place % 7)
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if state := cold.start(time.Hour, 0, nil); state != None {
			t.Fatal(place, state)
		}
	}
}

func TestAClockAYearAheadAndBackAgain(t *testing.T) {
	cold := newColdStart(t)
	cold.held()
	for _, step := range []struct {
		after, runs time.Duration
		expected    State
	}{
		{day, time.Hour, Stale}, {365 * day, time.Hour, Expired}, {2 * day, time.Hour, Stale},
		// Less than a day behind: the latest time counts. More: nothing is usable.
		{2*day - 12*time.Hour, 0, Stale}, {12 * time.Hour, 0, None}, {6 * day, 0, Stale}, {6*day + 12*time.Hour, 12 * time.Hour, Expired},
		// The snapshot expired while the product ran: setting the clock back does not revive it.
		{6*day + 12*time.Hour, 0, Expired},
	} {
		if state := cold.start(step.after, step.runs, nil); state != step.expected {
			t.Fatal(step, state)
		}
	}
}

func TestATombstoneOutlivesTheProcess(t *testing.T) {
	cold := newColdStart(t)
	cold.held()
	cold.start(time.Hour, 0, func(one *follower) {
		_ = one.receive(context.Background(), Reply{}, &SnapshotError{offline.WrongLicense}, time.Hour)
	})
	if data, _ := os.ReadFile(cold.path()); strings.Contains(string(data), cold.file.Snapshots["A"].Token) {
		t.Error("the token is still there")
	}
	if state := cold.start(2*time.Hour, 0, nil); state != Revoked {
		t.Error(state)
	}
}

func TestADirectoryHasSlotsFor64Processes(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "a[b]*", "state")
	var stores []*Store
	for number := 0; number < maxSlots; number++ {
		store, err := OpenStore(directory)
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, store)
	}
	if _, err := OpenStore(directory); !errors.Is(err, ErrNoSlot) {
		t.Error(err)
	}
	stored := &record{Instance: "globex-prod", Token: textOrNil("x"), ConfirmedAt: "2026-01-10T12:00:00.000Z"}
	if err := stores[7].write("0198", stored); err != nil {
		t.Fatal(err)
	}
	ended := &record{Instance: "globex-prod", ConfirmedAt: stored.ConfirmedAt, RevokedAt: textOrNil("2026-01-10T12:00:01.000Z")}
	if found := stores[0].newest("globex-prod"); found == nil || found.RevokedAt != nil {
		t.Error(found)
	}
	// What another process knows of the end of an access counts too.
	if err := stores[9].write("0198", ended); err != nil {
		t.Fatal(err)
	}
	if found := stores[0].newest("globex-prod"); found == nil || found.RevokedAt == nil {
		t.Error(found)
	}
	if stores[0].newest("initech") != nil || stores[0].write("../0198", stored) == nil {
		t.Error("a name leads elsewhere")
	}
	_ = stores[5].Close()
	if again, err := OpenStore(directory); err != nil || again.slot != stores[5].slot {
		t.Error(err)
	}
}

func TestFrames(t *testing.T) {
	const change = `data: {"type":"refetchEvaluation","instance":"globex-prod"}`
	for text, expected := range map[string]int{
		change + "\n\n": 1, change + "\r\n\r\n": 1, change + "\r\r": 1, change + "\n": 0, change: 0,
		"id: 1\nevent: x\n" + change + "\n: comment\n\n\n" + change + "\n\n": 2,
		"data: {\"type\":\ndata: \"refetchEvaluation\"}\n\n":                 1,
		"data:{\"type\":\"refetchEvaluation\"}\n\n":                          1,
		"data: {\"type\":\"open\"}\n\n":                                      0,
		"data: x\n\ndata: 7\n\ndata\n\n\n\n":                                 0,
		strings.Repeat("x", 3*maxLine) + "\n" + change + "\n\n":              1,
		"data: " + strings.Repeat(" ", 2*maxLine) + "\n\n" + change + "\n\n": 1,
	} {
		for _, size := range []int{1, 2, 3, len(text)} {
			reader, changes := frames{}, 0
			for begin := 0; begin < len(text); begin += size {
				end := begin + size
				if end > len(text) {
					end = len(text)
				}
				changes += len(reader.read([]byte(text[begin:end])))
			}
			if changes != expected || len(reader.rest) > maxLine {
				t.Errorf("%.80q in parts of %d: %d", text, size, changes)
			}
		}
	}
	reader := frames{}
	reader.read([]byte("retry: 4200\nretry: x\nretry:-1\n\n"))
	if reader.retry != 4200*time.Millisecond {
		t.Error(reader.retry)
	}
}

func TestAFrameIsAboutAllThatItsNamesSelect(t *testing.T) {
	snapshot := &Snapshot{Claims: &offline.Claims{
		License: offline.License{Slug: "pro-v2", Family: "pro"}, Customer: offline.Named{Slug: "globex"},
		Zone: map[string]any{"slug": "eu-1"},
	}}
	for _, one := range []struct {
		frame    frame
		expected bool
	}{
		{frame{}, true}, {frame{instance: "a"}, true}, {frame{instance: "b"}, false}, {frame{license: "pro-v2"}, true},
		{frame{license: "basic"}, false}, {frame{customer: "globex"}, true}, {frame{customer: "initech"}, false},
		{frame{zone: "eu-1"}, true}, {frame{zone: "us-1"}, false}, {frame{license: "pro-v2", zone: "us-1"}, false},
	} {
		if one.frame.concerns("a", snapshot) != one.expected {
			t.Error(one)
		}
	}
	if !(&frame{zone: "eu-1"}).concerns("a", nil) {
		t.Error("what is not known may be meant")
	}
}
