// Package offline verifies offline bundles without a service, and keeps ledgers of usage. It uses the standard library
// alone. The steps and their order are those of docs/offline-verifier.md.
package offline

import (
	"errors"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

const (
	maxLength = 262_144
	// An organization can have many revoked instances, so a list may be larger than a bundle.
	maxListLength = 1 << 24
	// maxBehind is how many seconds a clock may be behind the latest time seen.
	maxBehind = 86_400
)

// Verify verifies a bundle. For any arguments, the answer says what is wrong.
func Verify(token string, options Options) Answer {
	answer := Answer{State: options.State}
	err := verify(token, options, &answer)
	if err == nil {
		answer.Status, answer.Claims, answer.Rejected = Valid, answer.Rejected, nil
		return answer
	}
	answer.Status = statusOf(err)
	return answer
}

func statusOf(err error) Status {
	var failed fault
	if errors.As(err, &failed) {
		return Status(failed)
	}
	return Malformed
}

func verify(token string, options Options, answer *Answer) error {
	var learned map[string]LearnedKey
	if options.State != nil {
		learned = options.State.Keys
	}
	ring := keyring{options.Keys, learned}
	opened, err := open(token, "keyshelf-bundle+jwt", maxLength, ring)
	if err != nil {
		return err
	}
	claims, err := claimsOf(opened.claims)
	if err != nil {
		return err
	}
	answer.Rejected = &claims

	isInstance := options.Instance == "" || options.Instance == claims.Subject || options.Instance == claims.Instance.Slug
	isFamily := options.Families == nil || contains(options.Families, claims.License.Family)
	err = first(
		check(claims.Issuer == options.Issuer, WrongIssuer),
		check(isInstance, WrongInstance),
		check(isFamily, WrongLicense))
	if err != nil {
		return err
	}

	memory := memoryOf(options.State, claims.Subject, opened, ring)
	list, err := listed(options, ring, memory)
	if err != nil {
		return err
	}
	before := memory.Sequence
	if list != nil {
		memory.Revocations = list.Number
		for _, entry := range list.Revoked {
			if entry.Subject == claims.Subject && entry.Sequence > memory.Voided {
				memory.Voided = entry.Sequence
			}
		}
	}
	if claims.Sequence <= memory.Voided {
		answer.State = &memory
		return fault(Revoked)
	}

	clock := options.Now
	if clock.IsZero() {
		clock = time.Now()
	}
	now := clock.Unix()
	at := greatest(now, claims.IssuedAt)
	if claims.Sequence == before {
		at = greatest(at, memory.Latest)
	}
	start, _ := values.Millis(claims.License.Start)
	end, hasEnd := values.Millis(claims.License.End)
	err = first(
		check(claims.Sequence >= before, Superseded),
		check(isBound(claims.Binding, options.Fingerprints), NotBound),
		check(at-now <= maxBehind, ClockBehind),
		check(at >= claims.NotBefore && at*1000 >= start, LicenseNotStarted),
		check(!hasEnd || at*1000 < end, LicenseExpired),
		check(at < claims.Expires, BundleExpired),
		check(!options.RequireRevocations || (list != nil && at < list.Expires), RevocationsStale))
	if err != nil {
		return err
	}

	memory.KeyID, memory.Sequence, memory.Latest = opened.kid, claims.Sequence, at
	if kid, x, isKey := keyOf(claims.Next); isKey {
		if _, isKnown := ring.find(kid); !isKnown {
			keys := map[string]LearnedKey{kid: {x, opened.kid}}
			for other, key := range memory.Keys {
				if other != kid {
					keys[other] = key
				}
			}
			memory.Keys = keys
		}
	}
	answer.State = &memory
	answer.RenewDue = at >= claims.RenewAt
	return nil
}

// memoryOf is what a state says. It counts only if it is of this instance, and its key is still trusted. Its learned
// keys stay if the bundle's own key is one of them.
func memoryOf(state *State, subject string, opened opened, ring keyring) State {
	memory := State{Subject: subject, KeyID: opened.kid, Keys: map[string]LearnedKey{}}
	if state == nil {
		return memory
	}
	_, isTrusted := ring.find(state.KeyID)
	counts := state.Subject == subject && isTrusted
	if counts {
		memory.KeyID = state.KeyID
		memory.Sequence, memory.Latest = greatest(state.Sequence, 0), greatest(state.Latest, 0)
		memory.Revocations, memory.Voided = greatest(state.Revocations, 0), greatest(state.Voided, 0)
	}
	if (counts || !opened.key.isPinned) && state.Keys != nil {
		memory.Keys = state.Keys
	}
	return memory
}

// listed opens the revocation list of the options, nil if there is none.
func listed(options Options, ring keyring, memory State) (*RevocationList, error) {
	if options.Revocations == nil {
		return nil, nil
	}
	list, err := openList(*options.Revocations, ring, options.Issuer)
	if err != nil || list.Number < memory.Revocations {
		return nil, fault(RevocationsInvalid)
	}
	return &list, nil
}

func openList(text string, ring keyring, issuer string) (RevocationList, error) {
	opened, err := open(text, "keyshelf-revocations+jwt", maxListLength, ring)
	if err != nil {
		return RevocationList{}, err
	}
	list, err := revocationsOf(opened.claims)
	if err != nil {
		return RevocationList{}, err
	}
	return list, check(list.Issuer == issuer, WrongIssuer)
}

// VerifyRevocations verifies a revocation list by itself, such as one that a product has just received. `isStale` says
// that it has expired; it still voids what it names.
func VerifyRevocations(text string, options Options) (list *RevocationList, isStale bool, status Status) {
	ring := keyring{pinned: options.Keys}
	seen := int64(0)
	if options.State != nil {
		ring.learned, seen = options.State.Keys, options.State.Revocations
	}
	read, err := openList(text, ring, options.Issuer)
	if err == nil {
		err = check(read.Number >= seen, Superseded)
	}
	if err != nil {
		return nil, true, statusOf(err)
	}
	now := options.Now
	if now.IsZero() {
		now = time.Now()
	}
	return &read, now.UnixMilli() >= read.Expires*1000, Valid
}

// isBound reports whether enough components of the machine are those that the bundle is bound to. A component counts once.
func isBound(binding *Binding, fingerprints []string) bool {
	if binding == nil {
		return true
	}
	found := map[string]bool{}
	for _, one := range binding.Of {
		if one != "" && contains(fingerprints, one) {
			found[one] = true
		}
	}
	return int64(len(found)) >= binding.Match
}

func contains(texts []string, text string) bool {
	for _, one := range texts {
		if one == text {
			return true
		}
	}
	return false
}

func greatest(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
