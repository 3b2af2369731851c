package keyshelf

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAProductConsumesWithoutARequestAndSettlesAtItsEnd(t *testing.T) {
	origin := newLedgerOrigin(t)
	client := origin.client()
	first := consume(t, client, "large", "100", "")
	if !first.Allowed || first.Reason != "GRANTED" || first.Usage != "100" || first.Source != FromSnapshot {
		t.Fatal(first)
	}
	eventually(t, "a tranche", func() bool { return unspent(client, "large") >= 50 })
	origin.next(held)
	if answer := consume(t, client, "large", "2", ""); !answer.Allowed || answer.Usage != "102" || answer.Source != FromSnapshot {
		t.Error(answer)
	}
	if answer := checkOne(t, client, "large"); answer.Usage != "102" || answer.Source != FromSnapshot {
		t.Error(answer)
	}
	status := client.Status("globex-prod")
	if len(status.Unsettled) != 1 || status.Unsettled[0].Entitlement != "large" || status.Unsettled[0].PeriodStart.IsZero() {
		t.Error(status.Unsettled)
	}
	if until := time.Until(status.Tranches[0].SpendUntil); until < 50*time.Minute || until > 70*time.Minute {
		t.Error(status.Tranches)
	}
	origin.next(answered)
	closed(t, client)
	origin.usage("large", 102)
	if sent := origin.sent(); !sent[len(sent)-1].Close || origin.model.Held("large") != 0 {
		t.Error(sent)
	}
}

func TestWhatDoesNotFitIsDeniedAndSeveralAreConsumedOrNone(t *testing.T) {
	origin := newLedgerOrigin(t)
	client := origin.client()
	consumeAll := func(checks ...Check) *CheckResult {
		t.Helper()
		result, err := client.ConsumeAll(background, "globex-prod", checks, "")
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	both := consumeAll(Check{"large", "5"}, Check{"small", "11"})
	denied := both.Checks[1]
	if both.Allowed() || !both.Confirmed || denied.Allowed || denied.Reason != "LIMIT_REACHED" || denied.Source != FromService {
		t.Error(both)
	}
	// Each check is answered after what the allowed ones before it use.
	if several := consumeAll(Check{"small", "6"}, Check{"small", "6"}); !several.Checks[0].Allowed || several.Checks[1].Reason != "LIMIT_REACHED" {
		t.Error(several)
	}
	if result := consumeAll(Check{Entitlement: "large"}, Check{Entitlement: "small"}, Check{Entitlement: "sso"}); !result.Allowed() {
		t.Error(result)
	}
	if answer := consume(t, client, "nowhere", "1", ""); answer.Allowed || answer.Reason != "ENTITLEMENT_NOT_FOUND" {
		t.Error(answer)
	}
	if answer := consume(t, client, "jobs", "30", ""); !answer.Allowed || answer.Usage != "1" {
		t.Error(answer)
	}
	if _, err := client.Consume(background, "globex-prod", Check{Entitlement: "peak"}, ""); err == nil || IsAway(err) {
		t.Error(err)
	}
	closed(t, client)
	origin.usage("large", 1)
	origin.usage("small", 1)
	origin.usage("jobs", 1)
}

func TestAProductGoesOnFromItsTrancheWhileTheServiceIsAway(t *testing.T) {
	origin := newLedgerOrigin(t)
	directory := t.TempDir()
	client := origin.client(WithDirectory(directory))
	consume(t, client, "large", "100", "")
	eventually(t, "a tranche", func() bool { return unspent(client, "large") >= 100 })
	origin.stop()
	if answer := consume(t, client, "large", "60", ""); !answer.Allowed || answer.Source != FromSnapshot {
		t.Error(answer)
	}
	closed(t, client)
	again := origin.client(WithDirectory(directory))
	// What was given back before the end is gone, what was spent is not.
	denied := consume(t, again, "large", "60", "")
	if denied.Allowed || denied.Reason != "SERVICE_AWAY" || denied.Source != FromPolicy || denied.Usage != "160" {
		t.Error(denied)
	}
	if _, err := again.Consume(background, "globex-prod", Check{"large", "60"}, "", WhenAway(Fail)); !IsAway(err) {
		t.Error(err)
	}
	origin.again()
	eventually(t, "settled", func() bool { return origin.model.Usage("large") == 160 })
	eventually(t, "consumed", func() bool { return consume(t, again, "large", "60", "").Allowed })
}

func TestALicenseMayLetAProductGoOnAboveItsTranche(t *testing.T) {
	origin := newLedgerOrigin(t)
	origin.model.Allow()
	client := origin.client()
	checkOne(t, client, "large")
	origin.stop()
	if answer := consume(t, client, "small", "12", ""); !answer.Allowed || answer.Reason != "SERVICE_AWAY" || answer.Source != FromPolicy {
		t.Error(answer)
	}
	origin.again()
	eventually(t, "counted", func() bool { return origin.model.Usage("small") == 12 })
	if facts, _ := origin.model.Facts(); facts != 12 {
		t.Error(facts)
	}
}

func TestAKeyChargesOnceInItsDirectory(t *testing.T) {
	origin := newLedgerOrigin(t)
	directory := t.TempDir()
	client := origin.client(WithDirectory(directory), WithFlushAlways())
	for round := 0; round < 2; round++ {
		if answer := consume(t, client, "large", "7", "job-1"); !answer.Allowed {
			t.Error(answer)
		}
	}
	if _, err := client.Consume(background, "globex-prod", Check{"large", "8"}, "job-1"); err == nil || IsAway(err) {
		t.Error(err)
	}
	closed(t, client)
	again := origin.client(WithDirectory(directory))
	if answer := consume(t, again, "large", "7", "job-1"); !answer.Allowed {
		t.Error(answer)
	}
	closed(t, again)
	origin.usage("large", 7)
}

func TestProductsReachALimitAndNeverPassIt(t *testing.T) {
	origin := newLedgerOrigin(t)
	var consumed int64
	var working sync.WaitGroup
	for product := 0; product < 3; product++ {
		client := origin.client()
		working.Add(1)
		go func() {
			defer working.Done()
			// On a slow machine a call may wait for too long; so each product asks until the limit denies it.
			for {
				answer, err := client.Consume(background, "globex-prod", Check{Entitlement: "small"}, "")
				if err != nil || answer.Reason == "LIMIT_REACHED" {
					break
				}
				if answer.Allowed {
					atomic.AddInt64(&consumed, 1)
				}
			}
			_ = client.Close(background)
		}()
	}
	working.Wait()
	if consumed != 10 {
		t.Error(consumed)
	}
	origin.usage("small", 10)
	if facts, overrun := origin.model.Facts(); facts != 0 || overrun > 0 {
		t.Error(facts, overrun)
	}
}

func TestALedgerThatWasCopiedOrClosedGoesOnAsANewOne(t *testing.T) {
	origin := newLedgerOrigin(t)
	directory, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	client := origin.client(WithDirectory(directory))
	consume(t, client, "large", "100", "")
	copyFolder(t, directory, copied)
	consume(t, client, "large", "1", "")
	closed(t, client)
	var code atomic.Value
	other := origin.client(WithDirectory(copied), WithOnEvent(func(event Event) {
		if event.Type == "rejected" {
			code.Store(event.Code)
		}
	}))
	if answer := consume(t, other, "large", "2", ""); !answer.Allowed {
		t.Error(answer)
	}
	eventually(t, "a fork", func() bool { return code.Load() != nil })
	if code := code.Load().(string); !strings.HasPrefix(code, "RefillTranches.Ledger") {
		t.Error(code)
	}
	eventually(t, "settled", func() bool { return len(other.Status("globex-prod").Unsettled) == 0 })
	before := origin.model.Usage("large")
	origin.model.End()
	consume(t, other, "large", "3", "")
	closed(t, other)
	// What the copy had not settled is counted once more, and no unit is lost.
	if before < 103 {
		t.Error(before)
	}
	origin.usage("large", before+3)
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
