package local

import (
	"encoding/base64"
	"regexp"
	"strings"
	"time"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

// Snapshot is one that answers.
type Snapshot struct {
	Token, ETag string
	Claims      *offline.Claims
	// Rules are the feature flags by their keys, nil where the claims have none.
	Rules map[string]map[string]any
	kid   string
}

// Allows reports whether the snapshot answers on after its end.
func (snapshot *Snapshot) Allows() bool { return snapshot.Claims.Away == "ALLOW" }

// trust is by what snapshots are verified. A product may have issuer and keys of its own, else they come from the service.
type trust struct {
	issuer string
	keys   offline.Keys
	state  *offline.State
}

// trusting says what a product brings.
type trusting struct {
	keys     offline.Keys
	issuer   string
	families []string
}

// keysOf are those of the product, else those of the service.
func (own trusting) keysOf(of trust) offline.Keys {
	if own.keys != nil {
		return own.keys
	}
	return of.keys
}

// unverified is what a token says before it is verified: by which key, and from whom. Nothing of it is trusted.
func unverified(token string) (kid, issuer string) {
	member := func(part, name string) string {
		data, _ := base64.RawURLEncoding.DecodeString(part)
		parsed, _ := values.ParseBounded(data)
		text, _ := values.StringOf(values.Object(parsed)[name])
		return text
	}
	parts := strings.SplitN(strings.TrimSpace(token), ".", 3)
	if len(parts) < 2 {
		return "", ""
	}
	return member(parts[0], "kid"), member(parts[1], "iss")
}

var issuerForm = regexp.MustCompile(`^urn:keyshelf:organization:([0-9A-Za-z-]{1,64})$`)

// IsIssuer reports whether a text has the form of an issuer.
func IsIssuer(text string) bool { return issuerForm.MatchString(text) }

// organizationOf is the organization of an issuer, whose keys the service publishes.
func organizationOf(issuer string) (string, bool) {
	found := issuerForm.FindStringSubmatch(issuer)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// verified is the result of a verification. Without a snapshot, the token cannot be taken.
type verified struct {
	status   offline.Status
	snapshot *Snapshot
	state    *offline.State
}

// verifySent verifies what the service has just sent. The time is the service's, and the latest time seen does not count:
// a clock that once ran ahead locks no one out.
func (own trusting) verifySent(token, instance string, by trust, now time.Time) verified {
	if by.state != nil {
		state := *by.state
		state.Latest = 0
		by.state = &state
	}
	return own.verify(token, instance, by, now, false)
}

// verifyKept verifies what was stored or shipped, by the rules of bundles: the clock of the machine counts, but never before
// the latest time that was seen. An expired one is usable: its policy says what it answers.
func (own trusting) verifyKept(token, instance string, by trust, now time.Time) verified {
	return own.verify(token, instance, by, now, true)
}

func (own trusting) verify(token, instance string, by trust, now time.Time, isKept bool) verified {
	answer := offline.Verify(token, offline.Options{
		Keys: own.keysOf(by), Issuer: by.issuer, State: by.state, Now: now, Instance: instance, Families: own.families,
	})
	kid, _ := unverified(token)
	claims, state := answer.Claims, answer.State
	switch answer.Status {
	case offline.Valid:
	case offline.LicenseNotStarted, offline.LicenseExpired, offline.BundleExpired:
		if answer.Status == offline.BundleExpired && !isKept {
			return verified{status: answer.Status}
		}
		// Such claims deny by themselves, so they answer too.
		claims = answer.Rejected
		if now.Unix() >= claims.Expires {
			// Perhaps the clock is wrong: a time that ended the snapshot is not remembered.
			now = time.Unix(claims.IssuedAt, 0)
		}
		state = stateOf(claims, kid, by.state, now)
	default:
		return verified{status: answer.Status}
	}
	snapshot := &Snapshot{Token: token, Claims: claims, kid: kid}
	if claims.Rules != nil {
		snapshot.Rules = make(map[string]map[string]any, len(claims.Rules))
		for _, rule := range claims.Rules {
			if key, isText := values.StringOf(rule["key"]); isText {
				snapshot.Rules[key] = rule
			}
		}
	}
	return verified{answer.Status, snapshot, state}
}

// stateOf is the state of claims that are not valid now, so the verifier keeps none.
func stateOf(claims *offline.Claims, kid string, known *offline.State, now time.Time) *offline.State {
	state := offline.State{Keys: map[string]offline.LearnedKey{}}
	if known != nil && known.Subject == claims.Subject {
		state = *known
	}
	state.Subject, state.KeyID, state.Sequence = claims.Subject, kid, claims.Sequence
	for _, seen := range []int64{now.Unix(), claims.IssuedAt} {
		if seen > state.Latest {
			state.Latest = seen
		}
	}
	return &state
}
