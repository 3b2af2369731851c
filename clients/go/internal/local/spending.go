package local

import (
	"context"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/offline"
)

// spending is what the ledger of an instance needs of its client.
type spending struct {
	*follower
	refetch func(context.Context)
}

func newLedger(one *follower, refetch func(context.Context)) *ledger.Ledger {
	options := ledger.Options{Clock: one.options.Clock, FlushAlways: one.options.FlushAlways}
	if store := one.options.Store; store != nil {
		options.Path = store.ledgerPath
	}
	return ledger.New(spending{one, refetch}, options)
}

func (of spending) ID() string {
	of.mutex.Lock()
	defer of.mutex.Unlock()
	if of.trust.state == nil {
		return ""
	}
	return of.trust.state.Subject
}

func (of spending) View() ledger.View {
	view := of.view()
	seen := ledger.View{
		At: view.At, Age: view.Age, IsConfirmed: view.State == Live || view.State == Polling, IsRevoked: view.State == Revoked,
	}
	if verdict, err := view.Verdict(Closes); err == nil && verdict.Snapshot != nil {
		seen.Claims = verdict.Snapshot.Claims
	}
	return seen
}

func (of spending) Verify(token string) *offline.Claims {
	of.mutex.Lock()
	by, now := of.trust, time.UnixMilli(of.base.at(of.now()))
	of.mutex.Unlock()
	if of.own.issuer != "" {
		by.issuer = of.own.issuer
	}
	found := of.own.verifyKept(token, of.slug, by, now)
	if found.snapshot == nil {
		return nil
	}
	return found.snapshot.Claims
}

func (of spending) Refill(ctx context.Context, body any) (ledger.Response, error) {
	return of.options.Service.Refill(ctx, of.slug, body)
}

func (of spending) Receive(ctx context.Context, token, etag string, date time.Time, sent time.Duration) (*offline.Claims, error) {
	claims, err := of.receiveRefill(ctx, Reply{Token: token, ETag: etag, Date: date}, sent)
	of.notice()
	return claims, err
}

func (of spending) Refetch(ctx context.Context) { of.refetch(ctx) }

func (of spending) ConfirmedAt() time.Duration {
	of.mutex.Lock()
	defer of.mutex.Unlock()
	return of.facts.confirmedAt
}

func (of spending) HasEnded(problem error) bool { return isEnd(problem) }

func (of spending) Tell(event ledger.Event) {
	of.tell(Event{Type: event.Type, Satisfied: event.Satisfied, Lines: event.Lines, Code: event.Code, Err: event.Err})
}

// Answer answers checks by the snapshot, and by what was spent since it came.
func (view View) Answer(checks []offline.Check) offline.Answers {
	return view.ledger.Answer(ledger.View{Claims: view.Snapshot.Claims, At: view.At}, checks)
}

// Holdings are what may be spent without a request, and what is not settled.
func (view View) Holdings() ledger.Status { return view.ledger.Status() }

// Consume spends from tranches. It fails with ledger.ErrNoSnapshot if no snapshot answers.
func (client *Client) Consume(ctx context.Context, slug string, wish ledger.Wish) (*ledger.Answers, error) {
	of, err := client.ledgerOf(ctx, slug)
	if err != nil {
		return nil, err
	}
	return of.Consume(ctx, wish)
}

// Reserve sets amounts aside for a time, as Consume spends them. What is denied is no reservation.
func (client *Client) Reserve(ctx context.Context, slug string, wish ledger.Wish, ttl time.Duration) (*ledger.Answers, *ledger.Reservation, error) {
	of, err := client.ledgerOf(ctx, slug)
	if err != nil {
		return nil, nil, err
	}
	return of.Reserve(ctx, wish, ttl)
}

// ledgerOf waits until something is known of the instance.
func (client *Client) ledgerOf(ctx context.Context, slug string) (*ledger.Ledger, error) {
	view, err := client.Look(ctx, slug)
	return view.ledger, err
}

// closeLedgers settles all ledgers at the same time.
func (client *Client) closeLedgers() error {
	all := client.all()
	failures := make([]error, len(all))
	var closing sync.WaitGroup
	for place, one := range all {
		closing.Add(1)
		go func(place int, one *follower) {
			defer closing.Done()
			failures[place] = one.ledger.Close()
		}(place, one)
	}
	closing.Wait()
	for _, failed := range failures {
		if failed != nil {
			return failed
		}
	}
	return nil
}
