package offline

import (
	"math/big"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

// Spend is an amount to write down.
type Spend struct {
	Entitlement string
	// Period is the start of its period.
	Period string
	Amount string
}

// Refill is all that the checks need of an entitlement whose tranche does not pay it.
type Refill struct{ Entitlement, Period, Need string }

// Cover says whether checks can be consumed without a request: all of them, or none.
type Cover struct {
	// Denied is why they cannot be consumed at all, of the Entitlement; else empty.
	Denied, Entitlement string
	// Refill is what a refill must grant; else nil.
	Refill []Refill
	// Spends are to be written down before you go on.
	Spends []Spend
}

type item struct {
	slug, fault string
	figures     *figures
	amount      *big.Rat
}

// isConsumable is false for seats, and for what is measured in other ways.
func (one *figures) isConsumable() bool {
	return one.period != nil && (one.aggregation == "SUM" || one.aggregation == "COUNT")
}

// itemAt reads a check.
func (claims *Claims) itemAt(check Check, at int64, local *Local) item {
	denial, found := claims.termsAt(check.Entitlement, at, local)
	read := item{slug: check.Entitlement, fault: denial, figures: found, amount: requestedIn(check)}
	if found != nil && denial == "" && !found.isConsumable() {
		read.fault = "INVALID_REQUEST"
	}
	if read.amount == nil {
		read.fault = "INVALID_REQUEST"
	} else if found != nil && found.aggregation == "COUNT" {
		// A COUNT counts the use itself, whatever amount it has.
		read.amount = big.NewRat(1, 1)
	}
	return read
}

// Cover says whether checks can be consumed without a request, by a snapshot that was just verified as Valid and what this
// product spent. A zero time is the clock of the machine.
func (claims *Claims) Cover(checks []Check, at time.Time, local *Local) Cover {
	millis := millisOrNow(at)
	items := make([]item, 0, len(checks))
	for _, check := range checks {
		items = append(items, claims.itemAt(check, millis, local))
	}
	var denied *item
	for place := range items {
		one := &items[place]
		if one.fault == "INVALID_REQUEST" {
			return Cover{Denied: one.fault, Entitlement: one.slug}
		}
		if one.fault != "" && denied == nil {
			denied = one
		}
	}
	if denied != nil {
		return Cover{Denied: denied.fault, Entitlement: denied.slug}
	}
	if refill := refillOf(items); len(refill) > 0 {
		return Cover{Refill: refill}
	}
	spends := []Spend{}
	for _, one := range items {
		if one.figures != nil && one.amount.Sign() > 0 {
			spends = append(spends, Spend{one.slug, one.figures.period.Start, values.Text(one.amount)})
		}
	}
	return Cover{Spends: spends}
}

// refillOf is what all items of each entitlement need, where its tranche does not pay it.
func refillOf(items []item) []Refill {
	needs := map[string]*big.Rat{}
	for _, one := range items {
		need := atLeastZero(needs[one.slug])
		needs[one.slug] = plus(need, one.amount)
	}
	var refill []Refill
	for _, one := range items {
		need, isFirst := needs[one.slug]
		delete(needs, one.slug)
		if !isFirst || one.figures == nil || one.figures.isUnlimited() || need.Cmp(one.figures.unspent) <= 0 {
			continue
		}
		refill = append(refill, Refill{one.slug, one.figures.period.Start, values.Text(need)})
	}
	return refill
}

// Spendable is what a tranche can pay of an entitlement: its period, and what is unspent of it. It is false for what is not
// granted, has no limit, or is neither a SUM nor a COUNT.
func (claims *Claims) Spendable(slug string, at time.Time, local *Local) (period Period, unspent string, isSpendable bool) {
	denial, found := claims.termsAt(slug, millisOrNow(at), local)
	if denial != "" || found == nil || !found.isConsumable() || found.limit == nil || found.isUnlimited() {
		return Period{}, "", false
	}
	return *found.period, values.Text(found.unspent), true
}

// WithTranche returns the claims with another tranche, or with none: a snapshot that came after the last refill has none, and the
// tranche of that one still pays.
func (claims *Claims) WithTranche(tranche *Tranche) *Claims {
	other := *claims
	other.Tranche, other.known = tranche, newKnown()
	return &other
}
