package keyshelf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"keyshelf.example/keyshelf/offline"
)

func TestOtherFaultsFailTheCallWhateverAPolicySays(t *testing.T) {
	network := &network{}
	vault := WithTokenSource(func(context.Context) (string, error) {
		return "", &ConnectionError{Origin: "vault", Cause: errors.New("unreachable")}
	})
	for _, call := range []func() error{
		func() error { return network.client(t, vault).Call(background, "GET", "/me", nil, nil, "") },
		func() error {
			_, err := network.client(t, vault).Check(background, "a", Check{Entitlement: "b"}, open)
			return err
		},
		func() error { _, err := network.client(t, vault).Flags(background, nil, open); return err },
	} {
		err := call()
		wrongSetting(t, "vault", err, "token", "")
		network.fault(t, "vault", err)
	}
	client := network.client(t)
	many := make([]Check, 101)
	for place := range many {
		many[place] = Check{Entitlement: "sso"}
	}
	for _, checks := range [][]Check{{}, many, {{Entitlement: ""}}, {{Entitlement: "a\n"}}, {{Entitlement: "\xff"}}} {
		_, err := client.CheckAll(background, "globex-prod", checks, open)
		network.fault(t, fmt.Sprint(checks), err)
	}
	_, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}, WhenAway("maybe"))
	network.fault(t, "policy", err)
	_, err = client.Consume(background, "globex-prod", Check{Entitlement: "sso"}, "key", At(time.Now()), open)
	network.fault(t, "at", err)
	for _, value := range []any{math.NaN(), math.Inf(1), "\xff", map[string]any{"\xed\xa0\x80": 1}, []any{"\xed\xb0\x80"}, make(chan int)} {
		_, err := client.Flags(background, map[string]any{"value": value}, open)
		network.fault(t, fmt.Sprint(value), err)
		_, err = client.AcquireSeat(background, "a", "b", "anna", SeatOptions{Metadata: map[string]any{"value": value}})
		network.fault(t, fmt.Sprint(value), err)
	}
	_, err = client.AcquireSeat(background, "a", "b", "", SeatOptions{})
	network.fault(t, "holder", err)
	_, err = client.AcquireSeat(background, "a", "b", "anna", SeatOptions{TTL: -1})
	network.fault(t, "TTL", err)
	_, err = client.Report(background, Report{Instance: "a", Entitlement: "b", Value: "1234567890123456789"})
	network.fault(t, "value", err)
	for _, path := range []string{"", "me", "/a b", "/a\nb", "/ä", "/a#b", "/../platform", "/a/%2e%2e/b", `/a\b`} {
		network.fault(t, path, client.Call(background, "GET", path, nil, nil, ""))
	}
	for _, method := range []string{"", "GE T", "GET\r\nx: y", "get"} {
		network.fault(t, method, client.Call(background, method, "/me", nil, nil, ""))
	}
}

func TestSettingsThatCanNeverWork(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for setting, option := range map[string]Option{
		"timeout": WithTimeout(0), "deadline": WithDeadline(-1), "retries": WithRetries(-1), "policy": WithWhenAway("maybe"),
		"start timeout": WithStartTimeout(-1), "keys": WithKeys(offline.Keys{}), "issuer": WithIssuer("acme"),
		"directory": WithDirectory(filepath.Join(file, "directory")),
	} {
		_, err := New(wellFormed, "ksh_0", option)
		wrongSetting(t, setting, err, setting, "")
	}
	client := (&network{}).client(t)
	_, err := client.UsageBuffer(BufferOptions{Path: filepath.Join(t.TempDir(), "missing", "usage.jsonl")})
	wrongSetting(t, "path", err, "path", "")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	_, err = client.UsageBuffer(BufferOptions{Capacity: -1})
	wrongSetting(t, "capacity", err, "capacity", "")
	_, err = client.UsageBuffer(BufferOptions{Source: "\xff"})
	wrongSetting(t, "source", err, "source", "")
}
