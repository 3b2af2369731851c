package keyshelf

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/vectors"
)

const wellFormed = "https://keyshelf.example"

// text is a text of a vector. Values that are not texts are for languages without types.
type text struct {
	value  string
	isText bool
}

func (one *text) UnmarshalJSON(data []byte) error {
	if one.isText = data[0] == '"'; !one.isText {
		return nil
	}
	// The library would replace lone surrogates.
	marked := strings.NewReplacer(`\ud83d\ude00`, "\U0001F600", `\ud800`, `\u0001`, `\udc00`, `\u0002`).Replace(string(data))
	err := json.Unmarshal([]byte(marked), &one.value)
	one.value = strings.NewReplacer("\x01", "\xed\xa0\x80", "\x02", "\xed\xb0\x80").Replace(one.value)
	return err
}

type textCase struct {
	ID, Expected                                    string
	Address, Token, Key, Segment, Requested, Secret text
}

func configuration(t *testing.T) (file struct {
	Addresses, Tokens, IdempotencyKeys, Segments, Requested, Secrets []textCase
}) {
	t.Helper()
	vectors.Read(t, "configuration", &file)
	return file
}

// network is one in which no service responds. It records what is sent.
type network struct{ sent []*http.Request }

func (network *network) RoundTrip(request *http.Request) (*http.Response, error) {
	network.sent = append(network.sent, request)
	return nil, errors.New("unreachable")
}

func (network *network) client(t *testing.T, options ...Option) *Client {
	t.Helper()
	client, err := New(wellFormed, "ksh_0123456789", append([]Option{WithRemote(), WithRetries(0), WithRoundTripper(network)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (network *network) fault(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || IsAway(err) || len(network.sent) > 0 {
		t.Errorf("%s: %v, %d requests", what, err, len(network.sent))
	}
}

func wrongSetting(t *testing.T, id string, err error, setting, value string) {
	t.Helper()
	var wrong *ConfigurationError
	if !errors.As(err, &wrong) || wrong.Setting != setting || !strings.Contains(err.Error(), setting) || IsAway(err) {
		t.Fatalf("%s: %v", id, err)
	}
	for _, printed := range []string{fmt.Sprintf("%v %+v %#v", err, err, err), fmt.Sprintf("%q", err)} {
		if len(value) > 8 && strings.Contains(printed, strings.Trim(value, "\r\n\t ")) {
			t.Errorf("%s shows its value: %s", id, printed)
		}
	}
}

var open = WhenAway(Open)

func TestAddresses(t *testing.T) {
	for _, one := range configuration(t).Addresses {
		if !one.Address.isText {
			continue
		}
		network := &network{}
		client, err := New(one.Address.value, "ksh_0", WithRemote(), WithRetries(0), WithRoundTripper(network))
		if one.Expected == "INVALID" {
			wrongSetting(t, one.ID, err, "address", one.Address.value)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", one.ID, err)
			continue
		}
		if answer, err := client.Check(background, "globex-prod", Check{Entitlement: "sso"}, open); err != nil || answer.Source != FromPolicy {
			t.Error(one.ID, answer, err)
		}
		if client.transport.BaseURL != one.Expected || network.sent[0].URL.Path != pathOf(one.Expected)+"/api/instances/globex-prod/check" {
			t.Errorf("%s: %s, %s", one.ID, client.transport.BaseURL, network.sent[0].URL)
		}
	}
}

// pathOf is the decoded path of an address.
func pathOf(address string) string {
	request, _ := http.NewRequest("GET", address, nil)
	return request.URL.Path
}

func TestTokens(t *testing.T) {
	for _, one := range configuration(t).Tokens {
		if !one.Token.isText {
			continue
		}
		network, token := &network{}, one.Token.value
		source := WithTokenSource(func(context.Context) (string, error) { return token, nil })
		read, err := New(wellFormed, "", WithRemote(), WithRetries(0), WithRoundTripper(network), source)
		if err != nil {
			t.Fatal(err)
		}
		client, err := New(wellFormed, token, WithRemote(), WithRetries(0), WithRoundTripper(network))
		if one.Expected == "INVALID" {
			wrongSetting(t, one.ID, err, "token", token)
			for round := 0; round < 2; round++ {
				_, err := read.Check(background, "globex-prod", Check{Entitlement: "sso"}, open)
				wrongSetting(t, one.ID, err, "token", token)
				network.fault(t, one.ID, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", one.ID, err)
			continue
		}
		for _, one := range []struct {
			*Client
			textCase
		}{{client, one}, {read, one}} {
			if answer, err := one.Check(background, "globex-prod", Check{Entitlement: "sso"}, open); err != nil || answer.Source != FromPolicy {
				t.Error(one.ID, answer, err)
			}
			if sent := network.sent[len(network.sent)-1].Header.Get("authorization"); sent != "Bearer "+one.Expected {
				t.Errorf("%s: %q", one.ID, sent)
			}
			if printed := fmt.Sprintf("%v %+v %#v", one.Client, one.Client, *one.Client); strings.Contains(printed, one.Expected) {
				t.Error(printed)
			}
		}
	}
}

func TestIdempotencyKeys(t *testing.T) {
	for _, one := range configuration(t).IdempotencyKeys {
		if !one.Key.isText {
			continue
		}
		network, key := &network{}, one.Key.value
		client := network.client(t)
		_, err := client.Consume(background, "globex-prod", Check{Entitlement: "exports"}, key, open)
		if one.Expected == "INVALID" {
			network.fault(t, one.ID, err)
			if key != "" {
				network.fault(t, one.ID, client.Call(background, "POST", "/customers", map[string]any{}, nil, key))
			}
		} else if err != nil || network.sent[0].Header.Get("idempotency-key") != one.Expected {
			t.Error(one.ID, err)
		}
	}
}

func TestSegments(t *testing.T) {
	for _, one := range configuration(t).Segments {
		if !one.Segment.isText {
			continue
		}
		network, slug := &network{}, one.Segment.value
		client := network.client(t)
		calls := []func() error{
			func() error { _, err := client.Check(background, slug, Check{Entitlement: "sso"}, open); return err },
			func() error {
				_, err := client.Consume(background, slug, Check{Entitlement: "sso"}, "k", open)
				return err
			},
			func() error {
				_, err := client.Report(background, Report{Instance: slug, Entitlement: "a", Value: "1"})
				return err
			},
			func() error {
				_, err := client.Report(background, Report{Instance: "a", Entitlement: slug, Value: "1"})
				return err
			},
			func() error { _, err := client.AcquireSeat(background, slug, "a", "anna", SeatOptions{}); return err },
			func() error { _, err := client.AcquireSeat(background, "a", slug, "anna", SeatOptions{}); return err },
		}
		for _, call := range calls {
			if err := call(); one.Expected == "INVALID" {
				network.fault(t, one.ID, err)
			} else if err != nil && !IsAway(err) {
				t.Error(one.ID, err)
			}
		}
		if one.Expected != "INVALID" && network.sent[0].URL.EscapedPath() != "/api/instances/"+one.Expected+"/check" {
			t.Error(one.ID, network.sent[0].URL)
		}
	}
}

func TestAmountsOfChecks(t *testing.T) {
	for _, one := range configuration(t).Requested {
		network := &network{}
		_, err := network.client(t).Check(background, "globex-prod", Check{"exports", Amount(one.Requested.value)}, open)
		if one.Expected == "INVALID" {
			network.fault(t, one.ID, err)
			continue
		}
		body, _ := network.sent[0].GetBody()
		if sent, _ := io.ReadAll(body); err != nil || !strings.Contains(string(sent), `"requested":`+one.Expected+"}") {
			t.Error(one.ID, string(sent), err)
		}
	}
}

func TestSecretsOfWebhooks(t *testing.T) {
	body := []byte(`{"type":"CUSTOMER_CREATION"}`)
	verify := func(secret string, key []byte) error {
		mac := hmac.New(sha256.New, key)
		mac.Write(append([]byte("1.1769850000."), body...))
		header := http.Header{}
		header.Set("webhook-id", "1")
		header.Set("webhook-timestamp", "1769850000")
		header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		_, err := verifyWebhook(secret, header, body, time.Unix(1769850000, 0))
		return err
	}
	for _, one := range configuration(t).Secrets {
		secret := one.Secret.value
		if !one.Secret.isText {
			continue
		}
		if one.Expected == "INVALID" {
			for _, key := range [][]byte{nil, []byte(strings.TrimPrefix(secret, "whsec_"))} {
				wrongSetting(t, one.ID, verify(secret, key), "secret", secret)
			}
			continue
		}
		key, _ := hex.DecodeString(one.Expected)
		if err := verify(secret, key); err != nil {
			t.Error(one.ID, err)
		}
	}
}
