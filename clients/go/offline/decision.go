package offline

import (
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

// Request is how much of what is requested. Amounts are decimal texts.
type Request struct {
	// Entitlement is its slug.
	Entitlement string
	// Used is what this product used in the current period since the bundle was issued; with an allowance, in the whole
	// period. The default is "0".
	Used string
	// Requested is how much more. "0" asks whether usage is within the limit. The default is "1".
	Requested string
	// At is when. The default is the clock of the machine.
	At time.Time
}

// Decision says whether a product may use an entitlement.
type Decision struct {
	Allowed bool
	// Reason is GRANTED, UNLIMITED, SOFT_LIMIT, LIMIT_REACHED, NOT_GRANTED, or INVALID_REQUEST if an amount of the request
	// is negative or not a decimal.
	Reason string
	// Remaining is what is left before the request; "-1" if unlimited, empty where nothing is counted.
	Remaining string
}

// Period is the time from Start to before End, as ISO 8601 texts. End is empty where the bundle names none.
type Period struct{ Start, End string }

var notGranted = Decision{Reason: "NOT_GRANTED"}

// PeriodAt returns the period of a name, such as MONTH/CALENDAR, that contains an instant, nil if the bundle names none.
func (claims *Claims) PeriodAt(period string, at time.Time) *Period {
	return claims.periodAt(period, at.UnixMilli())
}

func (claims *Claims) periodAt(period string, millis int64) *Period {
	named := values.Object(claims.Periods[period])
	starts, isListed := startsOf(named["starts"])
	if !isListed {
		starts = around(named, millis)
	}
	var start, end *int64
	for place := range starts {
		one := &starts[place]
		if *one <= millis && (start == nil || *one > *start) {
			start = one
		}
		if *one > millis && (end == nil || *one < *end) {
			end = one
		}
	}
	if start == nil {
		return nil
	}
	found := Period{Start: values.InstantText(*start)}
	if end != nil {
		found.End = values.InstantText(*end)
	}
	return &found
}

// startsOf reads a list of starts. With one that is not a time, the order is unknown and there are none.
func startsOf(value any) ([]int64, bool) {
	list, isList := value.([]any)
	var starts []int64
	for _, one := range list {
		text, _ := values.StringOf(one)
		millis, ok := values.Millis(text)
		if !ok {
			return nil, true
		}
		starts = append(starts, millis)
	}
	return starts, isList
}

// around returns the starts of periods of a fixed length around an instant.
func around(named map[string]any, at int64) []int64 {
	text, _ := values.StringOf(named["from"])
	from, isTime := values.Millis(text)
	every, isCount := values.Count(named["every"])
	if !isTime || !isCount || every == 0 || every > values.MaxSafe/1000 || at < from {
		return nil
	}
	start := at - (at-from)%(every*1000)
	return []int64{start, start + every*1000}
}

// Decide decides without a service, by the claims of a bundle that was just verified as Valid. The cap holds only as far
// as this product alone uses the instance, unless the entitlement has an allowance.
func (claims *Claims) Decide(request Request) Decision {
	for _, entitlement := range claims.Entitlements {
		if entitlement.Slug != request.Entitlement {
			continue
		}
		value := entitlement.Members["value"]
		switch entitlement.Type {
		case "NUMBER":
			return claims.decideNumber(entitlement.Members, request)
		case "BOOLEAN":
			if value == true {
				return Decision{Allowed: true, Reason: "GRANTED"}
			}
		case "CONFIG":
			if values.Object(value) != nil {
				return Decision{Allowed: true, Reason: "GRANTED"}
			}
		}
		break
	}
	return notGranted
}

func (claims *Claims) decideNumber(members map[string]any, request Request) Decision {
	used, requested := amountOr(request.Used, "0"), amountOr(request.Requested, "1")
	if used == nil || requested == nil || used.Sign() < 0 || requested.Sign() < 0 {
		return Decision{Reason: "INVALID_REQUEST"}
	}
	if given := members["allowance"]; given != nil {
		if allowance := amountIn(given); allowance != nil {
			return within(allowance, allowance, used, requested)
		}
		return notGranted
	}
	limit := amountIn(members["limit"])
	if limit != nil && limit.Cmp(big.NewRat(-1, 1)) == 0 {
		return Decision{Allowed: true, Reason: "UNLIMITED", Remaining: "-1"}
	}
	before := claims.usedAtIssue(members, request.At)
	if limit == nil || before == nil {
		return notGranted
	}
	highest := limit
	if percent := amountIn(members["overagePercent"]); percent != nil && percent.Sign() > 0 {
		highest = limitWithOverage(limit, percent)
	}
	return within(limit, highest, before.Add(before, used), requested)
}

func limitWithOverage(limit, percent *big.Rat) *big.Rat {
	factor := new(big.Rat).Quo(new(big.Rat).Add(big.NewRat(100, 1), percent), big.NewRat(100, 1))
	return new(big.Rat).Mul(limit, factor)
}

// usedAtIssue is what counts of the usage at issue: all of it in its period, nothing in another one. In doubt it counts.
func (claims *Claims) usedAtIssue(members map[string]any, at time.Time) *big.Rat {
	if at.IsZero() {
		at = time.Now()
	}
	name, _ := values.StringOf(members["period"])
	text, _ := values.StringOf(members["usedFrom"])
	from, isTime := values.Millis(text)
	if period := claims.PeriodAt(name, at); period != nil && isTime {
		if start, _ := values.Millis(period.Start); start != from {
			return new(big.Rat)
		}
	}
	return amountIn(members["used"])
}

func within(limit, highest, used, requested *big.Rat) Decision {
	after := new(big.Rat).Add(used, requested)
	decision := Decision{Allowed: after.Cmp(highest) <= 0, Reason: "LIMIT_REACHED", Remaining: "0"}
	if after.Cmp(limit) <= 0 {
		decision.Reason = "GRANTED"
	} else if decision.Allowed {
		decision.Reason = "SOFT_LIMIT"
	}
	if used.Cmp(limit) < 0 {
		decision.Remaining = values.Text(new(big.Rat).Sub(limit, used))
	}
	return decision
}

func amountOr(text, otherwise string) *big.Rat {
	if text == "" {
		text = otherwise
	}
	return values.Rat(text)
}

// amountIn returns the decimal of a text, or of a number as it is printed: careless issuers write amounts as numbers.
func amountIn(value any) *big.Rat {
	if number, isNumber := value.(json.Number); isNumber {
		plain, _ := values.Plain(number.String())
		return values.Rat(plain)
	}
	text, _ := values.StringOf(value)
	return values.Rat(text)
}

// Fingerprint is the fingerprint of a component of the machine, such as mac:8c:2e:3f:1a:4b:77, for an instance. The
// component cannot be read from it, and another instance has another one.
func Fingerprint(instanceID, component string) string {
	return hashOf("keyshelf-binding\n" + instanceID + "\n" + component)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64url.EncodeToString(sum[:])
}
