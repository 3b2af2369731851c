package keyshelf

import (
	"container/list"
	"errors"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
)

// maxKnown is the number of last answers that a client caches. It evicts the oldest ones first.
const maxKnown = 10_000

// Policy says what a check answers while the service is away.
type Policy struct {
	kind      string
	maxAge    time.Duration
	otherwise *Policy
}

var (
	// Fail lets the call fail.
	Fail = Policy{kind: "fail"}
	// Open allows.
	Open = Policy{kind: "open"}
	// Closed denies.
	Closed = Policy{kind: "closed"}
)

// LastKnown answers what the service answered last, if that was at most maxAge ago; else what otherwise says.
func LastKnown(maxAge time.Duration, otherwise Policy) Policy {
	return Policy{"lastKnown", maxAge, &otherwise}
}

// check returns what is wrong with a policy: so the call fails at once, not only when the service is away.
func (policy Policy) check() error {
	if policy.maxAge < 0 {
		return errors.New("keyshelf: the age of a last known answer is 0 or more")
	}
	if policy.otherwise != nil {
		return policy.otherwise.check()
	}
	return nil
}

type knownKey struct{ instance, entitlement string }

type knownAnswer struct {
	key       knownKey
	requested Amount
	at        clocks.Reading
	answer    Answer
}

// knownAnswers are the last answers of the service for each entitlement of each instance.
type knownAnswers struct {
	mutex   sync.Mutex
	byKey   map[knownKey]*list.Element
	byOrder *list.List
}

func newKnownAnswers() *knownAnswers {
	return &knownAnswers{byKey: map[knownKey]*list.Element{}, byOrder: list.New()}
}

func (known *knownAnswers) remember(instance string, requested Amount, answer Answer, at clocks.Reading) {
	key := knownKey{instance, answer.Entitlement}
	known.mutex.Lock()
	defer known.mutex.Unlock()
	if before, exists := known.byKey[key]; exists {
		known.byOrder.Remove(before)
	}
	known.byKey[key] = known.byOrder.PushBack(&knownAnswer{key, requested, at, answer})
	if known.byOrder.Len() > maxKnown {
		oldest := known.byOrder.Remove(known.byOrder.Front()).(*knownAnswer)
		delete(known.byKey, oldest.key)
	}
}

// recall returns the answer of a policy, and false if the call fails.
func (known *knownAnswers) recall(instance, entitlement string, requested Amount, policy Policy, now clocks.Reading) (Answer, bool) {
	switch policy.kind {
	case "open", "closed":
		return Answer{Entitlement: entitlement, Allowed: policy.kind == "open", Reason: "SERVICE_AWAY", Source: FromPolicy}, true
	case "lastKnown":
		if last := known.find(knownKey{instance, entitlement}); last != nil && last.holds(requested, now.Wall) {
			if age := clocks.Age(last.at, now); age <= policy.maxAge {
				answer := last.answer
				answer.Source, answer.Age = FromLastKnown, age
				return answer, true
			}
		}
		return known.recall(instance, entitlement, requested, *policy.otherwise, now)
	default:
		return Answer{}, false
	}
}

func (known *knownAnswers) find(key knownKey) *knownAnswer {
	known.mutex.Lock()
	defer known.mutex.Unlock()
	if element, exists := known.byKey[key]; exists {
		return element.Value.(*knownAnswer)
	}
	return nil
}

// holds reports whether an answer also answers another amount. What was allowed holds for less, what was denied for more.
func (last *knownAnswer) holds(requested Amount, now time.Time) bool {
	asked, more := last.requested.Rat(), requested.Rat()
	if asked == nil || more == nil {
		return false
	}
	if last.answer.Allowed {
		return more.Cmp(asked) <= 0
	}
	// A reached limit ends with its period.
	end := last.answer.CurrentPeriodEnd
	isOver := last.answer.Reason == "LIMIT_REACHED" && end != nil && !end.After(now)
	return more.Cmp(asked) >= 0 && !isOver
}
