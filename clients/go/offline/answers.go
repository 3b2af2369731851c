package offline

import (
	"math/big"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

// CheckAnswer is the answer to one check. Amounts are decimal texts, empty where nothing is counted.
type CheckAnswer struct {
	Entitlement string
	Allowed     bool
	// Reason is that of a check by the service, or INVALID_REQUEST: an amount is negative, no decimal, or has more than 18
	// digits.
	Reason string
	// Limit and Remaining are "-1" if unlimited.
	Limit, Usage, Remaining, Overage string
	// Period is nil where nothing is counted.
	Period *Period
}

// Answers are the answers to checks, in their order.
type Answers struct {
	Instance, License string
	At                string
	// GraceEndsAt is when access ends, if the license is in its grace period; else empty.
	GraceEndsAt string
	Checks      []CheckAnswer
}

func millisOrNow(at time.Time) int64 {
	if at.IsZero() {
		at = time.Now()
	}
	return at.UnixMilli()
}

// Answer answers checks without a request, by a snapshot or bundle that was just verified as Valid. A zero time is the clock of
// the machine; local is nil without a ledger. What cannot be read is not allowed.
func (claims *Claims) Answer(checks []Check, at time.Time, local *Local) Answers {
	return claims.answersTo(checks, at, local, nil)
}

// AnswerInOrder answers the checks of a consumption, each after what the allowed ones before it use. The figures are those before
// all of them.
func (claims *Claims) AnswerInOrder(checks []Check, at time.Time, local *Local) Answers {
	return claims.answersTo(checks, at, local, map[string]*big.Rat{})
}

// answersTo answers checks. uses are those of the checks before, by their entitlements; nil if each is alone.
func (claims *Claims) answersTo(checks []Check, at time.Time, local *Local, uses map[string]*big.Rat) Answers {
	millis := millisOrNow(at)
	answers := Answers{
		Instance: claims.Instance.Slug, License: claims.License.Slug, At: values.InstantText(millis), Checks: []CheckAnswer{},
	}
	termEnd, hasTermEnd := values.Millis(claims.License.TermEnd)
	end, hasEnd := values.Millis(claims.License.End)
	isInGrace := hasTermEnd && hasEnd && millis >= termEnd && millis < end
	if isInGrace {
		answers.GraceEndsAt = values.InstantText(end)
	}
	for _, check := range checks {
		answers.Checks = append(answers.Checks, claims.answerOne(check, millis, isInGrace, local, uses))
	}
	return answers
}

func (claims *Claims) answerOne(check Check, at int64, isInGrace bool, local *Local, uses map[string]*big.Rat) CheckAnswer {
	requested := requestedIn(check)
	reason, found := claims.termsAt(check.Entitlement, at, local)
	if uses != nil && requested != nil && found != nil {
		if found.aggregation == "COUNT" {
			// It counts the use itself, whatever amount it has.
			requested = big.NewRat(1, 1)
		}
		requested = plus(requested, atLeastZero(uses[check.Entitlement]))
	}
	switch {
	case requested == nil:
		reason = "INVALID_REQUEST"
	case reason == "" && found == nil:
		reason = "GRANTED"
	case reason == "":
		reason = found.reasonFor(requested)
	}
	answer := CheckAnswer{Entitlement: check.Entitlement, Reason: reason}
	answer.Allowed = reason == "GRANTED" || reason == "UNLIMITED" || reason == "SOFT_LIMIT"
	if answer.Allowed && uses != nil {
		uses[check.Entitlement] = requested
	}
	if answer.Allowed && isInGrace {
		answer.Reason = "IN_GRACE"
	}
	if found != nil {
		found.write(&answer)
	}
	return answer
}

func (one *figures) reasonFor(requested *big.Rat) string {
	if one.isUnlimited() {
		return "UNLIMITED"
	}
	after := plus(plus(one.usage, one.others), requested)
	hasOverage := one.percent.Sign() > 0
	if compare(after, one.limit) <= 0 {
		return "GRANTED"
	}
	if hasOverage && compare(after, limitWithOverage(one.limit, one.percent)) <= 0 {
		return "SOFT_LIMIT"
	}
	// A tranche is a guarantee: what it pays is allowed, whatever the limit is now.
	if one.unspent.Sign() > 0 && compare(requested, one.unspent) <= 0 {
		if hasOverage {
			return "SOFT_LIMIT"
		}
		return "GRANTED"
	}
	return "LIMIT_REACHED"
}

func (one *figures) write(answer *CheckAnswer) {
	texts := one.texts
	if texts == nil {
		texts = one.written()
	}
	answer.Limit, answer.Usage, answer.Remaining, answer.Overage = texts.limit, texts.usage, texts.remaining, texts.overage
	if one.period != nil {
		// The caller may change its own.
		period := *one.period
		answer.Period = &period
	}
}

func (one *figures) written() *figureTexts {
	texts := &figureTexts{usage: values.Text(one.usage)}
	switch {
	case one.limit == nil:
	case one.isUnlimited():
		texts.limit, texts.remaining, texts.overage = "-1", "-1", "0"
	default:
		texts.limit = values.Text(one.limit)
		texts.remaining = values.Text(atLeastZero(minus(minus(one.limit, one.usage), one.others)))
		texts.overage = values.Text(atLeastZero(minus(one.usage, one.limit)))
	}
	return texts
}
