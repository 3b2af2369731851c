package keyshelf

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

const (
	testOrganization = "0198c2b0-0a11-7d52-8a39-2f6c1e8a7054"
	testIssuer       = "urn:keyshelf:organization:" + testOrganization
)

// origin is a service of two instances. Its members may be changed under the mutex.
type origin struct {
	t         testing.TB
	url       string
	listening *httptest.Server

	mutex   sync.Mutex
	signer  *signer
	limit   string
	sso     bool
	then    string
	stale   time.Duration
	hasFlag bool
	noRules bool
	// percentage is that of the flag instead of its conditions, if it is not 0.
	percentage int
	// problem is what every request is answered with, if it is not empty.
	problem  string
	status   int
	streams  map[chan string]bool
	requests []string
	checks   int
}

// newOrigin starts a service. It is stopped at the end of the test.
func newOrigin(t testing.TB) *origin {
	t.Helper()
	started := &origin{
		t: t, signer: newSigner("first"), limit: "1000", sso: true, then: "DENY", stale: time.Hour, streams: map[chan string]bool{},
	}
	started.listening = httptest.NewServer(started)
	started.url = started.listening.URL
	t.Cleanup(started.stop)
	return started
}

// stop ends the service and its streams.
func (origin *origin) stop() {
	origin.listening.CloseClientConnections()
	origin.listening.Close()
}

// again starts a stopped service at its address.
func (origin *origin) again() {
	origin.t.Helper()
	origin.listening = serverAt(origin.t, origin.url, origin)
}

// subjects are the ids of its instances.
var subjects = map[string]string{
	"globex-prod": "0198c2b0-5f3d-7d14-8f2e-7e0a4b9c1d33", "globex-test": "0198c2b0-5f3d-7d14-8f2e-7e0a4b9c1d34",
}

func (origin *origin) claims(slug string) map[string]any {
	now := time.Now()
	start := values.TimeText(now.Add(-24 * time.Hour).Truncate(time.Hour))
	claims := map[string]any{
		"v": 1, "iss": testIssuer, "sub": subjects[slug], "jti": "0198c2b1-1111-7000-8000-000000000007",
		"seq": 3, "iat": now.Unix(), "nbf": now.Add(-time.Hour).Unix(), "renew": now.Unix() + 600,
		"exp":      now.Add(origin.stale).Unix() + 600,
		"instance": map[string]any{"slug": slug, "name": "Globex"}, "customer": map[string]any{"slug": "globex", "name": "Globex"},
		"license": map[string]any{
			"slug": "pro-v2", "family": "pro", "version": "2", "name": "Pro", "type": "PAID", "start": start, "termEnd": nil, "end": nil,
		},
		"complete": true, "away": map[string]any{"then": origin.then},
		"entitlements": []any{
			map[string]any{
				"slug": "api-calls", "type": "NUMBER", "limit": origin.limit, "overagePercent": "0", "aggregation": "SUM",
				"used": "400", "held": "0", "usedFrom": start, "period": "LIFETIME",
			},
			map[string]any{"slug": "sso", "type": "BOOLEAN", "value": origin.sso},
		},
		"periods": map[string]any{"LIFETIME": map[string]any{"starts": []string{start}}},
		"flags":   map[string]any{}, "zone": nil, "release": nil, "binding": nil,
		"usage": map[string]any{"until": now.Add(1000 * time.Hour).Unix()},
	}
	if !origin.noRules {
		targeting := map[string]any{
			"name":       "eu",
			"conditions": []any{map[string]any{"attribute": "country", "operator": "IN", "values": []string{"de", "fr"}}},
			"value":      true, "variant": "on",
		}
		if origin.percentage > 0 {
			targeting["conditions"], targeting["percentage"] = []any{}, origin.percentage
		}
		claims["rules"] = []any{map[string]any{
			"key": "new-search", "metadata": map[string]any{"team": "search"}, "targetings": []any{targeting},
			"otherwise": map[string]any{"value": origin.hasFlag, "variant": "off", "reason": "STATIC"},
		}}
	}
	return claims
}

// etag is of what the claims say, and not of when.
func (origin *origin) etag() string {
	return fmt.Sprintf(`"%s-%v-%s-%v-%s.1"`, origin.limit, origin.sso, origin.then, origin.hasFlag, origin.signer.kid)
}

func (origin *origin) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	origin.mutex.Lock()
	origin.requests = append(origin.requests, request.Method+" "+request.URL.RequestURI())
	problem, status := origin.problem, origin.status
	origin.mutex.Unlock()
	if problem != "" {
		writer.Header().Set("content-type", "application/problem+json")
		writer.WriteHeader(status)
		_ = json.NewEncoder(writer).Encode(map[string]any{"code": problem, "status": status})
		return
	}
	switch request.URL.Path {
	case "/api/instances/globex-prod/snapshot", "/api/instances/globex-test/snapshot":
		origin.snapshot(writer, request)
	case "/api/offline/" + testOrganization + "/keys":
		origin.mutex.Lock()
		defer origin.mutex.Unlock()
		key := map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": origin.signer.kid, "x": origin.signer.x()}
		writer.Header().Set("content-type", "application/json")
		_ = json.NewEncoder(writer).Encode(map[string]any{"keys": []any{key}})
	case "/api/changes":
		origin.stream(writer, request)
	case "/api/instances/globex-prod/check":
		origin.mutex.Lock()
		origin.checks++
		origin.mutex.Unlock()
		writer.Header().Set("content-type", "application/json")
		_, _ = writer.Write([]byte(`{"instance":"globex-prod","license":"pro-v2","checks":[{"entitlement":"api-calls","allowed":true,"reason":"GRANTED"}]}`))
	case flagsPath:
		writer.Header().Set("content-type", "application/json")
		_, _ = writer.Write([]byte(`{"flags":[{"key":"new-search","value":true}]}`))
	default:
		writer.WriteHeader(http.StatusTeapot)
	}
}

func (origin *origin) snapshot(writer http.ResponseWriter, request *http.Request) {
	origin.mutex.Lock()
	defer origin.mutex.Unlock()
	writer.Header().Set("etag", origin.etag())
	writer.Header().Set("cache-control", "private, max-age=30")
	if request.Header.Get("if-none-match") == origin.etag() {
		writer.WriteHeader(http.StatusNotModified)
		return
	}
	writer.Header().Set("content-type", "application/jwt")
	_, _ = writer.Write([]byte(origin.signer.sign(origin.claims(strings.Split(request.URL.Path, "/")[3]))))
}

func (origin *origin) stream(writer http.ResponseWriter, request *http.Request) {
	frames := make(chan string, 16)
	origin.mutex.Lock()
	origin.streams[frames] = true
	origin.mutex.Unlock()
	defer func() {
		origin.mutex.Lock()
		delete(origin.streams, frames)
		origin.mutex.Unlock()
	}()
	writer.Header().Set("content-type", "text/event-stream")
	send := func(text string) {
		_, _ = writer.Write([]byte(text))
		writer.(http.Flusher).Flush()
	}
	send("retry: 50\nid: a\ndata: {\"type\":\"open\"}\n\n")
	for {
		select {
		case text := <-frames:
			if text == "" {
				return
			}
			send(text)
		case <-request.Context().Done():
			return
		}
	}
}

// change changes what the service grants, and reports it.
func (origin *origin) change(change func()) { origin.changeOf(`"instance":"globex-prod"`, change) }

// changeOf reports a change of what names select.
func (origin *origin) changeOf(names string, change func()) {
	origin.mutex.Lock()
	defer origin.mutex.Unlock()
	change()
	for frames := range origin.streams {
		frames <- "id: b\ndata: {\"type\":\"refetchEvaluation\"," + names + "}\n\n"
	}
}

// reject answers each request with a problem, and ends the streams. Without one, all is well again.
func (origin *origin) reject(status int, problem string) {
	origin.mutex.Lock()
	defer origin.mutex.Unlock()
	origin.status, origin.problem = status, problem
	for frames := range origin.streams {
		frames <- ""
	}
}

func (origin *origin) counted(method, path string) int {
	origin.mutex.Lock()
	defer origin.mutex.Unlock()
	count := 0
	for _, request := range origin.requests {
		if strings.HasPrefix(request, method+" "+path) {
			count++
		}
	}
	return count
}

func (origin *origin) streaming() int {
	origin.mutex.Lock()
	defer origin.mutex.Unlock()
	return len(origin.streams)
}

// localClient makes a local client, which is closed at the end of the test.
func localClient(t testing.TB, url string, options ...Option) *Client {
	t.Helper()
	client, err := New(url, "ksh_0123456789", append([]Option{WithRetries(0), WithTimeout(5 * time.Second)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(background) })
	return client
}

// client makes a local client, which is closed at the end of the test.
func (origin *origin) client(options ...Option) *Client {
	origin.t.Helper()
	return localClient(origin.t, origin.url, options...)
}

// live makes a local client that follows the changes of the instance.
func (origin *origin) live(options ...Option) *Client {
	origin.t.Helper()
	client := origin.client(options...)
	if _, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}); err != nil {
		origin.t.Fatal(err)
	}
	eventually(origin.t, "live", isIn(client, StateLive))
	return client
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func isIn(client *Client, state State) func() bool {
	return func() bool { return client.Status("globex-prod").State == state }
}
