package ledger

import (
	"encoding/json"
	"math/big"
	"sort"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

// tally are amounts as an answer reads them. What is zero is not in it.
type tally = offline.Amounts

// amountOf reads an amount. What is none is zero.
func amountOf(text string) *big.Rat {
	if amount := values.Rat(text); amount != nil {
		return amount
	}
	return new(big.Rat)
}

func amountAt(of tally, entitlement, period string) *big.Rat {
	return amountOf(of[entitlement][period])
}

// takenAt is what is spent, or cannot be: reserved, or given back.
func takenAt(local *offline.Local, entitlement, period string) *big.Rat {
	withheld := plus(amountAt(local.Reserved, entitlement, period), amountAt(local.Returned, entitlement, period))
	return plus(amountAt(local.Spent, entitlement, period), withheld)
}

func plus(one, other *big.Rat) *big.Rat  { return new(big.Rat).Add(one, other) }
func minus(one, other *big.Rat) *big.Rat { return new(big.Rat).Sub(one, other) }

func least(one, other *big.Rat) *big.Rat {
	if one.Cmp(other) < 0 {
		return one
	}
	return other
}

func atLeastZero(amount *big.Rat) *big.Rat {
	if amount.Sign() < 0 {
		return new(big.Rat)
	}
	return amount
}

// add adds an amount, which may be negative, to each of the tallies.
func add(entitlement, period string, amount *big.Rat, tallies ...tally) {
	for _, one := range tallies {
		sum := plus(amountAt(one, entitlement, period), amount)
		if sum.Sign() != 0 {
			if one[entitlement] == nil {
				one[entitlement] = map[string]string{}
			}
			one[entitlement][period] = values.Text(sum)
			continue
		}
		delete(one[entitlement], period)
		if len(one[entitlement]) == 0 {
			delete(one, entitlement)
		}
	}
}

// portionsOf lists amounts in the order of their entitlements and periods.
func portionsOf(of tally) []offline.Spend {
	portions := []offline.Spend{}
	for entitlement, periods := range of {
		for period, amount := range periods {
			portions = append(portions, offline.Spend{Entitlement: entitlement, Period: period, Amount: amount})
		}
	}
	sort.Slice(portions, func(one, other int) bool {
		if portions[one].Entitlement != portions[other].Entitlement {
			return portions[one].Entitlement < portions[other].Entitlement
		}
		return portions[one].Period < portions[other].Period
	})
	return portions
}

// granted are the amounts of a tranche, which is what a signed snapshot says: what cannot be read pays nothing.
func granted(tranche *offline.Tranche) tally {
	of := tally{}
	if tranche == nil {
		return of
	}
	for entitlement, periods := range tranche.Of {
		for period, value := range values.Object(periods) {
			text, _ := values.StringOf(value)
			if number, isNumber := value.(json.Number); isNumber {
				text, _ = values.Plain(number.String())
			}
			add(entitlement, period, amountOf(text), of)
		}
	}
	return of
}
