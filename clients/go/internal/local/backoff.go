package local

import "time"

// How long a client waits, the same in all languages.

const (
	// firstRetry is the delay after the first failure, unless a stream named another one.
	firstRetry = time.Second
	// maxFrameDelay spreads the fetches of products to which a frame was sent at once.
	maxFrameDelay = 200 * time.Millisecond
	// refreshEvery is how old an answer of a live client may get about what no frame reports, such as usage.
	refreshEvery = 5 * time.Minute
	// storeEvery is how often the time is stored, so that a clock that is set back is noticed.
	storeEvery = time.Minute
	// openWithin is how long the first fetch waits for the stream.
	openWithin = 500 * time.Millisecond
	// askRevokedEvery is how often a product whose access was ended asks whether it is back.
	askRevokedEvery = time.Minute
	// joinWithin is how long instances that start together are collected before the stream is opened for all of them.
	joinWithin = time.Second
	// longestSleep bounds the timer: a machine may sleep.
	longestSleep = time.Hour
)

func scaled(delay time.Duration, factor float64) time.Duration {
	return time.Duration(float64(delay) * factor)
}

// spread is up to 10 % more or less, so that clients that were started together do not stay together.
func spread(delay time.Duration, random float64) time.Duration {
	return scaled(delay, 0.9+random/5)
}
