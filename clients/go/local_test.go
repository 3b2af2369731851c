package keyshelf

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"keyshelf.example/keyshelf/offline"
)

func checkOne(t *testing.T, client *Client, entitlement string, options ...CheckOption) Answer {
	t.Helper()
	answer, err := client.Check(background, "globex-prod", Check{Entitlement: entitlement}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAProductDecidesByItself(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client()
	result, err := client.CheckAll(background, "globex-prod", []Check{{"api-calls", "600"}, {"api-calls", "601"}, {"sso", ""}, {"other", ""}})
	if err != nil || !result.Confirmed || result.License != "pro-v2" || result.At == nil {
		t.Fatal(result, err)
	}
	for place, reason := range []string{"GRANTED", "LIMIT_REACHED", "GRANTED", "ENTITLEMENT_NOT_FOUND"} {
		if answer := result.Checks[place]; answer.Reason != reason || answer.Source != FromSnapshot || answer.Age > time.Minute {
			t.Error(answer)
		}
	}
	calls := result.Checks[0]
	if calls.Limit != "1000" || calls.Usage != "400" || calls.Remaining != "600" || calls.Overage != "0" || calls.CurrentPeriodStart == nil {
		t.Error(calls)
	}
	if origin.checks > 0 {
		t.Error("it asked")
	}
	eventually(t, "live", isIn(client, StateLive))
	status := client.Status("globex-prod")
	if status.ETag != origin.etag() || status.Err != nil || status.Age == nil || time.Until(*status.ExpiresAt) < time.Hour {
		t.Error(status)
	}
}

func TestAChangeDecidesTheNextCheckWithinASecond(t *testing.T) {
	origin := newOrigin(t)
	client := origin.live()
	origin.change(func() { origin.sso = false })
	eventually(t, "a denial", func() bool { return !checkOne(t, client, "sso").Allowed })
	if origin.counted("GET", "/api/changes?instance=globex-prod") != 1 {
		t.Error(origin.requests)
	}
	origin.change(func() { origin.limit = "400" })
	eventually(t, "a limit", func() bool { return checkOne(t, client, "api-calls").Reason == "LIMIT_REACHED" })
}

func TestRefreshKnowsWhatChangedBefore(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client()
	checkOne(t, client, "sso")
	origin.mutex.Lock()
	origin.sso = false
	origin.mutex.Unlock()
	if err := client.Refresh(background, "globex-prod"); err != nil || checkOne(t, client, "sso").Allowed {
		t.Error(err)
	}
	origin.stop()
	if err := client.Refresh(background, "globex-prod"); !IsAway(err) {
		t.Error(err)
	}
}

func TestTheServiceAnswersWhereItIsAsked(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client()
	checkOne(t, client, "sso")
	for _, option := range []CheckOption{Remote(), At(time.Now().Add(-time.Hour))} {
		if answer := checkOne(t, client, "api-calls", option); answer.Source != FromService {
			t.Error(answer)
		}
	}
	for _, key := range []string{"job-1", ""} {
		answer, err := client.Consume(background, "globex-prod", Check{Entitlement: "api-calls"}, key, Remote())
		if err != nil || answer.Source != FromService || !answer.Allowed {
			t.Error(answer, err)
		}
	}
	if origin.checks != 4 {
		t.Error(origin.checks)
	}
}

func TestKeysIssuerAndFamilies(t *testing.T) {
	origin := newOrigin(t)
	pinned := origin.client(WithKeys(origin.signer.keys()), WithIssuer(testIssuer), WithFamilies("pro"))
	if !checkOne(t, pinned, "sso").Allowed || origin.counted("GET", "/api/offline") > 0 {
		t.Error("pinned keys are asked for")
	}
	published := origin.client()
	if !checkOne(t, published, "sso").Allowed || origin.counted("GET", "/api/offline") != 1 {
		t.Error("published keys do not count")
	}
	for _, option := range []Option{WithKeys(newSigner("other").keys()), WithIssuer("urn:keyshelf:organization:other")} {
		if answer := checkOne(t, origin.client(option), "sso"); answer.Reason != "NO_SNAPSHOT" {
			t.Error(answer)
		}
	}
	other := origin.client(WithFamilies("basic"), WithWhenAway(Open))
	_, err := other.Check(background, "globex-prod", Check{Entitlement: "sso"})
	var rejected *SnapshotError
	if !errors.As(err, &rejected) || rejected.Status != offline.WrongLicense {
		t.Error(err)
	}
	eventually(t, "live", isIn(published, StateLive))
	origin.change(func() { origin.signer, origin.sso = newSigner("second"), false })
	eventually(t, "another signing key", func() bool { return !checkOne(t, published, "sso").Allowed })
	if !checkOne(t, pinned, "sso").Allowed {
		t.Error("pinned keys do not decide")
	}
}

func TestABundleOfTheProductStartsIt(t *testing.T) {
	origin := newOrigin(t)
	bundle := origin.signer.sign(origin.claims("globex-prod"))
	origin.stop()
	client := origin.client(WithKeys(origin.signer.keys()), WithBundle(bundle))
	if answer := checkOne(t, client, "sso"); !answer.Allowed || answer.Source != FromSnapshot {
		t.Error(answer)
	}
}

func TestEventsSayWhatHappens(t *testing.T) {
	origin := newOrigin(t)
	var mutex sync.Mutex
	states, types := []State{}, map[string]bool{}
	var client *Client
	client = origin.client(WithOnEvent(func(event Event) {
		mutex.Lock()
		defer mutex.Unlock()
		types[event.Type] = true
		if event.Type == "state" {
			states = append(states, event.State)
		}
		if event.Instance != "globex-prod" || client.Status("globex-prod").State == "" {
			t.Error(event)
		}
		panic("a fault of the product")
	}))
	checkOne(t, client, "sso")
	eventually(t, "live", isIn(client, StateLive))
	origin.stop()
	if err := client.Refresh(background, "globex-prod"); !IsAway(err) {
		t.Error(err)
	}
	_ = client.Close(background)
	mutex.Lock()
	defer mutex.Unlock()
	if !types["snapshot"] || !types["error"] || states[len(states)-1] != StateClosed {
		t.Error(types, states)
	}
}

func TestInstancesShareAStream(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client()
	areLive := func(slugs ...string) func() bool {
		return func() bool {
			for _, slug := range slugs {
				if client.Status(slug).State != StateLive {
					return false
				}
			}
			return true
		}
	}
	fetches := func() [2]int {
		return [2]int{
			origin.counted("GET", "/api/instances/globex-prod/snapshot"), origin.counted("GET", "/api/instances/globex-test/snapshot"),
		}
	}
	checkOne(t, client, "sso")
	eventually(t, "live", areLive("globex-prod"))
	if err := client.Start(background, "globex-test"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both live", areLive("globex-prod", "globex-test"))
	eventually(t, "one stream", func() bool { return origin.streaming() == 1 })
	if origin.counted("GET", "/api/changes?instance=globex-prod&instance=globex-test") != 1 {
		t.Error(origin.requests)
	}
	before := fetches()
	origin.changeOf(`"instance":"globex-test"`, func() {})
	eventually(t, "a fetch", func() bool { return fetches() == [2]int{before[0], before[1] + 1} })
	origin.changeOf(`"license":"pro-v2"`, func() {})
	eventually(t, "two fetches", func() bool { return fetches() == [2]int{before[0] + 1, before[1] + 2} })
	// Which instance is meant must be said now.
	if _, err := client.Flags(background, nil); err == nil {
		t.Error("no instance is named")
	}
}

// ours are the goroutines of the client.
func ours() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "internal/local.(*Client).work") + strings.Count(string(stacks), "internal/local.(*Client).follow")
}

func TestCloseEndsAllThatTheClientStarted(t *testing.T) {
	origin := newOrigin(t)
	eventually(t, "no client", func() bool { return ours() == 0 })
	client := origin.client(WithDirectory(t.TempDir()))
	if ours() != 0 {
		t.Error("it starts before it is used")
	}
	checkOne(t, client, "sso")
	eventually(t, "live", isIn(client, StateLive))
	if count := ours(); count != 2 {
		t.Error(count)
	}
	for round := 0; round < 2; round++ {
		if err := client.Close(background); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "no goroutine", func() bool { return ours() == 0 })
	eventually(t, "no stream", func() bool { return origin.streaming() == 0 })
	for _, err := range []error{
		client.Start(background, "globex-prod"), client.Refresh(background, "globex-prod"),
		func() error { _, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}); return err }(),
		func() error { _, err := client.Flags(background, nil); return err }(),
		func() error { _, err := client.Consume(background, "globex-prod", oneCheck, "key"); return err }(),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	if client.Status("globex-prod").State != StateClosed {
		t.Error(client.Status("globex-prod"))
	}
}

var oneCheck = Check{Entitlement: "sso"}

func TestGoroutinesShareAClient(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client(WithDirectory(t.TempDir()))
	var waiting sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		waiting.Add(1)
		go func(worker int) {
			defer waiting.Done()
			for round := 0; round < 50; round++ {
				if _, err := client.Check(background, "globex-prod", oneCheck); err != nil {
					t.Error(err)
				}
				if worker == 0 {
					origin.change(func() { origin.sso = round%2 == 0 })
				}
				if worker == 1 && round%10 == 0 {
					_ = client.Refresh(background, "globex-prod")
				}
				client.Status("globex-prod")
			}
		}(worker)
	}
	waiting.Wait()
}

func TestCloseEndsAllAlsoForACallerThatDoesNotWait(t *testing.T) {
	origin := newOrigin(t)
	directory := t.TempDir()
	client := origin.live(WithDirectory(directory))
	hurried, cancel := context.WithCancel(background)
	cancel()
	if err := client.Close(hurried); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := client.Close(background); err != nil {
		t.Error(err)
	}
	eventually(t, "no goroutine", func() bool { return ours() == 0 })
	// The next client takes the slot that is free now.
	_ = origin.live(WithDirectory(directory))
	if slots, err := filepath.Glob(filepath.Join(directory, "slot-?")); err != nil || len(slots) != 1 {
		t.Error(slots, err)
	}
}
