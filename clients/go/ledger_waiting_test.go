package keyshelf

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAReservationIsForWorkWhoseCostIsKnownAfterwards(t *testing.T) {
	origin := newLedgerOrigin(t)
	client := origin.client()
	reserve := func(quantity Amount, ttl time.Duration) *Reservation {
		t.Helper()
		reserved, err := client.Reserve(background, "globex-prod", "medium", quantity, ttl)
		if err != nil {
			t.Fatal(err)
		}
		return reserved
	}
	reserved := reserve("300", time.Minute)
	if !reserved.Answer.Allowed || time.Until(reserved.ExpiresAt) > time.Minute {
		t.Error(reserved)
	}
	denied := reserve("701", time.Minute)
	if denied.Answer.Allowed || denied.Answer.Reason != "LIMIT_REACHED" || !errors.Is(denied.Commit(background, "1"), ErrReservationEnded) {
		t.Error(denied.Answer)
	}
	if err := reserved.Commit(background, "301"); err == nil || errors.Is(err, ErrReservationEnded) {
		t.Error(err)
	}
	if err := reserved.Commit(background, "12"); err != nil {
		t.Error(err)
	}
	for _, err := range []error{reserved.Commit(background, "1"), reserved.Release(background)} {
		if !errors.Is(err, ErrReservationEnded) {
			t.Error(err)
		}
	}
	released := reserve("900", time.Minute)
	if err := released.Release(background); err != nil || !released.Answer.Allowed {
		t.Error(released.Answer, err)
	}
	ended := reserve("900", time.Second)
	eventually(t, "the end of its time", func() bool { return reserve("900", time.Minute).Answer.Allowed })
	if err := ended.Release(background); !errors.Is(err, ErrReservationEnded) {
		t.Error(err)
	}
	closed(t, client)
	origin.usage("medium", 12)
	if origin.model.Held("medium") != 0 {
		t.Error("something is held")
	}
}

func TestACallThatWaitsForARefillObeysItsContext(t *testing.T) {
	origin := newLedgerOrigin(t)
	client := origin.client()
	checkOne(t, client, "large")
	origin.next(held)
	waiting, cancel := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() {
		_, err := client.Consume(waiting, "globex-prod", Check{"large", "5"}, "")
		ended <- err
	}()
	eventually(t, "a request", func() bool { return len(origin.sent()) > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	origin.next(answered)
	closed(t, client)
	origin.usage("large", 0)
}

func TestASilentServiceHoldsUpNoProduct(t *testing.T) {
	t.Parallel()
	origin := newLedgerOrigin(t)
	client := origin.client(WithTimeout(time.Minute))
	checkOne(t, client, "large")
	origin.next(held)
	began := time.Now()
	if answer := consume(t, client, "large", "5", ""); answer.Allowed || answer.Reason != "SERVICE_AWAY" || answer.Source != FromPolicy {
		t.Error(answer)
	}
	if waited := time.Since(began); waited < 1900*time.Millisecond || waited > 4*time.Second {
		t.Error(waited)
	}
	began = time.Now()
	closed(t, client)
	if waited := time.Since(began); waited > 7*time.Second {
		t.Error(waited)
	}
	if _, err := client.Consume(background, "globex-prod", checkOfCalls, ""); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestEventsOfALedgerMayUseTheClient(t *testing.T) {
	origin := newLedgerOrigin(t)
	var mutex sync.Mutex
	types := map[string]int{}
	var client *Client
	client = origin.client(WithOnEvent(func(event Event) {
		mutex.Lock()
		types[event.Type]++
		mutex.Unlock()
		client.Status("globex-prod")
		if event.Type == "settled" && event.Lines == 0 {
			t.Error(event)
		}
		if event.Type == "refill" && event.Satisfied {
			_, _ = client.Check(background, "globex-prod", checkOfCalls)
		}
	}))
	consume(t, client, "large", "5", "")
	closed(t, client)
	mutex.Lock()
	defer mutex.Unlock()
	if types["refill"] == 0 || types["settled"] == 0 || types["snapshot"] == 0 {
		t.Error(types)
	}
}

func TestGoroutinesConsumeFromOneLedger(t *testing.T) {
	origin := newLedgerOrigin(t)
	client := origin.client(WithDirectory(t.TempDir()))
	var consumed int64
	var working sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		working.Add(1)
		go func(worker int) {
			defer working.Done()
			for round := 0; round < 40; round++ {
				answer, err := client.Consume(background, "globex-prod", Check{"large", "2"}, "")
				if err != nil {
					t.Error(err)
				}
				if answer.Allowed {
					atomic.AddInt64(&consumed, 2)
				}
				if worker == 0 && round%10 == 0 {
					reserved, err := client.Reserve(background, "globex-prod", "large", "5", time.Minute)
					if err == nil && reserved.Answer.Allowed && reserved.Commit(background, "3") == nil {
						atomic.AddInt64(&consumed, 3)
					}
				}
				if worker == 1 {
					checkOne(t, client, "large")
					client.Status("globex-prod")
				}
				if worker == 2 && round%10 == 0 {
					_ = client.Refresh(background, "globex-prod")
				}
			}
		}(worker)
	}
	working.Wait()
	closed(t, client)
	origin.usage("large", consumed)
	if stacks := make([]byte, 1<<20); strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "ledger.(*Ledger).run") {
		t.Error("a goroutine is left")
	}
	if facts, overrun := origin.model.Facts(); facts != 0 || overrun > 0 {
		t.Error(facts, overrun)
	}
}
