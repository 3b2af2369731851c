package offline

import "time"

// Status is the answer about a bundle: Valid, or the first step that failed.
type Status string

// The statuses, in the order of the steps.
const (
	Valid              Status = "VALID"
	Malformed          Status = "MALFORMED"
	UnknownKey         Status = "UNKNOWN_KEY"
	BadSignature       Status = "BAD_SIGNATURE"
	Unsupported        Status = "UNSUPPORTED"
	WrongIssuer        Status = "WRONG_ISSUER"
	WrongInstance      Status = "WRONG_INSTANCE"
	WrongLicense       Status = "WRONG_LICENSE"
	RevocationsInvalid Status = "REVOCATIONS_INVALID"
	Revoked            Status = "REVOKED"
	Superseded         Status = "SUPERSEDED"
	NotBound           Status = "NOT_BOUND"
	ClockBehind        Status = "CLOCK_BEHIND"
	LicenseNotStarted  Status = "LICENSE_NOT_STARTED"
	LicenseExpired     Status = "LICENSE_EXPIRED"
	BundleExpired      Status = "BUNDLE_EXPIRED"
	RevocationsStale   Status = "REVOCATIONS_STALE"
)

// LearnedKey is a key that a bundle named, with the id of the key that signed that bundle.
type LearnedKey struct {
	X  string `json:"x"`
	By string `json:"by"`
}

// State is what a product stores from one verification to the next, as JSON, where its users do not write.
type State struct {
	Subject  string `json:"sub"`
	KeyID    string `json:"kid"`
	Sequence int64  `json:"seq"`
	// Latest is the latest time seen, in seconds since 1970. A running product advances it by its monotonic clock.
	Latest      int64                 `json:"latest"`
	Revocations int64                 `json:"revocations"`
	Voided      int64                 `json:"voided"`
	Keys        map[string]LearnedKey `json:"keys"`
}

// Options say how a bundle is verified.
type Options struct {
	// Keys are part of the product. KeySet reads those that the service publishes.
	Keys Keys
	// Issuer is urn:keyshelf:organization:<id> of the vendor.
	Issuer string
	// State is what the last verification returned, nil at first.
	State *State
	// Now is the clock. The default is that of the machine.
	Now time.Time
	// Instance is the id or slug of this installation; any if it is empty.
	Instance string
	// Families are the license families of this product; any if it is nil.
	Families []string
	// Fingerprints are those of this machine.
	Fingerprints []string
	// Revocations is the text of a revocation list, nil if there is none.
	Revocations *string
	// RequireRevocations demands a list that has not expired.
	RequireRevocations bool
}

// Answer is the answer about a bundle. Store State whenever it differs from what you passed.
type Answer struct {
	Status   Status
	RenewDue bool
	// Claims are those of a valid bundle.
	Claims *Claims
	// Rejected are the claims of a bundle with a good signature that is not valid, to show them. They grant nothing.
	Rejected *Claims
	State    *State
}
