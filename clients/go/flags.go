package keyshelf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

// maxContexts is the number of contexts whose values a client caches.
const maxContexts = 100

const flagsPath = "/api/ofrep/v1/evaluate/flags"

// Flag is an evaluation as OFREP describes it. Without a Value, the default in the code counts.
type Flag struct {
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Reason    string          `json:"reason"`
	Variant   string          `json:"variant"`
	Metadata  map[string]any  `json:"metadata"`
	ErrorCode string          `json:"errorCode"`
}

// FlagSet has the values of all flags for one context.
type FlagSet struct {
	flags map[string]Flag
	// snapshot is what flags are evaluated by when they are read, for the context, at an instant.
	snapshot *local.Snapshot
	context  map[string]any
	at       time.Time
	// Source is FromSnapshot or FromService. It is FromPolicy if nothing is known: then each flag has the default of the code.
	Source Source
	// Age is the time since the service confirmed the snapshot.
	Age time.Duration
}

// Flag returns the evaluation of a flag, and whether there is one.
func (set *FlagSet) Flag(key string) (Flag, bool) {
	if set.snapshot == nil {
		flag, exists := set.flags[key]
		return flag, exists
	}
	if slug, isEntitlement := cutPrefix(key, "entitlement."); isEntitlement {
		evaluation, exists := set.snapshot.Claims.EntitlementFlag(slug, set.at)
		return flagOf(evaluation), exists
	}
	rule, exists := set.snapshot.Rules[key]
	if !exists {
		return Flag{}, false
	}
	return flagOf(offline.EvaluateRule(rule, set.context)), true
}

func cutPrefix(text, prefix string) (string, bool) {
	return strings.TrimPrefix(text, prefix), strings.HasPrefix(text, prefix)
}

func flagOf(evaluation offline.Evaluation) Flag {
	flag := Flag{
		Key: evaluation.Key, Reason: evaluation.Reason, Variant: evaluation.Variant, Metadata: evaluation.Metadata,
		ErrorCode: evaluation.ErrorCode,
	}
	if evaluation.HasValue {
		// It was parsed from JSON.
		flag.Value, _ = json.Marshal(evaluation.Value)
	}
	return flag
}

// Bool returns the value of a flag, or the default if it has none or one of another type.
func (set *FlagSet) Bool(key string, otherwise bool) bool { return valueOf(set, key, otherwise) }

// String returns the value of a flag, or the default if it has none or one of another type.
func (set *FlagSet) String(key, otherwise string) string { return valueOf(set, key, otherwise) }

// Number returns the value of a flag, or the default if it has none or one of another type.
func (set *FlagSet) Number(key string, otherwise float64) float64 {
	return valueOf(set, key, otherwise)
}

// Object returns the value of a flag, or the default if it has none or one of another type.
func (set *FlagSet) Object(key string, otherwise map[string]any) map[string]any {
	return valueOf(set, key, otherwise)
}

func valueOf[T any](set *FlagSet, key string, otherwise T) T {
	var value *T
	flag, _ := set.Flag(key)
	if err := json.Unmarshal(flag.Value, &value); err != nil || value == nil {
		return otherwise
	}
	return *value
}

// knownFlags are the last values of the service for a context: it sends those alone that differ.
type knownFlags struct {
	etag  string
	at    clocks.Reading
	flags map[string]Flag
}

type flagCache struct {
	mutex sync.Mutex
	known map[string]knownFlags
}

func newFlagCache() *flagCache { return &flagCache{known: map[string]knownFlags{}} }

func (cache *flagCache) find(key string) (knownFlags, bool) {
	cache.mutex.Lock()
	defer cache.mutex.Unlock()
	known, exists := cache.known[key]
	return known, exists
}

func (cache *flagCache) store(key string, known knownFlags) {
	cache.mutex.Lock()
	defer cache.mutex.Unlock()
	if _, exists := cache.known[key]; !exists && len(cache.known) >= maxContexts {
		oldest := key
		for other, one := range cache.known {
			if oldest == key || one.at.Monotonic < cache.known[oldest].at.Monotonic {
				oldest = other
			}
		}
		delete(cache.known, oldest)
	}
	cache.known[key] = known
}

// FlagsOption configures the evaluation of flags.
type FlagsOption interface{ applyToFlags(*flagsOptions) }

type flagsOptions struct {
	instance string
	policy   Policy
	isRemote bool
}

type flagsOption func(*flagsOptions)

func (option flagsOption) applyToFlags(options *flagsOptions) { option(options) }

// ForInstance names the instance whose flags are meant. It may be left out while the client uses one only.
func ForInstance(slug string) FlagsOption {
	return flagsOption(func(options *flagsOptions) { options.instance = slug })
}

// Flags evaluates the feature flags of an instance for a context, without a request. If the snapshot has no flags, because
// the credential may not read them or they are too large, and of a remote client, the service evaluates them (OFREP).
//
// While nothing is known, each flag has the default of the code; with WhenAway(Fail) the call fails.
func (client *Client) Flags(ctx context.Context, context map[string]any, options ...FlagsOption) (*FlagSet, error) {
	if client.isClosed.Load() {
		return nil, ErrClosed
	}
	chosen := flagsOptions{policy: client.whenAway, isRemote: client.local == nil}
	for _, option := range options {
		option.applyToFlags(&chosen)
	}
	if err := chosen.policy.check(); err != nil {
		return nil, err
	}
	encoded, err := wire.Encode(context)
	if err != nil {
		return nil, fmt.Errorf("keyshelf: %w", err)
	}
	if chosen.isRemote {
		return client.remoteFlags(ctx, context, string(encoded), chosen.policy)
	}
	if err := client.name(&chosen); err != nil {
		return nil, err
	}
	view, err := client.local.Look(ctx, chosen.instance)
	if err != nil {
		return nil, err
	}
	verdict, err := view.Verdict(local.Policy(chosen.policy))
	switch {
	case err != nil:
		return nil, err
	case verdict.IsOfService:
		return &FlagSet{Source: FromService}, nil
	case verdict.Snapshot == nil:
		return &FlagSet{Source: FromPolicy, Age: view.Age}, nil
	case verdict.Snapshot.Rules == nil:
		return client.remoteFlags(ctx, context, string(encoded), chosen.policy)
	}
	// A rule reads the same values that the service would get, and later changes of the map change nothing.
	parsed, err := values.ParseJSON(encoded)
	if err != nil {
		return nil, err
	}
	read := values.Object(parsed)
	if read == nil {
		read = map[string]any{}
	}
	if key, exists := read["targetingKey"]; !exists || key == "" {
		// As the service does for a license key.
		read["targetingKey"] = verdict.Snapshot.Claims.Instance.Slug
	}
	return &FlagSet{snapshot: verdict.Snapshot, context: read, at: view.At, Source: FromSnapshot, Age: view.Age}, nil
}

// name finds the only instance in use, if a call names none.
func (client *Client) name(chosen *flagsOptions) error {
	if chosen.instance == "" {
		used := client.local.Instances()
		if len(used) != 1 {
			return errors.New("keyshelf: say by ForInstance which instance is meant, or Start with one")
		}
		chosen.instance = used[0]
	}
	_, err := wire.Path("instances", chosen.instance)
	return err
}

// remoteFlags lets the service evaluate. Values that have not changed are not sent again (ETag).
func (client *Client) remoteFlags(ctx context.Context, context map[string]any, key string, policy Policy) (*FlagSet, error) {
	last, _ := client.flags.find(key)
	// An evaluation changes nothing, so it may be sent twice.
	request := wire.Request{Method: http.MethodPost, Path: flagsPath, Body: map[string]any{"context": context}, IsRepeatable: true}
	if last.etag != "" {
		request.Header = map[string]string{"if-none-match": last.etag}
	}
	fresh, err := client.evaluated(ctx, request, last)
	if err == nil {
		client.flags.store(key, fresh)
		return &FlagSet{flags: fresh.flags, Source: FromService}, nil
	}
	if IsAway(err) && policy != Fail {
		return &FlagSet{Source: FromPolicy}, nil
	}
	return nil, err
}

func (client *Client) evaluated(ctx context.Context, request wire.Request, last knownFlags) (knownFlags, error) {
	response, err := client.transport.Send(ctx, request)
	if err != nil {
		return knownFlags{}, err
	}
	fresh := knownFlags{response.Header.Get("etag"), clocks.Read(), last.flags}
	if response.Status == http.StatusNotModified && last.flags != nil {
		return fresh, nil
	}
	var body struct {
		Flags []Flag `json:"flags"`
	}
	if err := client.transport.Decode(response, &body); err != nil {
		return knownFlags{}, err
	}
	if body.Flags == nil {
		return knownFlags{}, client.transport.Foreign(errors.New("the response is not an evaluation of flags"))
	}
	fresh.flags = make(map[string]Flag, len(body.Flags))
	for _, flag := range body.Flags {
		fresh.flags[flag.Key] = flag
	}
	return fresh, nil
}
