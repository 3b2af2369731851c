package keyshelf

import (
	"time"

	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

// checksOf are checks as the engine reads them.
func checksOf(checks []Check) []offline.Check {
	asked := make([]offline.Check, len(checks))
	for place, check := range checks {
		asked[place] = offline.Check{Entitlement: check.Entitlement, Requested: string(check.requested())}
	}
	return asked
}

// snapshotResult answers checks by the snapshot of a view.
func snapshotResult(checks []Check, view local.View) *CheckResult {
	return answersResult(view.Answer(checksOf(checks)), view.At, view.Age, FromSnapshot)
}

// answersResult is the result of answers of the engine.
func answersResult(answers offline.Answers, at time.Time, age time.Duration, source Source) *CheckResult {
	at = at.UTC()
	result := &CheckResult{
		Instance: answers.Instance, License: answers.License, At: &at, GraceEndsAt: timeOf(answers.GraceEndsAt),
		Checks: make([]Answer, len(answers.Checks)), Confirmed: source != FromPolicy,
	}
	for place, one := range answers.Checks {
		answer := Answer{
			Entitlement: one.Entitlement, Allowed: one.Allowed, Reason: one.Reason,
			Limit: Amount(one.Limit), Usage: Amount(one.Usage), Remaining: Amount(one.Remaining), Overage: Amount(one.Overage),
			Source: source, Age: age,
		}
		if one.Period != nil {
			answer.CurrentPeriodStart, answer.CurrentPeriodEnd = timeOf(one.Period.Start), timeOf(one.Period.End)
		}
		result.Checks[place] = answer
	}
	return result
}

// timeOf reads an instant of the engine, nil where there is none.
func timeOf(text string) *time.Time {
	millis, isTime := values.Millis(text)
	if !isTime {
		return nil
	}
	at := time.UnixMilli(millis).UTC()
	return &at
}
