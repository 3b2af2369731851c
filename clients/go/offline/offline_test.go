package offline

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/vectors"
)

type bundleCase struct {
	ID, Token          string
	Keys               Keys
	Issuer, Now        string
	State              *State
	Instance           string
	Families           []string
	Fingerprints       []string
	Revocations        *string
	RequireRevocations bool
	Expected           json.RawMessage
}

type bundleFile struct{ Cases []bundleCase }

func timeOf(t *testing.T, text string) time.Time {
	t.Helper()
	millis, ok := values.Millis(text)
	if !ok {
		t.Fatalf("%q is not an instant", text)
	}
	return time.UnixMilli(millis)
}

func (one bundleCase) options(t *testing.T) Options {
	return Options{
		Keys: one.Keys, Issuer: one.Issuer, State: one.State, Now: timeOf(t, one.Now), Instance: one.Instance,
		Families: one.Families, Fingerprints: one.Fingerprints, Revocations: one.Revocations,
		RequireRevocations: one.RequireRevocations,
	}
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func TestEd25519(t *testing.T) {
	var file struct {
		Cases []struct {
			ID, PublicKey, Message, Signature string
			Valid                             bool
		}
	}
	vectors.Read(t, "ed25519", &file)
	data := func(text string) []byte {
		bytes, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	for _, one := range file.Cases {
		if verifySignature(data(one.PublicKey), data(one.Message), data(one.Signature)) != one.Valid {
			t.Errorf("%s must be %v", one.ID, one.Valid)
		}
	}
}

func TestBundles(t *testing.T) {
	var file bundleFile
	vectors.Read(t, "offline/bundles", &file)
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			answer := Verify(one.Token, one.options(t))
			actual := map[string]any{"status": answer.Status, "renewDue": answer.RenewDue, "state": answer.State}
			vectors.Equal(t, actual, one.Expected)
			if (answer.Claims != nil) != (answer.Status == Valid) {
				t.Errorf("claims %v", answer.Claims)
			}
		})
	}
}

func TestNoFlippedBitIsValid(t *testing.T) {
	var file bundleFile
	vectors.Read(t, "offline/bundles", &file)
	good := file.Cases[0]
	for at := 0; at < len(good.Token); at++ {
		for _, letter := range "AB" {
			token := good.Token[:at] + string(letter) + good.Token[at+1:]
			if token != good.Token && Verify(token, good.options(t)).Status == Valid {
				t.Fatalf("the letter %d may be another one", at)
			}
		}
	}
	for _, token := range []string{"", ".", "..", "...", "a.b.c", good.Token + "\u00a0", strings.Repeat("A", 300_000), good.Token[:20] + "\n" + good.Token[20:]} {
		if status := Verify(token, good.options(t)).Status; status != Malformed {
			t.Errorf("%.20q is %s", token, status)
		}
	}
	if status := Verify(" \t"+good.Token+"\r\n", good.options(t)).Status; status != Valid {
		t.Errorf("with spaces it is %s", status)
	}
}

func TestKeySet(t *testing.T) {
	var file struct {
		Keys  map[string]map[string]any
		Cases []bundleCase
	}
	vectors.Read(t, "offline/bundles", &file)
	var set []any
	for _, key := range file.Keys {
		set = append(set, key)
	}
	data, _ := json.Marshal(map[string]any{"keys": append(set, map[string]any{"kty": "RSA", "kid": "other"})})
	keys, err := KeySet(data)
	if err != nil || len(keys) != len(file.Keys) {
		t.Fatal(keys, err)
	}
	options := file.Cases[0].options(t)
	options.Keys = keys
	if status := Verify(file.Cases[0].Token, options).Status; status != Valid {
		t.Error(status)
	}
}

func TestRevocations(t *testing.T) {
	var file bundleFile
	vectors.Read(t, "offline/bundles", &file)
	for _, one := range file.Cases {
		if one.Revocations == nil || one.ID == "" || !strings.Contains(string(one.Expected), `"VALID"`) {
			continue
		}
		options := one.options(t)
		list, isStale, status := VerifyRevocations(*one.Revocations, options)
		if status != Valid || isStale {
			t.Fatal(status, isStale)
		}
		options.Now = time.Unix(list.Expires, 0)
		if _, isStale, _ := VerifyRevocations(*one.Revocations, options); !isStale {
			t.Error("it must be stale")
		}
		options.State = &State{Revocations: list.Number + 1}
		if _, _, status := VerifyRevocations(*one.Revocations, options); status != Superseded {
			t.Error(status)
		}
		return
	}
	t.Fatal("no vector has a valid list")
}

type periodCase struct {
	Period, At string
	Expected   json.RawMessage
}

func checkPeriods(t *testing.T, claims *Claims, cases []periodCase) {
	for _, one := range cases {
		var actual any
		// An instant that is none cannot be passed as a time.
		if millis, ok := values.Millis(one.At); ok {
			if period := claims.PeriodAt(one.Period, time.UnixMilli(millis)); period != nil {
				actual = map[string]any{"start": period.Start, "end": textOrNull(period.End)}
			}
		}
		vectors.Equal(t, actual, one.Expected)
	}
}

func TestDecisions(t *testing.T) {
	var file struct {
		Claims    Claims
		Decisions []struct {
			ID, Entitlement, Used, Requested, At string
			Expected                             json.RawMessage
		}
		Periods      []periodCase
		Fingerprints []struct{ InstanceID, Component, Expected string }
	}
	vectors.Read(t, "offline/decisions", &file)
	for _, one := range file.Decisions {
		t.Run(one.ID, func(t *testing.T) {
			decision := file.Claims.Decide(Request{one.Entitlement, one.Used, one.Requested, timeOf(t, one.At)})
			vectors.Equal(t, map[string]any{
				"allowed": decision.Allowed, "reason": decision.Reason, "remaining": textOrNull(decision.Remaining),
			}, one.Expected)
		})
	}
	checkPeriods(t, &file.Claims, file.Periods)
	for _, one := range file.Fingerprints {
		vectors.Equal(t, Fingerprint(one.InstanceID, one.Component), one.Expected)
	}
}

func TestPeriods(t *testing.T) {
	var file struct {
		Periods  map[string]any
		Cases    []periodCase
		Instants []struct {
			Text     string
			Expected *int64
		}
	}
	vectors.Read(t, "periods", &file)
	// Numbers of claims are texts until they are read.
	data, _ := json.Marshal(file.Periods)
	parsed, _ := values.ParseJSON(data)
	checkPeriods(t, &Claims{Periods: values.Object(parsed)}, file.Cases)
	for _, one := range file.Instants {
		millis, ok := values.Millis(one.Text)
		if ok != (one.Expected != nil) || (ok && millis != *one.Expected) {
			t.Errorf("%q is %d, %v", one.Text, millis, ok)
		}
	}
}

func TestLedgers(t *testing.T) {
	var file struct {
		Ledgers []struct {
			Source, First string
			Lines, Hashes []string
			Uploads       []struct {
				ID       string
				Stored   Position
				Lines    []string
				Expected json.RawMessage
			}
		}
	}
	vectors.Read(t, "offline/ledgers", &file)
	for _, vector := range file.Ledgers {
		ledger, err := OpenLedger(vector.Source, nil, nil)
		if err != nil || ledger.Position() != (Position{0, vector.First}) {
			t.Fatal(err)
		}
		for place, line := range vector.Lines {
			var event struct {
				Subject, Type, Time, BundleID string
				Data                          struct{ Value json.Number }
			}
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Fatal(err)
			}
			appended, err := ledger.Append(Usage{
				Instance: event.Subject, Entitlement: event.Type, BundleID: event.BundleID,
				Value: event.Data.Value.String(), Time: timeOf(t, event.Time),
			})
			if err != nil || appended != line || ledger.Position() != (Position{int64(place) + 1, vector.Hashes[place]}) {
				t.Fatalf("%v\n%s\n%s", err, appended, line)
			}
		}
		for _, one := range vector.Uploads {
			t.Run(one.ID, func(t *testing.T) {
				opened, err := OpenLedger(vector.Source, &one.Stored, one.Lines)
				actual := map[string]any{"outcome": "taken"}
				if failed, isFailed := err.(*LedgerError); isFailed {
					actual["outcome"] = strings.ToLower(failed.Status)
					if failed.At > 0 {
						actual["at"] = failed.At
					}
					if failed.Next > 0 {
						actual["next"] = failed.Next
					}
				} else {
					position := opened.Position()
					actual["duplicates"], actual["accepted"] = opened.Duplicates(), position.Lines-one.Stored.Lines
					actual["lines"], actual["head"] = position.Lines, position.Head
				}
				vectors.Equal(t, actual, one.Expected)
			})
		}
		line, err := ledger.Append(Usage{Instance: "a<b>&c", Value: "0.000000000000000001", Data: map[string]any{"uniqueKey": "u"}})
		if err != nil || !strings.Contains(line, `"a<b>&c"`) || !strings.HasSuffix(line, `"data":{"value":0.000000000000000001,"uniqueKey":"u"}}`) {
			t.Error(line, err)
		}
		if _, err := ledger.Append(Usage{Value: "many"}); err == nil {
			t.Error("an amount that is none is taken")
		}
	}
}
