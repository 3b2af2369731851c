// Package backoff says how long a client leaves the service alone after a failure, the same in all languages.
package backoff

import (
	"math"
	"time"
)

const (
	maxDelay = time.Minute
	// A longer Retry-After would keep a product from news for too long.
	maxRetryAfter = 5 * time.Minute
)

// Retry is, after the first failure, the named time; then twice as long each time, up to a minute and by up to 25 % more
// or less.
func Retry(failures int, first time.Duration, random float64) time.Duration {
	if failures <= 1 {
		return first
	}
	delay := math.Min(float64(maxDelay), float64(first)*math.Pow(2, float64(failures-1)))
	return time.Duration(delay * (0.75 + random/2))
}

// Polite also leaves the service alone for as long as it wants.
func Polite(delay, retryAfter time.Duration) time.Duration {
	if retryAfter > maxRetryAfter {
		retryAfter = maxRetryAfter
	}
	if retryAfter > delay {
		return retryAfter
	}
	return delay
}
