package keyshelf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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
	// FromSnapshot is an answer without a request.
	FromSnapshot Source = "snapshot"
	// FromService is an answer of the service: to a request, or because it denied a refill or ended the access.
	FromService Source = "service"
	// FromPolicy is an answer while nothing is known, or nothing that still holds: by the policy of the call, or by the
	// vendor's.
	FromPolicy Source = "policy"
)

// Policy says what is answered while nothing is known and the service is away.
type Policy string

const (
	// Fail lets the call fail.
	Fail Policy = "fail"
	// Open allows.
	Open Policy = "open"
	// Closed denies.
	Closed Policy = "closed"
)

func (policy Policy) check() error {
	if policy != Fail && policy != Open && policy != Closed {
		return fmt.Errorf("keyshelf: the policy %q is none of Fail, Open and Closed", string(policy))
	}
	return nil
}

// Answer is the answer about one entitlement. Amounts are empty, and times nil, where there are none.
type Answer struct {
	Entitlement string `json:"entitlement"`
	Allowed     bool   `json:"allowed"`
	// Reason says why. Beside those of the service there are NO_SNAPSHOT, SNAPSHOT_EXPIRED, SERVICE_AWAY and ACCESS_REVOKED.
	// Later versions may have further ones.
	Reason    string `json:"reason"`
	Limit     Amount `json:"limit"`
	Usage     Amount `json:"usage"`
	Remaining Amount `json:"remaining"`
	Overage   Amount `json:"overage"`
	// Credits is what is left of credits, which is in Remaining too: only in an answer of the service, if a credit is active.
	Credits            Amount     `json:"credits"`
	CurrentPeriodStart *time.Time `json:"currentPeriodStart"`
	CurrentPeriodEnd   *time.Time `json:"currentPeriodEnd"`
	Source             Source     `json:"-"`
	// Age is the time since the service confirmed the snapshot, 0 without one.
	Age time.Duration `json:"-"`
}

// CheckResult has the answers to the checks of one request, in their order.
type CheckResult struct {
	Instance string `json:"instance"`
	// License is the slug of the license version. It is empty if a policy answered.
	License string     `json:"license"`
	At      *time.Time `json:"at"`
	// GraceEndsAt is when access ends, if the license has ended and is in its grace period.
	GraceEndsAt *time.Time `json:"graceEndsAt"`
	Checks      []Answer   `json:"checks"`
	// Confirmed says that a snapshot or the service answered, and no policy. If a consumption by a request is not confirmed, it
	// is not known whether usage was consumed.
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

// CheckOption configures a check or a consumption.
type CheckOption interface{ applyToCheck(*checkOptions) }

type checkOptions struct {
	at       time.Time
	policy   Policy
	isRemote bool
}

type checkOption func(*checkOptions)

func (option checkOption) applyToCheck(options *checkOptions) { option(options) }

// At asks the service about another instant. It does not work with consumption.
func At(at time.Time) CheckOption {
	return checkOption(func(options *checkOptions) { options.at = at })
}

// CallOption configures a check, a consumption, or the evaluation of flags.
type CallOption interface {
	CheckOption
	FlagsOption
}

type callOption struct {
	check func(*checkOptions)
	flags func(*flagsOptions)
}

func (option callOption) applyToCheck(options *checkOptions) { option.check(options) }
func (option callOption) applyToFlags(options *flagsOptions) { option.flags(options) }

// WhenAway says what is answered while nothing is known and the service is away. The default is that of the client.
func WhenAway(policy Policy) CallOption {
	return callOption{
		func(options *checkOptions) { options.policy = policy },
		func(options *flagsOptions) { options.policy = policy },
	}
}

// Remote asks the service, also if a snapshot could answer.
func Remote() CallOption {
	return callOption{
		func(options *checkOptions) { options.isRemote = true },
		func(options *flagsOptions) { options.isRemote = true },
	}
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

// Check says whether an instance may use an entitlement. It changes nothing, and needs no request.
func (client *Client) Check(ctx context.Context, instance string, check Check, options ...CheckOption) (Answer, error) {
	result, err := client.CheckAll(ctx, instance, []Check{check}, options...)
	if err != nil {
		return Answer{}, err
	}
	return result.Checks[0], nil
}

// CheckAll is Check for up to 100 entitlements at the same instant.
func (client *Client) CheckAll(ctx context.Context, instance string, checks []Check, options ...CheckOption) (*CheckResult, error) {
	// A check changes nothing, so it may be sent twice.
	return client.check(ctx, instance, checkBody{Checks: checks}, wire.Request{IsRepeatable: true}, options)
}

func (client *Client) chosen(options []CheckOption) checkOptions {
	chosen := checkOptions{policy: client.whenAway, isRemote: client.local == nil}
	for _, option := range options {
		option.applyToCheck(&chosen)
	}
	return chosen
}

func (client *Client) check(ctx context.Context, instance string, body checkBody, request wire.Request, options []CheckOption) (*CheckResult, error) {
	if client.isClosed.Load() {
		return nil, ErrClosed
	}
	chosen := client.chosen(options)
	if err := chosen.check(body); err != nil {
		return nil, err
	}
	path, err := wire.Path("instances", instance, "check")
	if err != nil {
		return nil, err
	}
	isRemote := chosen.isRemote || !chosen.at.IsZero()
	if !isRemote && !body.Consume {
		return client.answered(ctx, instance, body.Checks, chosen.policy)
	}
	if !chosen.at.IsZero() {
		body.At = values.TimeText(chosen.at)
	}
	if !isRemote {
		return client.consumed(ctx, instance, body.Checks, request.IdempotencyKey, chosen.policy)
	}
	if body.Consume && request.IdempotencyKey == "" {
		request.IdempotencyKey = wire.NewID()
	}
	request.Method, request.Path, request.Body = http.MethodPost, path, body
	result, err := client.checked(ctx, request, len(body.Checks))
	if IsAway(err) && chosen.policy != Fail {
		return sameResult(instance, body.Checks, Answer{Allowed: chosen.policy == Open, Reason: "SERVICE_AWAY", Source: FromPolicy}), nil
	}
	return result, err
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
