package keyshelf

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/wire"
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
	// Source is FromService or FromLastKnown, and empty if nothing is known.
	Source Source
	// Age is the time since the service evaluated them.
	Age time.Duration
}

// Flag returns the evaluation of a flag, and whether there is one.
func (set *FlagSet) Flag(key string) (Flag, bool) {
	flag, exists := set.flags[key]
	return flag, exists
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
	if err := json.Unmarshal(set.flags[key].Value, &value); err != nil || value == nil {
		return otherwise
	}
	return *value
}

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

// Flags evaluates all flags for a context (OFREP). Its targetingKey may be the slug of an instance.
//
// Values that have not changed are not sent again (ETag). If the service is away and maxAge is positive, the last values
// are returned if they are at most that old, else none: then each flag has its default.
func (client *Client) Flags(ctx context.Context, context map[string]any, maxAge time.Duration) (*FlagSet, error) {
	if maxAge < 0 {
		return nil, errors.New("keyshelf: the age of known values is 0 or more")
	}
	key, err := json.Marshal(context)
	if err != nil {
		return nil, err
	}
	last, isKnown := client.flags.find(string(key))
	// An evaluation changes nothing, so it may be sent twice.
	request := wire.Request{Method: http.MethodPost, Path: flagsPath, Body: map[string]any{"context": context}, IsRepeatable: true}
	if last.etag != "" {
		request.Header = map[string]string{"if-none-match": last.etag}
	}
	fresh, err := client.evaluated(ctx, request, last)
	if err == nil {
		client.flags.store(string(key), fresh)
		return &FlagSet{flags: fresh.flags, Source: FromService}, nil
	}
	if !IsAway(err) || maxAge <= 0 {
		return nil, err
	}
	if age := clocks.Age(last.at, clocks.Read()); isKnown && age <= maxAge {
		return &FlagSet{flags: last.flags, Source: FromLastKnown, Age: age}, nil
	}
	return &FlagSet{}, nil
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
