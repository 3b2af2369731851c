package offline

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

const datedClaims = `{"v":1,"iss":"i","sub":"s","jti":"j","seq":1,"iat":1,"nbf":1,"renew":2,"exp":3,
"instance":{"slug":"i","name":"i"},"customer":{"slug":"c","name":"c"},
"license":{"slug":"l","family":"f","version":"1","name":"l","type":"PAID","start":"2026-01-10T03:00:00.000Z","end":"2026-01-12T00:00:00.000Z"},
"entitlements":[
{"slug":"exports","type":"NUMBER","limit":"100","aggregation":"SUM","used":"60","held":"20","usedFrom":"2026-01-10T00:00:00.000Z","period":"DAY",
"grants":[{"from":"2026-01-10T06:00:00.000Z","limit":"65"},{"from":"2026-01-11T06:00:00.000Z","limit":null}]},
{"slug":"sso","type":"BOOLEAN","value":true,"grants":[{"from":"2026-01-10T06:00:00.000Z","value":false}]}],
"periods":{"DAY":{"from":"2026-01-10T00:00:00.000Z","every":86400}},"flags":{},"zone":null,"release":null,"binding":null,"usage":{"until":9},
"tranche":{"source":"urn:1","lines":4,"head":"h","until":1768053600,"of":{"exports":{"2026-01-10T00:00:00.000Z":"20"}}}}`

func TestClaimsThatAnsweredBeforeAnswerAsIfTheyWereJustRead(t *testing.T) {
	parse := func() *Claims {
		claims := &Claims{}
		if err := json.Unmarshal([]byte(datedClaims), claims); err != nil {
			t.Fatal(err)
		}
		return claims
	}
	spent := func(amount string) Amounts { return Amounts{"exports": {"2026-01-10T00:00:00.000Z": amount}} }
	here := []Position{{4, "h"}}
	locals := []*Local{nil, {Source: "urn:1"}, {Source: "urn:1", Positions: here}, {Source: "urn:1", Positions: here, Spent: spent("9.5")},
		{Source: "urn:1", Positions: here, Spent: spent("9.5"), Reserved: spent("1")}}
	checks := []Check{{Entitlement: "exports", Requested: "3"}, {Entitlement: "sso"}, {Entitlement: "other"}}
	known := parse()
	for round := 0; round < 2; round++ {
		for _, text := range []string{"2026-01-10T00:00:00Z", "2026-01-10T03:00:00Z", "2026-01-10T06:00:00Z", "2026-01-10T14:00:00Z",
			"2026-01-11T00:00:00Z", "2026-01-11T06:00:00Z", "2026-01-12T00:00:00Z"} {
			change, _ := time.Parse(time.RFC3339, text)
			for _, local := range locals {
				for _, away := range []time.Duration{-1, 0, 1, -1} {
					at := change.Add(away * time.Millisecond)
					if answers, fresh := known.Answer(checks, at, local), parse().Answer(checks, at, local); !reflect.DeepEqual(answers, fresh) {
						t.Error(at, local, answers, fresh)
					}
				}
			}
		}
	}
}
