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
	// Returned is what is given back: no one holds it, although the snapshot says so until the service has answered.
	Returned Amounts
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
	local                                  localPart
	// texts are nil until they are kept.
	texts *figureTexts
}

// figureTexts are the amounts of an answer.
type figureTexts struct{ limit, usage, remaining, overage string }

var unlimited = big.NewRat(-1, 1)

func (one *figures) isUnlimited() bool { return one.limit != nil && compare(one.limit, unlimited) == 0 }

// requestedIn returns the requested amount, nil if the service would reject it.
func requestedIn(check Check) *big.Rat {
	amount := amountOr(check.Requested, "1")
	if amount == nil || amount.Sign() < 0 || values.Digits(values.Text(amount)) > maxDigits {
		return nil
	}
	return amount
}

// smallBits leave room for a sum in an int64.
const smallBits = 62

// wholes returns two whole numbers that are small, as most amounts are: calculating with fractions costs four times as much.
func wholes(one, other *big.Rat) (first, second int64, areWhole bool) {
	if !one.IsInt() || !other.IsInt() || one.Num().BitLen() > smallBits || other.Num().BitLen() > smallBits {
		return 0, 0, false
	}
	return one.Num().Int64(), other.Num().Int64(), true
}

func plus(one, other *big.Rat) *big.Rat {
	if first, second, areWhole := wholes(one, other); areWhole {
		return new(big.Rat).SetInt64(first + second)
	}
	return new(big.Rat).Add(one, other)
}

func minus(one, other *big.Rat) *big.Rat {
	if first, second, areWhole := wholes(one, other); areWhole {
		return new(big.Rat).SetInt64(first - second)
	}
	return new(big.Rat).Sub(one, other)
}

func compare(one, other *big.Rat) int {
	if first, second, areWhole := wholes(one, other); areWhole {
		return sign(first, second)
	}
	return one.Cmp(other)
}

func atLeastZero(amount *big.Rat) *big.Rat {
	if amount == nil || amount.Sign() < 0 {
		return new(big.Rat)
	}
	return amount
}

func least(one, other *big.Rat) *big.Rat {
	if compare(one, other) < 0 {
		return one
	}
	return other
}

// termsAt is what is known of an entitlement at an instant, in milliseconds: why nothing is allowed, and the figures of a
// NUMBER.
func (claims *Claims) termsAt(slug string, at int64, local *Local) (denial string, found *figures) {
	if terms := claims.known.get(slug); terms.areRight(claims, slug, at, local) {
		return terms.denial, terms.found
	}
	for place := range claims.Entitlements {
		entitlement := &claims.Entitlements[place]
		if entitlement.Slug != slug {
			continue
		}
		if entitlement.Type == "NUMBER" {
			found = claims.figuresAt(entitlement, at, local)
			denial = claims.denialAt(found != nil && found.limit != nil, at)
		} else {
			denial = claims.denialAt(isGranted(entitlement, at), at)
		}
		claims.known.put(slug, claims.dated(entitlement, at, denial, found))
		return denial, found
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

// usagePeriodAt returns the usage period at an instant. A lifetime begins with the license, and is its period before that too.
func (claims *Claims) usagePeriodAt(name string, at int64) *Period {
	if name == "LIFETIME" {
		if begins, isTime := values.Millis(claims.License.Start); isTime && at < begins {
			at = begins
		}
	}
	return claims.periodAt(name, at)
}

func (claims *Claims) figuresAt(entitlement *Entitlement, at int64, local *Local) *figures {
	members := entitlement.Members
	name, _ := values.StringOf(members["period"])
	period := claims.usagePeriodAt(name, at)
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
	part := claims.partOf(entitlement.Slug, start, local)
	spent, reserved, returned, mine, unspent := new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)
	if isSpent {
		spent, reserved, returned = part.amounts()
	}
	if tranche := part.tranche; tranche != nil && isSpent {
		mine = atLeastZero(amountIn(values.Object(tranche.Of[entitlement.Slug])[start]))
		if at < tranche.Until*1000 {
			unspent = atLeastZero(minus(minus(minus(mine, spent), reserved), returned))
		}
	}
	grant := grantAt(entitlement, at)
	return &figures{
		aggregation: aggregation,
		limit:       amountIn(grant["limit"]),
		percent:     atLeastZero(amountIn(grant["overagePercent"])),
		usage:       plus(minus(used, held), spent),
		// What this product spent of its own hold is usage. No other client can spend what is left of it.
		others:  atLeastZero(minus(minus(atLeastZero(minus(held, least(mine, spent))), unspent), returned)),
		unspent: unspent,
		period:  period,
		local:   part,
	}
}
