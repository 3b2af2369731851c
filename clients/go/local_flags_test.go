package keyshelf

import (
	"testing"
)

func TestFlagsAreEvaluatedLocally(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client()
	if _, err := client.Flags(background, nil); err == nil || IsAway(err) {
		t.Error("no instance is named", err)
	}
	french := map[string]any{"country": "fr", "keyshelf": map[string]any{"license": 1}}
	flags, err := client.Flags(background, french, ForInstance("globex-prod"))
	if err != nil || flags.Source != FromSnapshot || !flags.Bool("new-search", false) || flags.Bool("other", false) {
		t.Fatal(flags, err)
	}
	french["country"] = "us"
	flag, isKnown := flags.Flag("new-search")
	if !isKnown || flag.Variant != "on" || flag.Reason != "TARGETING_MATCH" || flag.Metadata["team"] != "search" {
		t.Error(flag)
	}
	eventually(t, "live", isIn(client, StateLive))
	if flags, err = client.Flags(background, nil); err != nil || flags.Bool("new-search", true) {
		t.Error(flags, err)
	}
	origin.change(func() { origin.hasFlag = true })
	eventually(t, "a flag", func() bool {
		flags, err := client.Flags(background, map[string]any{"country": "us"})
		return err == nil && flags.Bool("new-search", false)
	})
	if origin.counted("POST", flagsPath) > 0 {
		t.Error("it asked")
	}
	for _, value := range []any{make(chan int), "\xff"} {
		if _, err := client.Flags(background, map[string]any{"value": value}); err == nil || IsAway(err) {
			t.Error(value, err)
		}
	}
	if flags, err = client.Flags(background, nil, Remote()); err != nil || flags.Source != FromService {
		t.Error(flags, err)
	}
}

func TestEntitlementsAreFlagsToo(t *testing.T) {
	origin := newOrigin(t)
	client := origin.client()
	flags, err := client.Flags(background, nil, ForInstance("globex-prod"))
	if err != nil || !flags.Bool("entitlement.sso", false) || flags.Number("entitlement.api-calls", 0) != 600 {
		t.Fatal(flags, err)
	}
	if _, isKnown := flags.Flag("entitlement.other"); isKnown || flags.String("entitlement.sso", "d") != "d" {
		t.Error("it has no such value")
	}
	calls, _ := flags.Flag("entitlement.api-calls")
	if calls.Reason != "TARGETING_MATCH" || calls.Metadata["checkReason"] != "GRANTED" || calls.Metadata["allowed"] != true {
		t.Error(calls)
	}
}

func TestThePercentageOfAFlagKnowsTheInstance(t *testing.T) {
	origin := newOrigin(t)
	origin.percentage = 100
	client := origin.client()
	for _, context := range []map[string]any{nil, {"targetingKey": ""}, {"targetingKey": "anna"}} {
		flags, err := client.Flags(background, context, ForInstance("globex-prod"))
		if err != nil || !flags.Bool("new-search", false) {
			t.Error(context, err)
		}
	}
}

func TestFlagsThatASnapshotDoesNotHaveAreAskedFor(t *testing.T) {
	origin := newOrigin(t)
	origin.noRules = true
	client := origin.client()
	flags, err := client.Flags(background, nil, ForInstance("globex-prod"))
	if err != nil || flags.Source != FromService || !flags.Bool("new-search", false) {
		t.Error(flags, err)
	}
	origin.stop()
	if flags, err = client.Flags(background, nil); err != nil || flags.Source != FromPolicy || flags.Bool("new-search", false) {
		t.Error(flags, err)
	}
}
