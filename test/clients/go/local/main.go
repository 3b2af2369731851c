// Command local is a product that decides locally. It answers the questions of its input, one a line, as the test asks them:
// check ENTITLEMENT, consume ENTITLEMENT KEY, flag KEY, status.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"strings"
	"time"

	"keyshelf.example/keyshelf"
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

func said(answer keyshelf.Answer) any {
	return map[string]any{
		"allowed": answer.Allowed, "reason": answer.Reason, "source": answer.Source, "remaining": string(answer.Remaining),
	}
}

func answer(client *keyshelf.Client, words []string) any {
	switch words[0] {
	case "check":
		return said(must(client.Check(ctx, instance, keyshelf.Check{Entitlement: words[1]})))
	case "consume":
		return said(must(client.Consume(ctx, instance, keyshelf.Check{Entitlement: words[1]}, words[2])))
	case "flag":
		flags := must(client.Flags(ctx, map[string]any{}))
		return map[string]any{"on": flags.Bool(words[1], false), "source": flags.Source}
	}
	status := client.Status(instance)
	return map[string]any{"state": status.State, "etag": status.ETag, "expires": status.ExpiresAt != nil && time.Until(*status.ExpiresAt) > 0}
}

func main() {
	client := must(keyshelf.New(os.Getenv("KEYSHELF_URL"), os.Getenv("KEYSHELF_TOKEN"),
		keyshelf.WithDirectory(os.Getenv("KEYSHELF_DIRECTORY")), keyshelf.WithIssuer(os.Getenv("KEYSHELF_ISSUER"))))
	if err := client.Start(ctx, instance); err != nil {
		log.Fatal(err)
	}
	output := json.NewEncoder(os.Stdout)
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		if err := output.Encode(answer(client, strings.Fields(input.Text()))); err != nil {
			log.Fatal(err)
		}
	}
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
}
