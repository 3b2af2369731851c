package keyshelf

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// noListener is an address at which nothing listens.
const noListener = "http://127.0.0.1:1"

type recorded struct {
	method, path, body string
	header             http.Header
}

// reply is a response. With `lost` the connection is closed; with `cut` the body breaks off. Without a content-type it is that
// of the service for this status; an empty one sends none.
type reply struct {
	status    int
	body      string
	header    map[string]string
	lost, cut bool
}

type server struct {
	url      string
	mutex    sync.Mutex
	requests []recorded
}

// serve runs a script, which gets each request and its number from 0 on.
func serve(t *testing.T, script func(recorded, int) reply) *server {
	t.Helper()
	started := &server{}
	handler := func(writer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		sent := recorded{request.Method, request.URL.EscapedPath(), string(body), request.Header}
		started.mutex.Lock()
		number := len(started.requests)
		started.requests = append(started.requests, sent)
		started.mutex.Unlock()
		answer := script(sent, number)
		if answer.lost {
			panic(http.ErrAbortHandler)
		}
		if answer.status == 0 {
			answer.status = 200
		}
		writer.Header().Set("content-type", "application/problem+json")
		if answer.status < 300 {
			writer.Header().Set("content-type", "application/json")
		}
		for name, value := range answer.header {
			writer.Header().Set(name, value)
			if value == "" {
				// Without a list, net/http guesses the media type.
				writer.Header()[http.CanonicalHeaderKey(name)] = nil
			}
		}
		if answer.cut {
			writer.Header().Set("content-length", strconv.Itoa(len(answer.body)+1))
		}
		writer.WriteHeader(answer.status)
		_, _ = io.WriteString(writer, answer.body)
	}
	listening := httptest.NewServer(http.HandlerFunc(handler))
	t.Cleanup(listening.Close)
	started.url = listening.URL
	return started
}

func (started *server) last() recorded {
	started.mutex.Lock()
	defer started.mutex.Unlock()
	return started.requests[len(started.requests)-1]
}

func (started *server) count() int {
	started.mutex.Lock()
	defer started.mutex.Unlock()
	return len(started.requests)
}

// client makes a remote client without retries, unless an option sets them.
func (started *server) client(t *testing.T, options ...Option) *Client {
	t.Helper()
	return clientOf(t, started.url, options...)
}

func clientOf(t *testing.T, url string, options ...Option) *Client {
	t.Helper()
	client, err := New(url, "ksh_0123456789", append([]Option{WithRemote(), WithRetries(0)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

var unavailable = reply{status: 503, body: `{"code":"Service.Unavailable"}`, header: map[string]string{"retry-after": "0"}}

// granted answers a check.
func granted(sent recorded) reply {
	var body struct{ Checks []map[string]any }
	_ = json.Unmarshal([]byte(sent.body), &body)
	for _, check := range body.Checks {
		check["allowed"], check["reason"] = true, "GRANTED"
	}
	text, _ := json.Marshal(map[string]any{"instance": "globex-prod", "license": "pro", "checks": body.Checks})
	return reply{body: string(text)}
}

var background = context.Background()

func TestConsumptionIsRepeatedWithItsKey(t *testing.T) {
	for _, lost := range []reply{{lost: true}, {body: `{"checks":[]}`, cut: true}, unavailable} {
		server := serve(t, func(sent recorded, number int) reply {
			if number == 0 {
				return lost
			}
			return granted(sent)
		})
		answer, err := server.client(t, WithRetries(2)).Consume(background, "globex-prod", Check{"api-calls", "5"}, "job-1")
		if err != nil || !answer.Allowed || answer.Source != FromService {
			t.Fatal(answer, err)
		}
		for _, sent := range server.requests {
			if sent.header.Get("idempotency-key") != "job-1" || sent.body != server.requests[0].body {
				t.Error(sent)
			}
		}
	}
	if _, err := clientOf(t, noListener).Consume(background, "globex-prod", Check{Entitlement: "sso"}, ""); err == nil {
		t.Error("consumption without a key is taken")
	}
}

func TestAPostWithoutAKeyIsNotRepeated(t *testing.T) {
	server := serve(t, func(recorded, int) reply { return reply{lost: true} })
	err := server.client(t, WithRetries(2)).Call(background, "POST", "/instances/a/entitlements/b/reservations", map[string]any{}, nil, "")
	if !IsAway(err) || server.count() != 1 {
		t.Error(err, server.count())
	}
}

func TestNoErrorHasTheTokenAndNoRedirectIsFollowed(t *testing.T) {
	client, _ := New(noListener, "ksh_secret", WithRemote(), WithRetries(0))
	if _, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}); err == nil || strings.Contains(err.Error(), "ksh_secret") {
		t.Error(err)
	}
	server := serve(t, func(recorded, int) reply {
		return reply{status: 302, header: map[string]string{"location": noListener}}
	})
	if err := server.client(t).Call(background, "GET", "/me", nil, nil, ""); !IsProblem(err, "HTTP.302") {
		t.Error(err)
	}
	if _, err := New("keyshelf.example", "ksh_0"); err == nil {
		t.Error("an address without a scheme is taken")
	}
	if _, err := client.Check(background, "", Check{Entitlement: "sso"}); err == nil || IsAway(err) {
		t.Error(err)
	}
}

func TestTimeIsBound(t *testing.T) {
	released := make(chan struct{})
	silent := serve(t, func(recorded, int) reply { <-released; return reply{} })
	defer close(released)
	if _, err := silent.client(t, WithTimeout(50*time.Millisecond)).Check(background, "a", Check{Entitlement: "sso"}); !IsAway(err) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(background)
	cancel()
	if _, err := silent.client(t).Check(ended, "a", Check{Entitlement: "sso"}, WhenAway(Open)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	slow := serve(t, func(recorded, int) reply { return reply{status: 503, header: map[string]string{"retry-after": "5"}} })
	began := time.Now()
	_, err := slow.client(t, WithRetries(2), WithDeadline(time.Second)).Check(background, "a", Check{Entitlement: "sso"})
	// It does not wait for what would come too late.
	if !IsAway(err) || slow.count() != 1 || time.Since(began) > time.Second {
		t.Error(err, slow.count())
	}
}

func TestTheCallerDecidesWhileTheServiceIsAway(t *testing.T) {
	server := serve(t, func(sent recorded, number int) reply {
		if number == 0 {
			return granted(sent)
		}
		return unavailable
	})
	client := server.client(t)
	if _, err := client.Check(background, "globex-prod", Check{"api-calls", "5"}); err != nil {
		t.Fatal(err)
	}
	for policy, isAllowed := range map[Policy]bool{Open: true, Closed: false} {
		answer, err := client.Check(background, "globex-prod", Check{"api-calls", "5"}, WhenAway(policy))
		if err != nil || answer.Allowed != isAllowed || answer.Reason != "SERVICE_AWAY" || answer.Source != FromPolicy {
			t.Error(answer, err)
		}
	}
	result, err := client.CheckAll(background, "globex-prod", []Check{{"api-calls", "6"}, {"sso", ""}}, WhenAway(Closed))
	if err != nil || result.Allowed() || result.Confirmed {
		t.Error(result, err)
	}
	if _, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}); !IsAway(err) {
		t.Error(err)
	}
	rejecting := serve(t, func(recorded, int) reply { return reply{status: 401, body: `{"code":"Auth.InvalidCredential"}`} })
	if _, err := rejecting.client(t).Check(background, "a", Check{Entitlement: "sso"}, WhenAway(Open)); !IsProblem(err, "Auth.InvalidCredential") {
		t.Error(err)
	}
	for _, body := range []string{"<html>", "{}", "[]", `{"checks":[7]}`} {
		page := serve(t, func(recorded, int) reply { return reply{body: body} })
		if answer, err := page.client(t).Check(background, "a", Check{Entitlement: "sso"}, WhenAway(Closed)); err != nil || answer.Source != FromPolicy {
			t.Error(body, answer, err)
		}
	}
}

func TestSeats(t *testing.T) {
	lease := reply{status: 201, body: `{"id":"l-1","expiresAt":"2026-01-31T09:09:00.000Z"}`}
	limit := reply{status: 409, body: `{"code":"AcquireLease.LimitReached"}`}
	replies := []reply{lease, unavailable, lease, limit, {lost: true}, {status: 404, body: `{"code":"Lease.NotFound"}`}}
	server := serve(t, func(_ recorded, number int) reply { return replies[number] })
	client := server.client(t)
	seat, err := client.AcquireSeat(background, "globex-prod", "editors", "anna", SeatOptions{TTL: 30 * time.Second})
	if err != nil || !seat.IsHeld() || seat.Remaining() > 30*time.Second {
		t.Fatal(err)
	}
	seat.ttl = 30 * time.Millisecond
	if err := seat.Keep(background); !IsProblem(err, "AcquireLease.LimitReached") {
		t.Error(err)
	}
	if server.requests[0].header.Get("idempotency-key") == server.requests[2].header.Get("idempotency-key") {
		t.Error("a renewal has the key of another request")
	}
	seat.transport.Retries = 1
	if err := seat.Release(background); err != nil || seat.IsHeld() {
		t.Error(err)
	}
	if last := server.last(); last.method != "DELETE" || !strings.HasSuffix(last.path, "/leases/l-1") {
		t.Error(last)
	}
	if err := seat.Renew(background); !errors.Is(err, ErrSeatReleased) {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	body := `{"flags":[{"key":"a","value":true},{"key":"n","value":2.5},{"key":"s","value":"x"},{"key":"e","errorCode":"X"}]}`
	server := serve(t, func(sent recorded, number int) reply {
		if number >= 3 {
			return unavailable
		}
		answer := reply{body: body, header: map[string]string{"etag": `"1"`}}
		if sent.header.Get("if-none-match") == `"1"` {
			answer.status, answer.body = 304, ""
		}
		return answer
	})
	client := server.client(t)
	globex := map[string]any{"targetingKey": "globex-prod"}
	for round := 0; round < 2; round++ {
		flags, err := client.Flags(background, globex)
		if err != nil || !flags.Bool("a", false) || flags.Number("n", 0) != 2.5 || flags.String("s", "") != "x" {
			t.Fatal(flags, err)
		}
		if flags.String("a", "d") != "d" || !flags.Bool("e", true) || flags.Bool("missing", false) {
			t.Error("a flag without a value of the type has not its default")
		}
	}
	if server.requests[1].header.Get("if-none-match") != `"1"` {
		t.Error("the second request has no ETag")
	}
	if _, err := client.Flags(background, map[string]any{"targetingKey": "initech"}); err != nil || server.last().header.Get("if-none-match") != "" {
		t.Error(err)
	}
	if unknown, err := client.Flags(background, globex, WhenAway(Closed)); err != nil || unknown.Source != FromPolicy || !unknown.Bool("a", true) {
		t.Error(unknown, err)
	}
	if _, err := client.Flags(background, globex); !IsAway(err) {
		t.Error(err)
	}
}
