package wire

import (
	"errors"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	initialDelayMillis = 200
	// A longer Retry-After is left to the caller.
	maxDelayMillis = 30_000
	inFlight       = "IdempotencyKey.InFlight"
)

var seconds = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// Outcome is what a failed attempt ended with. Without a response, Status is 0.
type Outcome struct {
	Status     int
	Code       string
	RetryAfter string
	// Now is when the response was sent: a date in RetryAfter counts from then.
	Now time.Time
}

// IsAway reports whether the service is away: no response, or one that says nothing about the request.
func (outcome Outcome) IsAway() bool {
	status, code := outcome.Status, outcome.Code
	return status == 0 || status == 429 || status >= 500 || code == inFlight || isForeign(code)
}

// Delay returns the milliseconds to wait before the next attempt, and false if the request is not repeated.
//
// A 429 is answered before any work is done. Without a response, and behind 502, 503 and 504, the request may have been
// executed: it is repeated only if that has the same effect. The same key still in flight is the request before.
func (outcome Outcome) Delay(attempt, retries int, isIdempotent bool, random float64) (float64, bool) {
	isGateway := outcome.Status == 502 || outcome.Status == 503 || outcome.Status == 504
	safely := outcome.Status == 0 || isGateway || outcome.Code == inFlight
	if attempt > retries || (outcome.Status != 429 && !(safely && isIdempotent)) {
		return 0, false
	}
	if requested, ok := outcome.requestedDelay(); ok {
		return requested, requested <= maxDelayMillis
	}
	return math.Min(initialDelayMillis*math.Pow(2, float64(attempt-1))*(0.5+random), maxDelayMillis), true
}

// requestedDelay returns the milliseconds that RetryAfter requests, and false if it says nothing, or a date that has passed.
func (outcome Outcome) requestedDelay() (float64, bool) {
	after := strings.TrimSpace(outcome.RetryAfter)
	if seconds.MatchString(after) {
		value, _ := strconv.ParseFloat(after, 64)
		return value * 1000, true
	}
	date, err := http.ParseTime(after)
	if err != nil || !date.After(outcome.Now) {
		return 0, false
	}
	return float64(date.Sub(outcome.Now)) / float64(time.Millisecond), true
}

// RetryAfter is how long a response wants the service to be left alone, 0 if it does not say it.
func RetryAfter(err error) time.Duration {
	var problem *ProblemError
	if !errors.As(err, &problem) {
		return 0
	}
	millis, _ := problem.outcome().requestedDelay()
	// A duration has room for 292 years.
	return time.Duration(math.Min(millis, 1e12) * float64(time.Millisecond))
}
