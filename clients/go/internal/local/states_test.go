package local

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/vectors"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

type statesFile struct {
	Clock, Instance, Entitlement, Issuer string
	Keys                                 offline.Keys
	Snapshots                            map[string]struct{ Token string }
	Cases                                []statesCase
}

type statesCase struct {
	ID    string
	Given struct {
		Keys             json.RawMessage
		Families         []string
		Bundle, WhenAway string
		Random           *float64
	}
	Steps []statesStep
}

type statesStep struct {
	At                           float64
	Do, To, Snapshot, Code, Text string
	Status                       *int
	Keys                         []string
	MaxAge                       *float64
	DateAhead, By, RetryAfter    float64
	Expected                     json.RawMessage
}

func (play *script) files() []string {
	paths, _ := filepath.Glob(filepath.Join(play.directory, "slot-0", "snapshot-*.json"))
	return paths
}

func (play *script) stored() any {
	for _, path := range play.files() {
		data, _ := os.ReadFile(path)
		if stored := recordIn(data); stored != nil {
			name := any(nil)
			for one, snapshot := range play.file.Snapshots {
				if stored.Token != nil && snapshot.Token == *stored.Token {
					name = one
				}
			}
			return map[string]any{"snapshot": name, "revoked": stored.RevokedAt != nil, "latest": stored.State.Latest}
		}
	}
	return nil
}

// check is what a check answers, and the state.
func (play *script) check() (check any, state State) {
	if play.client == nil {
		return nil, None
	}
	view, err := play.client.Glance(play.file.Instance)
	if errors.Is(err, ErrClosed) {
		return map[string]any{"error": "CLOSED"}, Closed
	}
	if view.State == Starting {
		return "WAITING", view.State
	}
	policy := Policy(play.one.Given.WhenAway)
	if policy == "" {
		policy = Closes
	}
	verdict, err := view.Verdict(policy)
	if err != nil {
		return map[string]any{"error": errorName(err)}, view.State
	}
	source := "policy"
	allowed, reason := verdict.Allowed, verdict.Reason
	if verdict.Snapshot != nil {
		answer := verdict.Snapshot.Claims.Answer([]offline.Check{{Entitlement: play.file.Entitlement}}, view.At, nil).Checks[0]
		source, allowed, reason = "snapshot", answer.Allowed, answer.Reason
	} else if verdict.IsOfService {
		source = "service"
	}
	age := any(nil)
	if view.HasAge {
		age = seconds(view.Age)
	}
	return map[string]any{"allowed": allowed, "reason": reason, "source": source, "ageSeconds": age}, view.State
}

func errorName(err error) string {
	var problem *wire.ProblemError
	var rejected *SnapshotError
	switch {
	case errors.As(err, &rejected) && !rejected.IsAway():
		return string(rejected.Status)
	case isAway(err):
		return "AWAY"
	case errors.As(err, &problem):
		return problem.Code
	}
	return err.Error()
}

func TestStates(t *testing.T) {
	var file statesFile
	vectors.Read(t, "local-states", &file)
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			play := &script{t: t, file: &file, one: one, directory: t.TempDir(), timers: map[int]timer{}, turned: make(chan struct{}, 8)}
			defer play.kill()
			for number, step := range one.Steps {
				play.sent = []map[string]any{}
				play.move(time.Duration(math.Round(step.At*1000)) * time.Millisecond)
				play.do(step)
				check, state := play.check()
				sort.SliceStable(play.sent, func(a, b int) bool {
					return play.sent[a]["at"].(float64) < play.sent[b]["at"].(float64)
				})
				vectors.Equal(t, map[string]any{
					"requests": play.sent, "state": state, "check": check, "stored": play.stored(),
				}, step.Expected)
				if t.Failed() {
					t.Fatalf("step %d: %s at %v", number, step.Do, step.At)
				}
			}
		})
	}
}
