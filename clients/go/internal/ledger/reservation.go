package ledger

import (
	"context"
	"errors"
	"math/big"
	"time"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

var errTooMuch = errors.New("keyshelf: a commit is 0 or more, and at most what is reserved")

// Reservation is set aside in memory, for work whose cost is known afterwards. A crash ends it.
type Reservation struct {
	ledger *Ledger
	spends []offline.Spend
	// at is when it was reserved: it counts in the period of then.
	at     time.Time
	cancel func()
}

// Reserve sets amounts aside for a time, as Consume spends them. What is denied is no reservation.
func (ledger *Ledger) Reserve(ctx context.Context, wish Wish, ttl time.Duration) (*Answers, *Reservation, error) {
	reserved := &Reservation{ledger: ledger}
	wish.hold = func(spends []offline.Spend) {
		reserved.spends = spends
		reserved.holdAll(1)
	}
	answers, err := ledger.Consume(ctx, wish)
	ledger.lock()
	defer ledger.unlock()
	if err != nil || !answers.isAllowed() {
		reserved.holdAll(-1)
		return answers, nil, err
	}
	reserved.at = answers.At
	reserved.cancel = ledger.options.Clock.After(ttl, func() { reserved.Release() })
	ledger.reservations[reserved] = true
	if ledger.isClosed {
		reserved.end()
	}
	return answers, reserved, nil
}

// holdAll sets the amounts aside, or frees them again.
func (one *Reservation) holdAll(sign int64) {
	for _, spend := range one.spends {
		one.ledger.hold(spend.Entitlement, spend.Period, new(big.Rat).Mul(amountOf(spend.Amount), big.NewRat(sign, 1)))
	}
}

// end frees what is set aside, and reports whether the reservation was open.
func (one *Reservation) end() bool {
	if !one.ledger.reservations[one] {
		return false
	}
	delete(one.ledger.reservations, one)
	one.cancel()
	one.holdAll(-1)
	one.ledger.noteSpent()
	return true
}

// Release frees what is set aside, and reports whether the reservation was open.
func (one *Reservation) Release() bool {
	one.ledger.lock()
	defer one.ledger.unlock()
	return one.end()
}

// Commit spends what was used, at most what is set aside, and frees the rest. It reports whether the reservation was open.
func (one *Reservation) Commit(used string) (isOpen bool, err error) {
	if isOpen, err = one.commit(amountOf(used)); isOpen && err == nil && one.ledger.options.FlushAlways {
		err = one.ledger.store.sync()
	}
	return isOpen, err
}

func (one *Reservation) commit(used *big.Rat) (isOpen bool, err error) {
	one.ledger.lock()
	defer one.ledger.unlock()
	spend := make([]offline.Spend, len(one.spends))
	for place, reserved := range one.spends {
		if used.Sign() < 0 || used.Cmp(amountOf(reserved.Amount)) > 0 {
			return false, errTooMuch
		}
		spend[place] = offline.Spend{Entitlement: reserved.Entitlement, Period: reserved.Period, Amount: values.Text(used)}
	}
	if !one.ledger.reservations[one] {
		return false, nil
	}
	// Written before the units are free.
	if used.Sign() > 0 && len(spend) > 0 {
		if err := one.ledger.write(one.at, spendRecord{spend, one.at.UnixMilli(), ""}); err != nil {
			return true, err
		}
	}
	return one.end(), nil
}

func (ledger *Ledger) endReservations() {
	for one := range ledger.reservations {
		one.end()
	}
}
