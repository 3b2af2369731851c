// Command product uses a service with all that the client can do, and prints what it saw. The test compares it with what
// the service counted.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"keyshelf.example/keyshelf"
	"keyshelf.example/keyshelf/offline"
)

var (
	instance = os.Getenv("KEYSHELF_INSTANCE")
	ctx      = context.Background()
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// consume returns how many keys were allowed. Each is consumed twice, as by a product that was interrupted.
func consume(client *keyshelf.Client, entitlement string, from, to int) int {
	allowed := 0
	for key := from; key < to; key++ {
		check := keyshelf.Check{Entitlement: entitlement, Requested: "1"}
		name := fmt.Sprintf("%s-%d", entitlement, key)
		first := must(client.Consume(ctx, instance, check, name))
		second := must(client.Consume(ctx, instance, check, name))
		if first.Allowed != second.Allowed || first.Remaining != second.Remaining {
			log.Fatal(first, second)
		}
		if first.Allowed {
			allowed++
		}
	}
	return allowed
}

func consumeConcurrently(client *keyshelf.Client) int {
	results := make(chan int)
	for worker := 0; worker < 4; worker++ {
		go func(from int) { results <- consume(client, "api-calls", from, from+3) }(worker * 3)
	}
	sum := 0
	for worker := 0; worker < 4; worker++ {
		sum += <-results
	}
	return sum
}

// settle flushes until no event waits, and returns how many had a result.
func settle(usage *keyshelf.UsageBuffer) int {
	settled := 0
	for usage.Len() > 0 {
		result, err := usage.Flush(ctx)
		if (err != nil && !keyshelf.IsAway(err)) || len(result.Rejected) > 0 {
			log.Fatal(result, err)
		}
		settled += result.Accepted + result.Duplicates
	}
	return settled
}

func report(client *keyshelf.Client) (waiting, settled int) {
	usage := must(client.UsageBuffer(keyshelf.BufferOptions{Path: os.Getenv("KEYSHELF_BUFFER")}))
	defer usage.Close()
	waiting = usage.Len()
	var reporters sync.WaitGroup
	for reporter := 0; reporter < 2; reporter++ {
		reporters.Add(1)
		go func() {
			defer reporters.Done()
			for round := 0; round < 100; round++ {
				must(usage.Report(keyshelf.Report{Instance: instance, Entitlement: "rows", Value: "0.5"}))
			}
		}()
	}
	ended := make(chan struct{})
	go func() { reporters.Wait(); close(ended) }()
	for {
		select {
		case <-ended:
			return waiting, settled + settle(usage)
		default:
			settled += settle(usage)
		}
	}
}

func seats(client *keyshelf.Client) []any {
	options := keyshelf.SeatOptions{TTL: time.Minute}
	anna := must(client.AcquireSeat(ctx, instance, "editors", "anna", options))
	if err := anna.Renew(ctx); err != nil {
		log.Fatal(err)
	}
	seen := []any{anna.IsHeld()}
	if _, err := client.AcquireSeat(ctx, instance, "editors", "ben", options); keyshelf.IsProblem(err, "AcquireLease.LimitReached") {
		seen = append(seen, "AcquireLease.LimitReached")
	}
	if err := anna.Release(ctx); err != nil {
		log.Fatal(err)
	}
	ben := must(client.AcquireSeat(ctx, instance, "editors", "ben", options))
	if err := ben.Release(ctx); err != nil {
		log.Fatal(err)
	}
	return append(seen, "ben")
}

func use(client *keyshelf.Client) map[string]any {
	waiting, settled := report(client)
	for number := 0; number < 5; number++ {
		direct := keyshelf.Report{Instance: instance, Entitlement: "rows", Value: "2", ID: fmt.Sprintf("direct-%d", number)}
		must(client.Report(ctx, direct))
	}
	globex := map[string]any{"targetingKey": instance}
	must(client.Flags(ctx, globex))
	flags := must(client.Flags(ctx, globex))
	answer := offline.Verify(os.Getenv("KEYSHELF_BUNDLE"), offline.Options{
		Keys:   must(offline.KeySet([]byte(os.Getenv("KEYSHELF_KEYS")))),
		Issuer: os.Getenv("KEYSHELF_ISSUER"),
	})
	if answer.Status != offline.Valid {
		log.Fatal(answer.Status)
	}
	reasons := []string{}
	for _, amount := range []string{"10", "11"} {
		reasons = append(reasons, answer.Claims.Decide(offline.Request{Entitlement: "exports", Requested: amount}).Reason)
	}
	return map[string]any{
		"apiCalls": consumeConcurrently(client),
		"exports":  consume(client, "exports", 0, 12),
		"waiting":  waiting,
		"settled":  settled,
		"seats":    seats(client),
		"flags":    []bool{flags.Bool("new-search", false), flags.Bool("entitlement.sso", false)},
		"bundle":   answer.Status,
		"offline":  reasons,
	}
}

func away(client *keyshelf.Client) map[string]any {
	outcome := func(options ...keyshelf.CheckOption) any {
		answer, err := client.Check(ctx, instance, keyshelf.Check{Entitlement: "sso"}, options...)
		if keyshelf.IsAway(err) {
			return "away"
		}
		return answer.Allowed
	}
	usage := must(client.UsageBuffer(keyshelf.BufferOptions{Path: os.Getenv("KEYSHELF_BUFFER")}))
	defer usage.Close()
	for round := 0; round < 5; round++ {
		must(usage.Report(keyshelf.Report{Instance: instance, Entitlement: "rows", Value: "0.5"}))
	}
	flushed := "flushed"
	if _, err := usage.Flush(ctx); keyshelf.IsAway(err) {
		flushed = "away"
	}
	return map[string]any{
		"fail":    outcome(),
		"open":    outcome(keyshelf.WhenAway(keyshelf.Open)),
		"closed":  outcome(keyshelf.WhenAway(keyshelf.Closed)),
		"flush":   flushed,
		"waiting": usage.Len(),
	}
}

func main() {
	// Each third response is lost, and several goroutines may lose one after the other.
	play, retries := use, 5
	if os.Args[1] == "away" {
		play, retries = away, 0
	}
	// What is counted is compared with what the service says to each request.
	client := must(keyshelf.New(os.Getenv("KEYSHELF_URL"), os.Getenv("KEYSHELF_TOKEN"), keyshelf.WithRetries(retries), keyshelf.WithRemote()))
	if err := json.NewEncoder(os.Stdout).Encode(play(client)); err != nil {
		log.Fatal(err)
	}
}
