package keyshelf

import (
	"context"
	"net/http"
	"time"

	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

const defaultStartTimeout = 2 * time.Second

// settings are what options set.
type settings struct {
	transport wire.Transport
	isRemote  bool
	directory string
	local     local.Options
	whenAway  Policy
}

// Option configures a client.
type Option func(*settings)

// WithTimeout limits one attempt of a call. The default is 10 seconds.
func WithTimeout(timeout time.Duration) Option {
	return func(settings *settings) { settings.transport.Timeout = timeout }
}

// WithDeadline limits a call with all its attempts and the time between them, in addition to its context. The default is 30 seconds.
func WithDeadline(deadline time.Duration) Option {
	return func(settings *settings) { settings.transport.Deadline = deadline }
}

// WithRetries sets how often a request is repeated at most, where that is safe. The default is 2.
func WithRetries(retries int) Option {
	return func(settings *settings) { settings.transport.Retries = retries }
}

// WithTokenSource reads the credential for each attempt.
func WithTokenSource(token func(context.Context) (string, error)) Option {
	return func(settings *settings) { settings.transport.Token = token }
}

// WithRoundTripper replaces http.DefaultTransport, for example to trust a certificate of your own. It must set no time for a
// whole response: a stream has no end.
func WithRoundTripper(tripper http.RoundTripper) Option {
	return func(settings *settings) { settings.transport.HTTP.Transport = tripper }
}

// WithRemote asks the service for each check, each flag and each use, and decides nothing locally.
func WithRemote() Option { return func(settings *settings) { settings.isRemote = true } }

// WithDirectory keeps snapshots and what was consumed in a directory, so that a product starts while the service is away, and no
// use is lost when it ends. It is made if there is none. Up to 64 processes share it, but no two languages do.
func WithDirectory(path string) Option { return func(settings *settings) { settings.directory = path } }

// WithKeys pins the vendor's keys, as offline.KeySet reads them. Without them, the client takes those that the service
// publishes at the first fetch, and stores them beside the snapshot. Products that run at customers pin them.
func WithKeys(keys offline.Keys) Option {
	return func(settings *settings) { settings.local.Keys = keys }
}

// WithIssuer takes snapshots of urn:keyshelf:organization:<id> alone.
func WithIssuer(issuer string) Option {
	return func(settings *settings) { settings.local.Issuer = issuer }
}

// WithFamilies takes snapshots of these license families alone. One of another family ends the access.
func WithFamilies(families ...string) Option {
	return func(settings *settings) { settings.local.Families = families }
}

// WithBundle is a bundle that is shipped with the product, for a start without anything stored and without the service.
func WithBundle(token string) Option {
	return func(settings *settings) { settings.local.Bundle = token }
}

// WithWhenAway says what is answered while nothing is known and the service is away, unless a call says it. The default is
// Closed, and Fail of a remote client.
func WithWhenAway(policy Policy) Option {
	return func(settings *settings) { settings.whenAway = policy }
}

// WithStartTimeout is how long the first calls wait for the first snapshot. The default is 2 seconds.
func WithStartTimeout(timeout time.Duration) Option {
	return func(settings *settings) { settings.local.StartTimeout = timeout }
}

// WithFlushAlways lets each consumption wait for the disk. Without it, what was consumed is on the disk within 100 ms; the
// directory survives the end of the process either way.
func WithFlushAlways() Option {
	return func(settings *settings) { settings.local.FlushAlways = true }
}

// WithOnEvent calls a function when a state changes, a snapshot or a refill comes, usage is settled, or something fails: for
// metrics. It must return soon
// and must not call Close. A panic in it is ignored. No token, key or amount is in an event.
func WithOnEvent(onEvent func(Event)) Option {
	return func(settings *settings) { settings.local.OnEvent = onEvent }
}

// check returns what can never work.
func (settings *settings) check() error {
	if err := settings.transport.Check(); err != nil {
		return err
	}
	if settings.whenAway != "" {
		if err := settings.whenAway.check(); err != nil {
			return wire.NewConfigurationError("policy", "must be Fail, Open or Closed", nil)
		}
	}
	if settings.isRemote {
		return nil
	}
	own := settings.local
	if own.StartTimeout < 0 {
		return wire.NewConfigurationError("start timeout", "must be 0 or more", nil)
	}
	if own.Keys != nil && len(own.Keys) == 0 {
		return wire.NewConfigurationError("keys", "must have at least one: no snapshot could be verified", nil)
	}
	if own.Issuer != "" && !local.IsIssuer(own.Issuer) {
		return wire.NewConfigurationError("issuer", "must be urn:keyshelf:organization: and the id of the organization", nil)
	}
	return nil
}

// localClient makes what decides locally; nil for a remote client.
func (settings *settings) localClient(transport *wire.Transport) (*local.Client, error) {
	if settings.isRemote {
		return nil, nil
	}
	options := settings.local
	options.Clock, options.Service = local.SystemClock(), service{transport}
	if settings.directory != "" {
		store, err := local.OpenStore(settings.directory)
		if err != nil {
			return nil, wire.NewConfigurationError("directory", "cannot be used: "+err.Error(), err)
		}
		options.Store = store
	}
	return local.NewClient(options), nil
}
