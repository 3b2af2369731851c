// Command go-product is a small product with a license: it exports jobs, and checks with Keyshelf what its instance may
// do.
//
//	cd examples/go-product
//	KEYSHELF_URL=http://127.0.0.1:8080 KEYSHELF_TOKEN=ksh_... KEYSHELF_INSTANCE=globex-prod go run . anna job-1 job-2
//
// The token is a license key of the instance. Its license grants sso (BOOLEAN), exports and rows (NUMBER) and editors
// (CONCURRENT). Run it again with the same jobs: they are charged once.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"keyshelf.example/keyshelf"
)

type product struct {
	client   *keyshelf.Client
	instance string
}

func (product product) signInPage(ctx context.Context) (string, error) {
	sso, err := product.client.Check(ctx, product.instance, keyshelf.Check{Entitlement: "sso"})
	if sso.Allowed {
		return "single sign-on", err
	}
	return "password", err
}

func (product product) search(ctx context.Context) (string, error) {
	flags, err := product.client.Flags(ctx, map[string]any{"targetingKey": product.instance})
	if err == nil && flags.Bool("new-search", false) {
		return "new", nil
	}
	return "old", err
}

func (product product) export(ctx context.Context, job string) (string, error) {
	// The job's id is the key: a job that is repeated, after a crash too, is charged once.
	answer, err := product.client.Consume(ctx, product.instance, keyshelf.Check{Entitlement: "exports"}, job)
	switch {
	case err != nil:
		return "", err
	case !answer.Allowed:
		return "not exported: " + answer.Reason, nil
	case answer.Source == keyshelf.FromPolicy:
		return "exported; it is charged when the service is back", nil
	default:
		return fmt.Sprintf("exported, %s left", answer.Remaining), nil
	}
}

func (product product) run(ctx context.Context, user string, jobs []string) (err error) {
	page, err := product.signInPage(ctx)
	if err != nil {
		return err
	}
	search, err := product.search(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("sign-in: %s\nsearch: %s\n", page, search)
	seat, err := product.client.AcquireSeat(ctx, product.instance, "editors", user, keyshelf.SeatOptions{TTL: time.Minute})
	if err != nil {
		return err
	}
	defer func() {
		if released := seat.Release(ctx); err == nil {
			err = released
		}
	}()
	// Reports wait in a file: they survive a restart, and times without the service.
	usage, err := product.client.UsageBuffer(keyshelf.BufferOptions{Path: os.Getenv("KEYSHELF_BUFFER")})
	if err != nil {
		return err
	}
	defer usage.Close()
	for _, job := range jobs {
		exported, err := product.export(ctx, job)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", job, exported)
		rows := keyshelf.Report{Instance: product.instance, Entitlement: "rows", Value: "250", ID: job + "-rows"}
		if _, err := usage.Report(rows); err != nil {
			return err
		}
	}
	result, err := usage.Flush(ctx)
	if keyshelf.IsAway(err) {
		fmt.Printf("reported later: %d wait (%v)\n", usage.Len(), err)
		return nil
	}
	fmt.Printf("reported: %d new, %d rejected\n", result.Accepted, len(result.Rejected))
	return err
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: go-product USER [JOB...]")
	}
	directory := os.Getenv("KEYSHELF_DIRECTORY")
	if directory == "" {
		directory = "keyshelf"
	}
	// What the product decides by is stored there: it works on without the service, and starts without it.
	client, err := keyshelf.New(os.Getenv("KEYSHELF_URL"), os.Getenv("KEYSHELF_TOKEN"),
		keyshelf.WithTimeout(5*time.Second), keyshelf.WithDirectory(directory))
	if err != nil {
		log.Fatal(err)
	}
	product := product{client, os.Getenv("KEYSHELF_INSTANCE")}
	err = product.run(context.Background(), os.Args[1], os.Args[2:])
	if closed := client.Close(context.Background()); err == nil {
		err = closed
	}
	if err != nil {
		log.Fatal(err)
	}
}
