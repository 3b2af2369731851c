package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	"keyshelf.example/keyshelf/internal/backoff"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

const (
	firstRetry = time.Second
	// shortFor is how long a refill that brought little is not repeated at once: it would bring the same.
	shortFor = 5 * time.Second

	ledgerClosed = "RefillTranches.LedgerClosed"
	ledgerForked = "RefillTranches.LedgerForked"
)

// outcome is what came of a request that did not fail.
type outcome int

const (
	// nothing was to be sent.
	nothing outcome = iota
	refilled
	// renewed: the ledger was continued elsewhere or has ended, so another one goes on.
	renewed
)

// refiller is what a ledger knows of its requests. Times are monotonic.
type refiller struct {
	// failure is what the last request failed with, if the service was away.
	failure           error
	failures          int
	failedAt, retryAt time.Duration
	// shortUntil is until when a refill of an entitlement would bring little.
	shortUntil map[string]time.Duration
}

func newRefiller() refiller {
	return refiller{failedAt: longAgo, retryAt: longAgo, shortUntil: map[string]time.Duration{}}
}

// isAway reports whether a request failed because the service was away: it said nothing about the request.
func isAway(err error) bool {
	var away interface{ IsAway() bool }
	return errors.As(err, &away) && away.IsAway()
}

func codeOf(err error) string {
	var problem *wire.ProblemError
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ""
}

// isReachable reports whether the service responded to the last request, or to another one after it.
func (ledger *Ledger) isReachable() bool {
	return ledger.refiller.failure == nil || ledger.owner.ConfirmedAt() > ledger.refiller.failedAt
}

// retryAt is when the next request may be sent.
func (ledger *Ledger) retryAt() time.Duration {
	if ledger.refiller.failure != nil && ledger.isReachable() {
		return longAgo
	}
	return ledger.refiller.retryAt
}

// hurry tries the service soon: a call could not be served.
func (ledger *Ledger) hurry() {
	of := &ledger.refiller
	of.retryAt = soonest(of.retryAt, of.failedAt+backoff.Polite(firstRetry, wire.RetryAfter(of.failure)))
}

func (ledger *Ledger) isShort(entitlement string) bool {
	until, isKnown := ledger.refiller.shortUntil[entitlement]
	return isKnown && ledger.now() < until
}

// note plans what follows a request.
func (ledger *Ledger) note(came outcome, err error) {
	of := &ledger.refiller
	if err == nil {
		if came == refilled {
			of.failure, of.failures, of.retryAt = nil, 0, longAgo
		}
		return
	}
	now := ledger.now()
	of.failures++
	delay := backoff.Retry(of.failures, firstRetry, ledger.options.Clock.Random())
	of.retryAt = now + backoff.Polite(delay, wire.RetryAfter(err))
	// A problem is of the request: the next call asks again, and fails with it.
	if isAway(err) {
		of.failure, of.failedAt = err, now
	}
	ledger.tell(Event{Type: "error", Err: err})
}

// refilling is a request with what it is for.
type refilling struct {
	body    request
	demands map[string]demand
	present map[*call]bool
	store   *store
}

// refill sends a request, unless there is nothing to send. The last one gives back all.
func (ledger *Ledger) refill(ctx context.Context, isLast bool) (outcome, error) {
	ended := make(chan struct{})
	ledger.lock()
	ledger.inFlight = ended
	ledger.unlock()
	came, err := ledger.send(ctx, isLast)
	ledger.lock()
	defer ledger.unlock()
	ledger.inFlight = nil
	close(ended)
	ledger.note(came, err)
	return came, err
}

// InFlight is closed when the request in flight has ended, nil if there is none.
func (ledger *Ledger) InFlight() <-chan struct{} {
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	return ledger.inFlight
}

func (ledger *Ledger) basis(view View, claims *offline.Claims) *basis {
	return &basis{
		claims: claims, local: &ledger.local, journal: ledger.journal, granted: ledger.granted, reserved: ledger.reserved,
		uses: ledger.uses, demands: ledger.queue.demands(), at: view.At, now: ledger.now(),
	}
}

// prepare writes down what a request sends and gives back. It returns nil if there is nothing to send.
func (ledger *Ledger) prepare(isLast bool) (*refilling, error) {
	ledger.lock()
	defer ledger.unlock()
	view := ledger.owner.View()
	claims := ledger.claims(view)
	if claims == nil {
		return nil, nil
	}
	// A retry sends the same lines: what the service may have counted is not mixed with what it has not.
	if len(ledger.journal.lines) == 0 {
		lines, err := linesOf(claims, ledger.journal, view.At)
		if err == nil && len(lines) > 0 {
			err = ledger.write(view.At, lines...)
		}
		if err != nil {
			return nil, err
		}
	}
	of := ledger.basis(view, claims)
	if isLast {
		of.uses, of.demands = newUses(of.now), nil
	}
	entries, given := of.plan()
	body := request{Source: ledger.journal.source, Lines: []string{}, Tranches: entries}
	for _, sent := range ledger.journal.lines {
		if len(body.Lines) < maxLines {
			body.Lines = append(body.Lines, sent.text)
		}
	}
	body.Close = isLast && len(ledger.journal.open) == 0 && len(body.Lines) == len(ledger.journal.lines)
	if len(body.Lines) == 0 && len(entries) == 0 && !body.Close {
		return nil, nil
	}
	if len(given) > 0 {
		if err := ledger.write(view.At, givenRecord{given}); err != nil {
			return nil, err
		}
	}
	return &refilling{body, of.demands, ledger.queue.present(), ledger.store}, nil
}

func (ledger *Ledger) send(ctx context.Context, isLast bool) (outcome, error) {
	prepared, err := ledger.prepare(isLast)
	if prepared == nil || err != nil {
		return nothing, err
	}
	// What is given back is on the disk before anybody else may spend it.
	if err := prepared.store.sync(); err != nil {
		return nothing, err
	}
	sent := ledger.now()
	response, err := ledger.owner.Refill(ctx, prepared.body)
	if codeOf(err) == ledgerClosed && len(prepared.body.Lines) > 0 && len(prepared.body.Tranches) > 0 {
		// A closed ledger still says which lines it has counted: those must not count again in the next one.
		prepared.body.Tranches = []entry{}
		response, err = ledger.owner.Refill(ctx, prepared.body)
	}
	if err == nil {
		return ledger.take(ctx, prepared, response, sent)
	}
	if code := codeOf(err); strings.HasPrefix(code, "RefillTranches.Ledger") {
		return ledger.fork(code)
	}
	return nothing, err
}
