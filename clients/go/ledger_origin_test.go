package keyshelf

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/ledgertest"
)

// fate is what becomes of refills.
type fate int

const (
	answered fate = iota
	// lost after they were counted, refused before; held are answered when the test says so.
	lost
	refused
	held
)

// ledgerOrigin is a service of snapshots and tranches that loses responses, and can be away.
type ledgerOrigin struct {
	t         testing.TB
	url       string
	listening *httptest.Server
	signer    *signer
	model     *ledgertest.Model

	mutex   sync.Mutex
	fate    fate
	free    chan struct{}
	refills []ledgertest.Request
}

// newLedgerOrigin starts a service. It is stopped at the end of the test.
func newLedgerOrigin(t testing.TB) *ledgerOrigin {
	t.Helper()
	model := ledgertest.New(time.Now,
		ledgertest.Sold{Slug: "small", Aggregation: "SUM", Limit: 10}, ledgertest.Sold{Slug: "medium", Aggregation: "SUM", Limit: 1_000},
		ledgertest.Sold{Slug: "large", Aggregation: "SUM", Limit: 1_000_000_000}, ledgertest.Sold{Slug: "jobs", Aggregation: "COUNT", Limit: 100},
		ledgertest.Sold{Slug: "peak", Aggregation: "MAX", Limit: 100},
	)
	started := &ledgerOrigin{t: t, signer: newSigner("first"), model: model, free: make(chan struct{})}
	started.listening = httptest.NewServer(started)
	started.url = started.listening.URL
	t.Cleanup(started.stop)
	return started
}

func (origin *ledgerOrigin) stop() {
	origin.next(refused)
	origin.listening.CloseClientConnections()
	origin.listening.Close()
}

// again starts a stopped service at its address.
func (origin *ledgerOrigin) again() {
	origin.t.Helper()
	origin.next(answered)
	origin.listening = serverAt(origin.t, origin.url, origin)
}

// serverAt serves at an address that was free a moment ago.
func serverAt(t testing.TB, url string, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	eventually(t, "the address is free", func() bool {
		listener, err := listenAt(strings.TrimPrefix(url, "http://"))
		server.Listener = listener
		return err == nil
	})
	server.Start()
	return server
}

// next says what becomes of refills from now on. Those that are held are freed.
func (origin *ledgerOrigin) next(fate fate) {
	origin.mutex.Lock()
	defer origin.mutex.Unlock()
	close(origin.free)
	origin.fate, origin.free = fate, make(chan struct{})
}

func (origin *ledgerOrigin) sent() []ledgertest.Request {
	origin.mutex.Lock()
	defer origin.mutex.Unlock()
	return append([]ledgertest.Request{}, origin.refills...)
}

func (origin *ledgerOrigin) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	header := writer.Header()
	header.Set("content-type", "application/json")
	switch {
	case strings.HasSuffix(request.URL.Path, "/tranches"):
		origin.refill(writer, request)
	case strings.HasSuffix(request.URL.Path, "/snapshot"):
		header.Set("content-type", "application/jwt")
		header.Set("cache-control", "private, max-age=30")
		header.Set("etag", `"fetched.1"`)
		_, _ = writer.Write([]byte(origin.signer.sign(origin.model.Claims())))
	case strings.HasSuffix(request.URL.Path, "/keys"):
		key := map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": origin.signer.kid, "x": origin.signer.x()}
		_ = json.NewEncoder(writer).Encode(map[string]any{"keys": []any{key}})
	default:
		fail(writer, http.StatusNotFound, "Request.NotFound")
	}
}

func fail(writer http.ResponseWriter, status int, code string) {
	writer.Header().Set("content-type", "application/problem+json")
	writer.WriteHeader(status)
	_ = json.NewEncoder(writer).Encode(map[string]any{"code": code, "status": status, "detail": code})
}

func (origin *ledgerOrigin) refill(writer http.ResponseWriter, request *http.Request) {
	var body ledgertest.Request
	if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
		origin.t.Error(err)
	}
	origin.mutex.Lock()
	origin.refills = append(origin.refills, body)
	fate, free := origin.fate, origin.free
	origin.mutex.Unlock()
	switch fate {
	case refused:
		panic(http.ErrAbortHandler)
	case held:
		select {
		case <-free:
		case <-request.Context().Done():
			return
		}
	}
	response, snapshot, problem := origin.model.Refill(body)
	if fate == lost {
		panic(http.ErrAbortHandler)
	}
	if problem != "" {
		fail(writer, http.StatusConflict, problem)
		return
	}
	response["snapshot"] = origin.signer.sign(snapshot)
	_ = json.NewEncoder(writer).Encode(response)
}

// client makes a local client, which is closed at the end of the test.
func (origin *ledgerOrigin) client(options ...Option) *Client {
	origin.t.Helper()
	return localClient(origin.t, origin.url, options...)
}

// consume consumes, and fails the test if the call fails.
func consume(t testing.TB, client *Client, entitlement string, amount Amount, key string, options ...CheckOption) Answer {
	t.Helper()
	answer, err := client.Consume(background, "globex-prod", Check{entitlement, amount}, key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// closed closes a client.
func closed(t testing.TB, client *Client) {
	t.Helper()
	if err := client.Close(background); err != nil {
		t.Fatal(err)
	}
}

// unspent is what a client may consume without a request.
func unspent(client *Client, entitlement string) int64 {
	for _, one := range client.Status("globex-prod").Tranches {
		if one.Entitlement == entitlement {
			return one.Unspent.Rat().Num().Int64()
		}
	}
	return 0
}

// usage compares what the service counted.
func (origin *ledgerOrigin) usage(entitlement string, expected int64) {
	origin.t.Helper()
	if used := origin.model.Usage(entitlement); used != expected {
		origin.t.Errorf("%d of %s are counted, and not %d", used, entitlement, expected)
	}
}
