package keyshelf

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func listenAt(address string) (net.Listener, error) { return net.Listen("tcp", address) }

func TestAProductSurvivesAnOutageAndARestart(t *testing.T) {
	origin := newOrigin(t)
	directory := filepath.Join(t.TempDir(), "state")
	client := origin.client(WithDirectory(directory))
	checkOne(t, client, "sso")
	origin.stop()
	if answer := checkOne(t, client, "sso"); !answer.Allowed || answer.Source != FromSnapshot {
		t.Error(answer)
	}
	if err := client.Close(background); err != nil {
		t.Fatal(err)
	}
	restarted := origin.client(WithDirectory(directory))
	if err := restarted.Start(background, "globex-prod"); err != nil {
		t.Fatal(err)
	}
	if answer := checkOne(t, restarted, "sso"); !answer.Allowed || answer.Source != FromSnapshot {
		t.Error(answer)
	}
	eventually(t, "why", func() bool { return IsAway(restarted.Status("globex-prod").Err) })
	if status := restarted.Status("globex-prod"); status.State != StateStale || time.Until(*status.ExpiresAt) < time.Hour {
		t.Error(status)
	}
	origin.again()
	eventually(t, "live", isIn(restarted, StateLive))
}

func TestAnotherProcessBesideStartsByTheSameDirectory(t *testing.T) {
	origin := newOrigin(t)
	directory := t.TempDir()
	first := origin.client(WithDirectory(directory))
	checkOne(t, first, "sso")
	origin.stop()
	second := origin.client(WithDirectory(directory))
	if answer := checkOne(t, second, "sso"); !answer.Allowed || answer.Source != FromSnapshot {
		t.Error(answer)
	}
	for _, slot := range []string{"slot-0", "slot-1"} {
		if info, err := os.Stat(filepath.Join(directory, slot)); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(slot, err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(directory, "slot-0", "snapshot-*.json"))
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(err)
	}
}

func TestConsumptionWithoutTheService(t *testing.T) {
	consumeOne := func(t *testing.T, client *Client, entitlement string, options ...CheckOption) *CheckResult {
		t.Helper()
		result, err := client.ConsumeAll(background, "globex-prod", []Check{{Entitlement: entitlement}}, "", options...)
		if err != nil || result.Confirmed != (result.Checks[0].Source == FromSnapshot) {
			t.Fatal(result, err)
		}
		return result
	}
	for then, isAllowed := range map[string]bool{"DENY": false, "ALLOW": true} {
		origin := newOrigin(t)
		origin.then = then
		client := origin.client()
		checkOne(t, client, "sso")
		origin.stop()
		for _, policy := range []Policy{Open, Closed} {
			one := consumeOne(t, client, "api-calls", WhenAway(policy)).Checks[0]
			if one.Allowed != isAllowed || one.Reason != "SERVICE_AWAY" || one.Source != FromPolicy {
				t.Error(then, one)
			}
		}
		if one := consumeOne(t, client, "other").Checks[0]; one.Allowed || one.Reason != "ENTITLEMENT_NOT_FOUND" {
			t.Error(then, one)
		}
		if _, err := client.Consume(background, "globex-prod", Check{Entitlement: "api-calls"}, "job", WhenAway(Fail)); !IsAway(err) {
			t.Error(err)
		}
	}
}

func TestAConsumptionThatIsRejectedIsDeniedIfASnapshotIsToo(t *testing.T) {
	origin := newOrigin(t)
	client := origin.live()
	origin.mutex.Lock()
	origin.status, origin.problem = 401, "Auth.InvalidCredential"
	origin.mutex.Unlock()
	used, err := client.ConsumeAll(background, "globex-prod", []Check{{Entitlement: "api-calls"}}, "job")
	if err != nil || used.Allowed() || used.Checks[0].Reason != "ACCESS_REVOKED" || used.Checks[0].Source != FromService {
		t.Error(used, err)
	}
	if state := client.Status("globex-prod").State; state != StateRevoked {
		t.Error(state)
	}
	// Before any snapshot was held, a wrong token must be seen.
	if _, err := origin.client().ConsumeAll(background, "globex-prod", []Check{{Entitlement: "api-calls"}}, "job"); !IsProblem(err, "Auth.InvalidCredential") {
		t.Error(err)
	}
}

func TestARevokedKeyEndsTheAccessAndNoRestartRevivesIt(t *testing.T) {
	origin := newOrigin(t)
	directory := t.TempDir()
	client := origin.live(WithDirectory(directory))
	origin.reject(401, "Auth.InvalidCredential")
	eventually(t, "revoked", isIn(client, StateRevoked))
	answer := checkOne(t, client, "sso", WhenAway(Open))
	if answer.Allowed || answer.Reason != "ACCESS_REVOKED" || answer.Source != FromService {
		t.Error(answer)
	}
	before := len(origin.requests)
	used, err := client.ConsumeAll(background, "globex-prod", []Check{{Entitlement: "api-calls"}}, "job")
	if err != nil || used.Allowed() || used.Checks[0].Reason != "ACCESS_REVOKED" || len(origin.requests) != before {
		t.Error(used, err)
	}
	if flags, err := client.Flags(background, nil); err != nil || flags.Source != FromService || flags.Bool("new-search", false) {
		t.Error(flags, err)
	}
	if !IsProblem(client.Status("globex-prod").Err, "Auth.InvalidCredential") {
		t.Error(client.Status("globex-prod"))
	}
	_ = client.Close(background)
	origin.stop()
	restarted := origin.client(WithDirectory(directory))
	if answer := checkOne(t, restarted, "sso", WhenAway(Open)); answer.Reason != "ACCESS_REVOKED" {
		t.Error(answer)
	}
	origin.reject(0, "")
	origin.again()
	if err := restarted.Refresh(background, "globex-prod"); err != nil || !checkOne(t, restarted, "sso").Allowed {
		t.Error(err)
	}
	origin.reject(401, "Auth.InvalidCredential")
	eventually(t, "revoked again", isIn(restarted, StateRevoked))
	_ = restarted.Close(background)
	origin.reject(0, "")
	// With another key, a start waits for what the service says now.
	renewed := origin.client(WithDirectory(directory))
	if err := renewed.Start(background, "globex-prod"); err != nil || !checkOne(t, renewed, "sso").Allowed {
		t.Error(err)
	}
}

func TestAWrongTokenIsSeen(t *testing.T) {
	origin := newOrigin(t)
	origin.reject(401, "Auth.InvalidCredential")
	client := origin.client(WithWhenAway(Open))
	if err := client.Start(background, "globex-prod"); !IsProblem(err, "Auth.InvalidCredential") {
		t.Error(err)
	}
	for _, call := range []func() error{
		func() error { _, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}); return err },
		func() error {
			_, err := client.Consume(background, "globex-prod", Check{Entitlement: "sso"}, "job")
			return err
		},
		func() error { _, err := client.Flags(background, nil); return err },
	} {
		if err := call(); !IsProblem(err, "Auth.InvalidCredential") {
			t.Error(err)
		}
	}
	vault := errors.New("sealed")
	sealed := origin.client(WithWhenAway(Open), WithTokenSource(func(context.Context) (string, error) { return "", vault }))
	if _, err := sealed.Check(background, "globex-prod", Check{Entitlement: "sso"}); !errors.Is(err, vault) {
		t.Error(err)
	}
	_, err := client.Check(background, "a\n", Check{Entitlement: "sso"})
	if err == nil || IsAway(err) {
		t.Error(err)
	}
}

func TestWhenNothingIsKnownTheCallerDecides(t *testing.T) {
	client, err := New(noListener, "ksh_0123456789")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(background)
	if err := client.Start(background, "globex-prod"); err != nil {
		t.Error(err)
	}
	for policy, isAllowed := range map[Policy]bool{Open: true, Closed: false} {
		answer := checkOne(t, client, "sso", WhenAway(policy))
		if answer.Allowed != isAllowed || answer.Reason != "NO_SNAPSHOT" || answer.Source != FromPolicy {
			t.Error(answer)
		}
		if answer, err = client.Consume(background, "globex-prod", Check{Entitlement: "sso"}, "", WhenAway(policy)); err != nil || answer.Allowed != isAllowed {
			t.Error(answer, err)
		}
	}
	if checkOne(t, client, "sso").Allowed {
		t.Error("the default is not closed")
	}
	if _, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}, WhenAway(Fail)); !IsAway(err) {
		t.Error(err)
	}
	flags, err := client.Flags(background, nil)
	if err != nil || flags.Source != FromPolicy || !flags.Bool("new-search", true) {
		t.Error(flags, err)
	}
	if _, err := client.Flags(background, nil, WhenAway(Fail)); !IsAway(err) {
		t.Error(err)
	}
}

func TestACallWaitsForTheFirstSnapshotAndNotLonger(t *testing.T) {
	released := make(chan struct{})
	silent := serve(t, func(recorded, int) reply { <-released; return reply{} })
	defer close(released)
	client, err := New(silent.url, "ksh_0123456789", WithStartTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(background)
	if answer := checkOne(t, client, "sso", WhenAway(Open)); answer.Reason != "NO_SNAPSHOT" || !answer.Allowed {
		t.Error(answer)
	}
	slow, err := New(silent.url, "ksh_0123456789", WithStartTimeout(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close(background)
	ended, cancel := context.WithCancel(background)
	cancel()
	if _, err := slow.Check(ended, "globex-prod", Check{Entitlement: "sso"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAProxyEndsNothing(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client()
	checkOne(t, client, "sso")
	origin.stop()
	page := func(status int) {
		server := serve(t, func(recorded, int) reply {
			return reply{status: status, body: "<html>", header: map[string]string{"content-type": "text/html"}}
		})
		client.transport.BaseURL = server.url
	}
	for _, status := range []int{200, 302, 401, 403, 404, 503} {
		page(status)
		if err := client.Refresh(background, "globex-prod"); !IsAway(err) {
			t.Error(status, err)
		}
		if answer := checkOne(t, client, "sso"); !answer.Allowed || answer.Source != FromSnapshot {
			t.Error(status, answer)
		}
	}
}
