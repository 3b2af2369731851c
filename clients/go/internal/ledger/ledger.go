// Package ledger consumes without a request: it spends from tranches that the service has set aside, writes each spend down, and
// settles in the background. Time, requests and the snapshot are arguments.
package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

const (
	// refillTimeout is how long a call waits for a refill.
	refillTimeout = 2 * time.Second
	// closeTimeout is how long the end may take, abortAfter when it ends its request.
	closeTimeout = 5 * time.Second
	abortAfter   = closeTimeout - 500*time.Millisecond
)

// ErrClosed says that a client was closed.
var ErrClosed = errors.New("keyshelf: the client was closed")

// Event is what a ledger reports. It has no amount.
type Event struct {
	// Type is refill, settled, rejected or error.
	Type string
	// Satisfied says whether a refill brought what was needed.
	Satisfied bool
	// Lines are how many the service has counted.
	Lines int
	// Code is that of the line, or of the ledger, that it rejected.
	Code string
	Err  error
}

// Response is that of POST /instances/{slug}/tranches: JSON that is not trusted. Its snapshot is signed.
type Response struct {
	Body map[string]any
	Date time.Time
}

// Owner is the client that a ledger is part of.
type Owner interface {
	// ID is the id of the instance, empty before a snapshot named it.
	ID() string
	View() View
	// Verify returns the claims of a snapshot that was stored, nil if it is not usable.
	Verify(token string) *offline.Claims
	// Refill sends a request, once.
	Refill(ctx context.Context, body any) (Response, error)
	// Receive takes the snapshot of a response, and stores it. It returns its claims.
	Receive(ctx context.Context, token, etag string, date time.Time, sent time.Duration) (*offline.Claims, error)
	// Refetch fetches the snapshot now.
	Refetch(ctx context.Context)
	// ConfirmedAt is when the service last responded to anything, by the monotonic clock.
	ConfirmedAt() time.Duration
	// HasEnded reports whether a problem ends the access.
	HasEnded(problem error) bool
	Tell(Event)
}

// Options are what a ledger is made of.
type Options struct {
	Clock clocks.Clock
	// Path names the file of an instance. Without it, all is in memory.
	Path func(id string) (string, error)
	// FlushAlways lets each consumption wait for the disk.
	FlushAlways bool
}

// Ledger spends from the tranches of an instance. Its first use opens it, and starts a goroutine that refills; Close ends it.
type Ledger struct {
	owner   Owner
	options Options
	// opening lets one goroutine open it.
	opening sync.Mutex
	ctx     context.Context
	cancel  context.CancelFunc
	// woken wakes the goroutine, closing ends it, ended says that it has.
	woken          chan struct{}
	closing, ended chan struct{}

	mutex sync.Mutex
	holdings
	queue    queue
	refiller refiller
	timing   timing
	inFlight chan struct{}
	// notices are reported after the mutex is free: the caller's function may use the ledger.
	notices      []Event
	isClosed     bool
	reservations map[*Reservation]bool
}

// New makes a ledger. It does nothing before it is used.
func New(owner Owner, options Options) *Ledger {
	now := func() time.Duration { return options.Clock.Read().Monotonic }
	ctx, cancel := context.WithCancel(context.Background())
	return &Ledger{
		owner: owner, options: options, ctx: ctx, cancel: cancel, woken: make(chan struct{}, 1), closing: make(chan struct{}),
		ended: make(chan struct{}), holdings: newHoldings(now), queue: queue{batch: 1}, refiller: newRefiller(), timing: newTiming(),
		reservations: map[*Reservation]bool{},
	}
}

func (ledger *Ledger) lock() { ledger.mutex.Lock() }

// unlock frees the mutex, and reports what happened under it.
func (ledger *Ledger) unlock() {
	notices := ledger.notices
	ledger.notices = nil
	ledger.mutex.Unlock()
	for _, notice := range notices {
		ledger.owner.Tell(notice)
	}
}

func (ledger *Ledger) tell(event Event) { ledger.notices = append(ledger.notices, event) }

// Answer answers checks by claims and what was spent.
func (ledger *Ledger) Answer(view View, checks []offline.Check) offline.Answers {
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	if ledger.journal == nil {
		return view.Claims.Answer(checks, view.At, nil)
	}
	return ledger.claims(view).Answer(checks, view.At, &ledger.local)
}

// Consume spends what a wish needs, and waits for a refill only if no tranche pays it. It fails with ErrNoSnapshot if nothing
// is known by which it could.
func (ledger *Ledger) Consume(ctx context.Context, wish Wish) (*Answers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := ledger.open(); err != nil {
		return nil, err
	}
	answers, waiting, err := ledger.begin(ctx, &wish)
	if waiting != nil {
		answers, err = ledger.await(ctx, waiting)
	}
	if err == nil && ledger.options.FlushAlways && answers.isAllowed() {
		err = ledger.store.sync()
	}
	return answers, err
}

// begin attempts a consumption, and lets it wait if a refill can help.
func (ledger *Ledger) begin(ctx context.Context, wish *Wish) (*Answers, *call, error) {
	ledger.lock()
	defer ledger.unlock()
	if ledger.isClosed {
		return nil, nil, ErrClosed
	}
	if ledger.journal == nil {
		return nil, nil, ErrNoSnapshot
	}
	view := ledger.owner.View()
	answers, lacking, err := ledger.attempt(wish, view)
	if lacking == nil {
		ledger.noteSpent()
		return answers, nil, err
	}
	if !ledger.isReachable() {
		answers, err := ledger.late(wish, lacking)
		ledger.hurry()
		ledger.wake()
		return answers, nil, err
	}
	waiting := &call{ctx: ctx, wish: wish, lack: lacking, result: make(chan result, 1)}
	waiting.cancel = ledger.options.Clock.After(refillTimeout, func() {
		ledger.lock()
		defer ledger.unlock()
		ledger.settleLate(waiting)
	})
	ledger.queue.calls = append(ledger.queue.calls, waiting)
	ledger.wake()
	return nil, waiting, nil
}

// settleLate answers a call for which the time is over, unless it has ended.
func (ledger *Ledger) settleLate(waiting *call) {
	for _, one := range ledger.queue.calls {
		if one == waiting {
			answers, err := ledger.late(waiting.wish, waiting.lack)
			ledger.queue.settle(waiting, result{answers, err})
			return
		}
	}
}

// await waits until a call has ended. What was spent before its context ended is spent.
func (ledger *Ledger) await(ctx context.Context, waiting *call) (*Answers, error) {
	select {
	case one := <-waiting.result:
		return one.answers, one.err
	case <-ctx.Done():
		ledger.lock()
		ledger.queue.settle(waiting, result{nil, ctx.Err()})
		ledger.unlock()
		one := <-waiting.result
		return one.answers, one.err
	}
}

// late answers a wish that no refill served.
func (ledger *Ledger) late(wish *Wish, lacking *lack) (*Answers, error) {
	view := ledger.owner.View()
	// What ended the access denies, whatever the call says.
	if !wish.Fails || view.Claims == nil {
		return ledger.goOn(wish, view, lacking.lacks)
	}
	if err := ledger.refiller.failure; err != nil {
		return nil, err
	}
	return nil, errAway
}

// Status is what a ledger holds.
type Status struct {
	// Tranches are what may be spent without a request, until a time in seconds since 1970; Unsettled is what was spent and is not
	// counted yet.
	Tranches, Unsettled []offline.Spend
	Until               int64
}

// Status returns what the ledger holds.
func (ledger *Ledger) Status() Status {
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	status := Status{Tranches: portionsOf(ledger.granted)}
	for place := range status.Tranches {
		one := &status.Tranches[place]
		one.Amount = values.Text(ledger.unspent(one.Entitlement, one.Period))
	}
	if ledger.tranche != nil {
		status.Until = ledger.tranche.Until
	}
	if ledger.journal != nil {
		status.Unsettled = portionsOf(ledger.journal.spent)
	}
	return status
}
