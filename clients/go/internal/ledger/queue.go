package ledger

import (
	"context"
	"math/big"
)

// result is what a call that waited ends with.
type result struct {
	answers *Answers
	err     error
}

// call waits for a refill.
type call struct {
	ctx    context.Context
	wish   *Wish
	lack   *lack
	result chan result
	// cancel ends the time for which it waits.
	cancel func()
}

// denial is what the service did not grant: as much of an entitlement, or more, is denied.
type denial struct {
	need   *big.Rat
	reason string
}

// queue are the calls that wait, in their order. The mutex of the ledger guards it.
type queue struct {
	calls []*call
	// batch is how many calls a request is for: the first, and twice as many after each one that was granted. Where the limit is
	// near, units come by needs alone, so a long line would otherwise wait for a request a call.
	batch int
}

// demands are what the first calls need, and all of them want.
func (one *queue) demands() map[string]demand {
	demands := map[string]demand{}
	for place, waiting := range one.calls {
		for _, of := range waiting.lack.needs {
			known, isKnown := demands[of.Entitlement]
			if !isKnown {
				known = noDemand
			}
			amount := amountOf(of.Need)
			if place < one.batch {
				known.need = plus(known.need, amount)
			}
			known.want = plus(known.want, amount)
			demands[of.Entitlement] = known
		}
	}
	return demands
}

// present are the calls of now: later ones were not part of a request.
func (one *queue) present() map[*call]bool {
	present := map[*call]bool{}
	for _, waiting := range one.calls {
		present[waiting] = true
	}
	return present
}

// settle ends a call, unless it has ended.
func (one *queue) settle(waiting *call, with result) {
	for place, other := range one.calls {
		if other != waiting {
			continue
		}
		one.calls = append(append([]*call{}, one.calls[:place]...), one.calls[place+1:]...)
		waiting.cancel()
		if err := waiting.ctx.Err(); err != nil && with.answers == nil {
			with = result{nil, err}
		}
		waiting.result <- with
		return
	}
}

// end ends all calls by an answer.
func (one *queue) end(answer func(*call) (*Answers, error)) {
	for _, waiting := range one.calls {
		if err := waiting.ctx.Err(); err != nil {
			one.settle(waiting, result{nil, err})
			continue
		}
		answers, err := answer(waiting)
		one.settle(waiting, result{answers, err})
	}
}

// serve serves those that can be served, and denies those of a request that need what was denied.
func (ledger *Ledger) serve(present map[*call]bool, denials map[string]denial) {
	waits := &ledger.queue
	waits.batch *= 2
	if len(denials) > 0 {
		waits.batch = 1
	}
	for _, waiting := range waits.calls {
		if err := waiting.ctx.Err(); err != nil {
			waits.settle(waiting, result{nil, err})
			continue
		}
		view := ledger.owner.View()
		answers, lacking, err := ledger.attempt(waiting.wish, view)
		if lacking == nil {
			waits.settle(waiting, result{answers, err})
			continue
		}
		waiting.lack = lacking
		for _, of := range lacking.needs {
			denied, isDenied := denials[of.Entitlement]
			if isDenied && present[waiting] && amountOf(of.Need).Cmp(denied.need) >= 0 {
				answers, err := ledger.deny(waiting.wish, view, of.Entitlement, denied.reason)
				waits.settle(waiting, result{answers, err})
				break
			}
		}
	}
	if len(waits.calls) == 0 {
		waits.batch = 1
	}
}
