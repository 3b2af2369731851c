// Package keyshelf is the client of a product: it checks what an instance may use, consumes and reports usage, holds seats,
// reads flags and verifies webhooks. Checks, flags and consumptions are decided locally, also while the service is away. Package
// offline verifies bundles without a service. Both use the standard library alone.
package keyshelf

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/wire"
)

const (
	defaultTimeout  = 10 * time.Second
	defaultDeadline = 30 * time.Second
	defaultRetries  = 2
)

// Client decides by a snapshot of the terms of an instance, consumes from tranches, and asks the service with one credential, such
// as a license key. Goroutines may share it. With the first use of an instance it starts two, with the first consumption of each
// instance another one; Close ends them.
type Client struct {
	transport *wire.Transport
	// local is nil for a remote client.
	local    *local.Client
	whenAway Policy
	flags    *flagCache
	isClosed *atomic.Bool
}

// New creates a client. The address is that of the service, such as https://keyshelf.example; an /api at its end is left
// out, and so is white space around the address and the token. What can never work is a *ConfigurationError.
func New(address, token string, options ...Option) (*Client, error) {
	base, err := wire.Address(address)
	if err != nil {
		return nil, err
	}
	chosen := settings{
		transport: wire.Transport{
			BaseURL:  base,
			Timeout:  defaultTimeout,
			Deadline: defaultDeadline,
			Retries:  defaultRetries,
			HTTP: &http.Client{
				// A credential never follows a redirect; the service sends none.
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			},
		},
		local: local.Options{StartTimeout: defaultStartTimeout},
	}
	for _, option := range options {
		option(&chosen)
	}
	if err := chosen.check(); err != nil {
		return nil, err
	}
	transport := &chosen.transport
	if transport.Token == nil {
		credential, err := wire.Credential(token)
		if err != nil {
			return nil, err
		}
		transport.Token = func(context.Context) (string, error) { return credential, nil }
	}
	decides, err := chosen.localClient(transport)
	if err != nil {
		return nil, err
	}
	client := &Client{transport: transport, local: decides, whenAway: chosen.whenAway, flags: newFlagCache(), isClosed: &atomic.Bool{}}
	if client.whenAway == "" && decides == nil {
		client.whenAway = Fail
	} else if client.whenAway == "" {
		client.whenAway = Closed
	}
	return client, nil
}

// Call calls any other operation, such as GET /instances/globex-prod, and decodes the response into a value. `body` and
// `into` may be nil. A POST is repeated only with an idempotency key.
func (client *Client) Call(ctx context.Context, method, path string, body, into any, idempotencyKey string) error {
	if err := wire.Target(method, path); err != nil {
		return err
	}
	request := wire.Request{Method: method, Path: "/api" + path, Body: body, IdempotencyKey: idempotencyKey}
	if into == nil {
		var ignored any
		into = &ignored
		if method != http.MethodGet {
			request.Promise = wire.Any
		}
	}
	response, err := client.transport.Send(ctx, request)
	if err != nil || response.Status == http.StatusNoContent {
		return err
	}
	return client.transport.Decode(response, into)
}

// Report is usage that has happened.
type Report struct {
	Instance    string
	Entitlement string
	Value       Amount
	// ID counts once: of a direct report within 35 days as its transaction id, of a buffer as the event's id. The default
	// is a random one.
	ID        string
	UniqueKey string
	// Time is when it happened. The default is now.
	Time time.Time
}

// UsageEntry is the usage of a period as the service describes it.
type UsageEntry struct {
	EntitlementSlug    string     `json:"entitlementSlug"`
	CurrentPeriodStart *time.Time `json:"currentPeriodStart"`
	CurrentPeriodEnd   *time.Time `json:"currentPeriodEnd"`
	LicenseValue       UsageValue `json:"licenseValue"`
	UsageValue         UsageValue `json:"usageValue"`
}

// UsageValue is an amount with the number of events behind it.
type UsageValue struct {
	Type       string `json:"type"`
	Value      Amount `json:"value"`
	EventCount int64  `json:"event_count"`
}

// Report reports usage to the service at once. A UsageBuffer collects reports and survives times without the service.
func (client *Client) Report(ctx context.Context, report Report) (*UsageEntry, error) {
	path, err := wire.Path("instances", report.Instance, "entitlements", report.Entitlement, "usage")
	if err != nil {
		return nil, err
	}
	value, err := report.Value.countable()
	if err != nil {
		return nil, err
	}
	body := map[string]any{"value": Amount(value), "transactionId": report.ID}
	if report.ID == "" {
		body["transactionId"] = wire.NewID()
	}
	if report.UniqueKey != "" {
		body["uniqueKey"] = report.UniqueKey
	}
	if !report.Time.IsZero() {
		body["timestamp"] = values.TimeText(report.Time)
	}
	// The service counts a transaction once.
	request := wire.Request{Method: http.MethodPost, Path: path, Body: body, IsRepeatable: true}
	response, err := client.transport.Send(ctx, request)
	if err != nil {
		return nil, err
	}
	var entry UsageEntry
	if err := client.transport.Decode(response, &entry); err != nil {
		return nil, err
	}
	if entry.EntitlementSlug == "" {
		return nil, client.transport.Foreign(errors.New("the response is not the usage of a period"))
	}
	return &entry, nil
}
