package keyshelf

import (
	"context"
	"errors"

	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/wire"
)

// Consume consumes if that is allowed: from a tranche that the client holds, without a request. What no tranche pays waits for a
// refill, at most 2 seconds. What does not fit is denied with LIMIT_REACHED. If the service is away and the tranche is spent, the
// license decides: SERVICE_AWAY is denied, or allowed and counted later, and its Source is FromPolicy.
//
// The key is the id of what you do, such as a job's; an empty one is no key. The same key charges once within 24 hours: by this
// process and its directory, which know the newest 100,000. With Remote and of a remote client the service counts and compares
// keys, across processes too. Then an empty one is a random key, and a remote client needs one. If the service is away, it is
// not known whether usage was consumed: call Consume again with the same key.
func (client *Client) Consume(ctx context.Context, instance string, check Check, key string, options ...CheckOption) (Answer, error) {
	result, err := client.ConsumeAll(ctx, instance, []Check{check}, key, options...)
	if err != nil {
		return Answer{}, err
	}
	return result.Checks[0], nil
}

// ConsumeAll is Consume for several entitlements: all are consumed, or none.
func (client *Client) ConsumeAll(ctx context.Context, instance string, checks []Check, key string, options ...CheckOption) (*CheckResult, error) {
	if key != "" || client.local == nil {
		if err := wire.Key(key); err != nil {
			return nil, err
		}
	}
	body := checkBody{Checks: checks, Consume: true}
	return client.check(ctx, instance, body, wire.Request{IdempotencyKey: key}, options)
}

// consumed spends from tranches.
func (client *Client) consumed(ctx context.Context, instance string, checks []Check, key string, policy Policy) (*CheckResult, error) {
	wish := ledger.Wish{Checks: checksOf(checks), Key: key, Fails: policy == Fail}
	return client.spent(instance, checks, policy, func() (*ledger.Answers, error) { return client.local.Consume(ctx, instance, wish) })
}

var sources = map[ledger.Source]Source{ledger.OfSnapshot: FromSnapshot, ledger.OfService: FromService, ledger.OfPolicy: FromPolicy}

// spent is the result of what spends. Where no snapshot answers, the policy does, or the service which ended the access.
func (client *Client) spent(instance string, checks []Check, policy Policy, spend func() (*ledger.Answers, error)) (*CheckResult, error) {
	for {
		answers, err := spend()
		if err == nil {
			return answersResult(answers.Answers, answers.At, answers.Age, sources[answers.Source]), nil
		}
		if !errors.Is(err, ledger.ErrNoSnapshot) {
			return nil, err
		}
		view, err := client.local.Glance(instance)
		if err != nil {
			return nil, err
		}
		verdict, err := view.Verdict(local.Policy(policy))
		if err != nil {
			return nil, err
		}
		// Else a snapshot came a moment ago.
		if verdict.Snapshot == nil {
			return resultOf(instance, checks, view, verdict), nil
		}
	}
}
