package local

import (
	"encoding/json"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/vectors"
)

// happened is an event of a client, in seconds.
type happened struct {
	At    int64
	Event string
	Exp   int64
}

// apply changes what a client knows. It reports false for an event that it does not know.
func (one happened) apply(to *facts) bool {
	now := time.Duration(one.At) * time.Second
	switch one.Event {
	case "open":
		to.isOpen, to.openedAt, to.frameAt = true, now, now
	case "frame":
		to.frameAt = now
	case "fetched":
		to.hasSnapshot, to.isRevoked, to.isRestored, to.exp, to.confirmedAt, to.requestedAt = true, false, false, one.Exp, now, now
	case "restored":
		to.hasSnapshot, to.exp, to.confirmedAt = true, one.Exp, now
	case "denied":
		to.hasSnapshot, to.isRevoked = false, true
	default:
		return false
	}
	return true
}

func TestLocalDecisions(t *testing.T) {
	vectors.EachLocal(t, "state", func(t *testing.T, one vectors.LocalCase) {
		var given struct {
			Events []happened
			At     int64
		}
		if err := json.Unmarshal(one.Given, &given); err != nil {
			t.Fatal(err)
		}
		known := newFacts()
		for _, event := range given.Events {
			if !event.apply(&known) {
				t.Skipf("the event %s is unknown", event.Event)
			}
		}
		now := time.Duration(given.At) * time.Second
		state := known.stateAt(now, given.At*1000)
		source := "snapshot"
		switch state {
		case Revoked:
			source = "service"
		case Expired, None:
			source = "policy"
		}
		seen := map[string]any{"state": state, "source": source, "ageSeconds": nil}
		if age, isKnown := known.ageAt(now); isKnown {
			seen["ageSeconds"] = age.Seconds()
		}
		vectors.Equal(t, seen, one.Expected)
	})
}
