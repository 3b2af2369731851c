package keyshelf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/wire"
)

// Check asks about one entitlement.
type Check struct {
	// Entitlement is its slug.
	Entitlement string `json:"entitlement"`
	// Requested is how much more of a NUMBER. The default is 1; "0" asks whether usage is within the limit.
	Requested Amount `json:"requested,omitempty"`
}

func (check Check) requested() Amount {
	if check.Requested == "" {
		return "1"
	}
	return check.Requested
}

// Source says who gave an answer.
type Source string

const (
	// FromService is an answer of the service.
	FromService Source = "service"
	// FromLastKnown is the last answer of the service, while it is away.
	FromLastKnown Source = "lastKnown"
	// FromPolicy is the answer of Open or Closed, while the service is away.
	FromPolicy Source = "policy"
)

// Answer is the answer about one entitlement. Amounts are empty, and times nil, where there are none.
type Answer struct {
	Entitlement string `json:"entitlement"`
	Allowed     bool   `json:"allowed"`
	// Reason says why. It is SERVICE_AWAY if Open or Closed answered. Later versions may have further reasons.
	Reason             string     `json:"reason"`
	Limit              Amount     `json:"limit"`
	Usage              Amount     `json:"usage"`
	Remaining          Amount     `json:"remaining"`
	Overage            Amount     `json:"overage"`
	CurrentPeriodStart *time.Time `json:"currentPeriodStart"`
	CurrentPeriodEnd   *time.Time `json:"currentPeriodEnd"`
	Source             Source     `json:"-"`
	// Age is the time since the service gave this answer, 0 for FromPolicy.
	Age time.Duration `json:"-"`
}

// CheckResult has the answers to the checks of one request, in their order.
type CheckResult struct {
	Instance string `json:"instance"`
	// License is the slug of the license version. It is empty while the service is away.
	License string     `json:"license"`
	At      *time.Time `json:"at"`
	// GraceEndsAt is when access ends, if the license has ended and is in its grace period.
	GraceEndsAt *time.Time `json:"graceEndsAt"`
	Checks      []Answer   `json:"checks"`
	// Confirmed says that the service answered. If it did not, it is not known whether usage was consumed.
	Confirmed bool `json:"-"`
}

// Allowed reports whether each check is allowed.
func (result *CheckResult) Allowed() bool {
	for _, answer := range result.Checks {
		if !answer.Allowed {
			return false
		}
	}
	return true
}

// CheckOption configures a check.
type CheckOption func(*checkOptions)

type checkOptions struct {
	at     time.Time
	policy Policy
}

// At asks about another instant. It does not work with consumption.
func At(at time.Time) CheckOption { return func(options *checkOptions) { options.at = at } }

// WhenAway says what is answered while the service is away. The default is Fail.
func WhenAway(policy Policy) CheckOption {
	return func(options *checkOptions) { options.policy = policy }
}

// maxChecks is how many checks a request may have.
const maxChecks = 100

// check returns what the service always rejects: a policy must not answer it.
func (options checkOptions) check(body checkBody) error {
	if count := len(body.Checks); count < 1 || count > maxChecks {
		return fmt.Errorf("keyshelf: a request has 1 to %d checks", maxChecks)
	}
	for _, check := range body.Checks {
		if err := wire.Name("an entitlement", check.Entitlement); err != nil {
			return err
		}
		amount, err := check.requested().countable()
		if err != nil {
			return err
		}
		if strings.HasPrefix(amount, "-") {
			return errors.New("keyshelf: the amount of a check is 0 or more")
		}
	}
	if body.Consume && !options.at.IsZero() {
		return errors.New("keyshelf: a consumption is now: it has no At")
	}
	return options.policy.check()
}

type checkBody struct {
	Checks  []Check `json:"checks"`
	Consume bool    `json:"consume,omitempty"`
	At      string  `json:"at,omitempty"`
}

// Check asks whether an instance may use an entitlement. It changes nothing.
func (client *Client) Check(ctx context.Context, instance string, check Check, options ...CheckOption) (Answer, error) {
	result, err := client.CheckAll(ctx, instance, []Check{check}, options...)
	if err != nil {
		return Answer{}, err
	}
	return result.Checks[0], nil
}

// CheckAll asks about up to 100 entitlements in one request.
func (client *Client) CheckAll(ctx context.Context, instance string, checks []Check, options ...CheckOption) (*CheckResult, error) {
	// A check changes nothing, so it may be sent twice.
	return client.check(ctx, instance, checkBody{Checks: checks}, wire.Request{IsRepeatable: true}, options)
}

// Consume consumes if that is allowed. The key is the id of what you do, such as a job's: the same key and amount never
// charges twice within 24 hours, so an interrupted call can be repeated with it, by another process too.
//
// If the service is away and a policy answers, it is not known whether usage was consumed: the answer's Source is not
// FromService. Call Consume again with the same key to find out.
func (client *Client) Consume(ctx context.Context, instance string, check Check, key string, options ...CheckOption) (Answer, error) {
	result, err := client.ConsumeAll(ctx, instance, []Check{check}, key, options...)
	if err != nil {
		return Answer{}, err
	}
	return result.Checks[0], nil
}

// ConsumeAll is Consume for several entitlements: all are consumed, or none.
func (client *Client) ConsumeAll(ctx context.Context, instance string, checks []Check, key string, options ...CheckOption) (*CheckResult, error) {
	if err := wire.Key(key); err != nil {
		return nil, err
	}
	body := checkBody{Checks: checks, Consume: true}
	return client.check(ctx, instance, body, wire.Request{IdempotencyKey: key}, options)
}

func (client *Client) check(ctx context.Context, instance string, body checkBody, request wire.Request, options []CheckOption) (*CheckResult, error) {
	chosen := checkOptions{policy: Fail}
	for _, option := range options {
		option(&chosen)
	}
	if err := chosen.check(body); err != nil {
		return nil, err
	}
	if !chosen.at.IsZero() {
		body.At = values.TimeText(chosen.at)
	}
	path, err := wire.Path("instances", instance, "check")
	if err != nil {
		return nil, err
	}
	request.Method, request.Path, request.Body = http.MethodPost, path, body
	result, err := client.checked(ctx, request, len(body.Checks))
	if err != nil {
		if recalled := client.recalled(instance, body.Checks, chosen.policy); IsAway(err) && recalled != nil {
			return recalled, nil
		}
		return nil, err
	}
	if body.At == "" {
		for place, answer := range result.Checks {
			client.known.remember(instance, body.Checks[place].requested(), answer, clocks.Read())
		}
	}
	return result, nil
}

func (client *Client) checked(ctx context.Context, request wire.Request, count int) (*CheckResult, error) {
	response, err := client.transport.Send(ctx, request)
	if err != nil {
		return nil, err
	}
	var result CheckResult
	if err := client.transport.Decode(response, &result); err != nil {
		return nil, err
	}
	isAnswer := result.Instance != "" && len(result.Checks) == count
	for place := range result.Checks {
		answer := &result.Checks[place]
		isAnswer = isAnswer && answer.Entitlement != "" && answer.Reason != ""
		answer.Source = FromService
	}
	if !isAnswer {
		// Something other than the service responded, such as the sign-in page of a network.
		return nil, client.transport.Foreign(errors.New("the response is not an answer to a check"))
	}
	result.Confirmed = true
	return &result, nil
}

// recalled returns what a policy answers, and nil if the call fails.
func (client *Client) recalled(instance string, checks []Check, policy Policy) *CheckResult {
	result := &CheckResult{Instance: instance}
	for _, check := range checks {
		answer, known := client.known.recall(instance, check.Entitlement, check.requested(), policy, clocks.Read())
		if !known {
			return nil
		}
		result.Checks = append(result.Checks, answer)
	}
	return result
}
