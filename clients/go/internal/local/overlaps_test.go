package local

import (
	"context"
	"testing"
	"time"
)

func TestASnapshotBesideARefill(t *testing.T) {
	for name, one := range map[string]struct {
		refill, fetch time.Duration
		isRepeated    bool
		isRepeat      bool
		taken         string
	}{
		"the refill was sent later":             {refill: 59 * time.Minute, fetch: 58 * time.Minute, taken: "A"},
		"the refill was in flight":              {refill: 58 * time.Minute, fetch: 59 * time.Minute, isRepeat: true, taken: "A"},
		"the fetch overlaps a refill once more": {refill: 58 * time.Minute, fetch: 59 * time.Minute, isRepeated: true, taken: "B"},
		"the fetch was sent after the refill":   {refill: 58 * time.Minute, fetch: 61 * time.Minute, taken: "B"},
		"there is no refill":                    {fetch: 59 * time.Minute, taken: "B"},
	} {
		t.Run(name, func(t *testing.T) {
			cold := newColdStart(t)
			cold.start(0, 0, func(of *follower) {
				a, b := cold.file.Snapshots["A"].Token, cold.file.Snapshots["B"].Token
				receive := func() error { return of.receive(context.Background(), Reply{Token: a}, nil, 57*time.Minute) }
				if one.refill > 0 {
					receive = func() error {
						claims, err := of.receiveRefill(context.Background(), Reply{Token: a}, one.refill)
						if claims == nil {
							t.Error("it has no claims")
						}
						return err
					}
				}
				if err := receive(); err != nil {
					t.Fatal(err)
				}
				isRepeat, err := of.receiveFetch(context.Background(), Reply{Token: b}, nil, one.fetch, one.isRepeated)
				if err != nil || isRepeat != one.isRepeat || of.snapshot.Token != cold.file.Snapshots[one.taken].Token {
					t.Error(isRepeat, err)
				}
			})
		})
	}
}
