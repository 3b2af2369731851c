package offline

import (
	"math/big"

	"keyshelf.example/keyshelf/internal/values"
)

// maxDigits are the digits of an amount that the service can count, before and after its point together.
const maxDigits = 18

// Check is how much of what is requested.
type Check struct {
	// Entitlement is its slug.
	Entitlement string
	// Requested is how much more, as a decimal text. "0" asks whether usage is within the limit. The default is "1".
	Requested string
}

// Amounts are decimal texts, by entitlement and by the start of its period.
type Amounts map[string]map[string]string

// Local is what this product spent and did not settle yet.
type Local struct {
	// Source is the ledger: urn:keyshelf:ledger:<id>.
	Source string
	// Positions are those that the ledger had. A tranche of another position pays nothing.
	Positions []Position
	// Spent is what was spent since the position of the tranche.
	Spent Amounts
	// Reserved is what is set aside for work in flight.
	Reserved Amounts
}

// Tranche is what the holder of a ledger may still spend without a request.
type Tranche struct {
	Source string
	// Position is the one of the ledger that these amounts are of.
	Position Position
	// Until is from when on nothing can be spent, in seconds since 1970.
	Until int64
	Of    map[string]any
}

// figures of a NUMBER. Without a limit it is not granted.
type figures struct {
	aggregation                            string
	limit, percent, usage, others, unspent *big.Rat
	period                                 *Period
}

var unlimited = big.NewRat(-1, 1)

func (one *figures) isUnlimited() bool { return one.limit != nil && one.limit.Cmp(unlimited) == 0 }

// requestedIn returns the requested amount, nil if the service would reject it.
func requestedIn(check Check) *big.Rat {
	amount := amountOr(check.Requested, "1")
	if amount == nil || amount.Sign() < 0 || values.Digits(values.Text(amount)) > maxDigits {
		return nil
	}
	return amount
}

func plus(one, other *big.Rat) *big.Rat { return new(big.Rat).Add(one, other) }

func minus(one, other *big.Rat) *big.Rat { return new(big.Rat).Sub(one, other) }

func atLeastZero(amount *big.Rat) *big.Rat {
	if amount == nil || amount.Sign() < 0 {
		return new(big.Rat)
	}
	return amount
}

func least(one, other *big.Rat) *big.Rat {
	if one.Cmp(other) < 0 {
		return one
	}
	return other
}

// termsAt is what is known of an entitlement at an instant, in milliseconds: why nothing is allowed, and the figures of a
// NUMBER.
func (claims *Claims) termsAt(slug string, at int64, local *Local) (denial string, found *figures) {
	for place := range claims.Entitlements {
		entitlement := &claims.Entitlements[place]
		if entitlement.Slug != slug {
			continue
		}
		if entitlement.Type == "NUMBER" {
			found = claims.figuresAt(entitlement, at, local)
			return claims.denialAt(found != nil && found.limit != nil, at), found
		}
		return claims.denialAt(isGranted(entitlement, at), at), nil
	}
	if claims.Complete {
		return "ENTITLEMENT_NOT_FOUND", nil
	}
	return "NOT_GRANTED", nil
}

func (claims *Claims) denialAt(isGranted bool, at int64) string {
	if start, isTime := values.Millis(claims.License.Start); !isTime || at < start {
		return "LICENSE_NOT_STARTED"
	}
	if claims.License.End != "" {
		if end, isTime := values.Millis(claims.License.End); !isTime || at >= end {
			return "LICENSE_EXPIRED"
		}
	}
	if !isGranted {
		return "NOT_GRANTED"
	}
	return ""
}

// grantAt returns the last grant that has begun, else the entry itself.
func grantAt(entitlement *Entitlement, at int64) map[string]any {
	grants := values.List(entitlement.Members["grants"])
	for place := len(grants) - 1; place >= 0; place-- {
		grant := values.Object(grants[place])
		text, _ := values.StringOf(grant["from"])
		if from, isTime := values.Millis(text); isTime && from <= at {
			return grant
		}
	}
	return entitlement.Members
}

func isGranted(entitlement *Entitlement, at int64) bool {
	value := grantAt(entitlement, at)["value"]
	if entitlement.Type == "BOOLEAN" {
		return value == true
	}
	return entitlement.Type == "CONFIG" && values.Object(value) != nil
}

// trancheFor returns the tranche of the claims, if this ledger was at its position.
func (claims *Claims) trancheFor(local *Local) *Tranche {
	if claims.Tranche == nil || local == nil || local.Source != claims.Tranche.Source {
		return nil
	}
	for _, position := range local.Positions {
		if position == claims.Tranche.Position {
			return claims.Tranche
		}
	}
	return nil
}

func (claims *Claims) figuresAt(entitlement *Entitlement, at int64, local *Local) *figures {
	members := entitlement.Members
	name, _ := values.StringOf(members["period"])
	period := claims.periodAt(name, at)
	start := ""
	if period != nil {
		start = period.Start
	}
	used, held := amountIn(members["used"]), amountIn(members["held"])
	text, _ := values.StringOf(members["usedFrom"])
	from, isTime := values.Millis(text)
	// Usage and holds of another period are none of this one. In doubt they count.
	if begun, isKnown := values.Millis(start); isKnown && isTime && begun != from {
		used, held = new(big.Rat), nil
	}
	if used == nil {
		return nil
	}
	if held == nil {
		held = new(big.Rat)
	}
	aggregation, _ := values.StringOf(members["aggregation"])
	isSpent := aggregation == "SUM" || aggregation == "COUNT"
	amountFor := func(amounts Amounts) *big.Rat {
		if !isSpent {
			return new(big.Rat)
		}
		return atLeastZero(values.Rat(amounts[entitlement.Slug][start]))
	}
	spent, reserved, mine, unspent := new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)
	if local != nil {
		spent, reserved = amountFor(local.Spent), amountFor(local.Reserved)
	}
	if tranche := claims.trancheFor(local); tranche != nil && isSpent {
		mine = atLeastZero(amountIn(values.Object(tranche.Of[entitlement.Slug])[start]))
		if at < tranche.Until*1000 {
			unspent = atLeastZero(minus(minus(mine, spent), reserved))
		}
	}
	grant := grantAt(entitlement, at)
	return &figures{
		aggregation: aggregation,
		limit:       amountIn(grant["limit"]),
		percent:     atLeastZero(amountIn(grant["overagePercent"])),
		usage:       plus(minus(used, held), spent),
		// What this product spent of its own hold is usage. No other client can spend what is left of it.
		others:  atLeastZero(minus(atLeastZero(minus(held, least(mine, spent))), unspent)),
		unspent: unspent,
		period:  period,
	}
}
