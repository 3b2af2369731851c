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
		answers.Checks = append(answers.Checks, claims.answerOne(check, millis, isInGrace, local))
	}
	return answers
}

func (claims *Claims) answerOne(check Check, at int64, isInGrace bool, local *Local) CheckAnswer {
	requested := requestedIn(check)
	reason, found := claims.termsAt(check.Entitlement, at, local)
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
	if after.Cmp(one.limit) <= 0 {
		return "GRANTED"
	}
	if hasOverage && after.Cmp(limitWithOverage(one.limit, one.percent)) <= 0 {
		return "SOFT_LIMIT"
	}
	// A tranche is a guarantee: what it pays is allowed, whatever the limit is now.
	if one.unspent.Sign() > 0 && requested.Cmp(one.unspent) <= 0 {
		if hasOverage {
			return "SOFT_LIMIT"
		}
		return "GRANTED"
	}
	return "LIMIT_REACHED"
}

func (one *figures) write(answer *CheckAnswer) {
	answer.Usage, answer.Period = values.Text(one.usage), one.period
	switch {
	case one.limit == nil:
	case one.isUnlimited():
		answer.Limit, answer.Remaining, answer.Overage = "-1", "-1", "0"
	default:
		answer.Limit = values.Text(one.limit)
		answer.Remaining = values.Text(atLeastZero(minus(minus(one.limit, one.usage), one.others)))
		answer.Overage = values.Text(atLeastZero(minus(one.usage, one.limit)))
	}
}
