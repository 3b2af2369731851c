package keyshelf

import (
	"errors"
	"testing"

	"keyshelf.example/keyshelf/internal/vectors"
)

type answerCase struct {
	ID      string
	Status  int
	Headers map[string]string
	Body    string
	Cut     bool
	// Expected: without a code, the error is none of a response.
	Expected struct {
		Code, Flush string
		IsAway      bool
		Requests    int
	}
}

func TestResponsesThatAreNoResults(t *testing.T) {
	var file struct{ Cases []answerCase }
	vectors.Read(t, "answers", &file)
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			header := map[string]string{"content-type": ""}
			for name, value := range one.Headers {
				header[name] = value
			}
			server := serve(t, func(recorded, int) reply {
				return reply{status: one.Status, body: one.Body, header: header, cut: one.Cut}
			})
			one.flushed(t, server)
			answer, err := server.client(t).Check(background, "globex-prod", Check{Entitlement: "api-calls"}, WhenAway(Open))
			isAway := err == nil && answer.Source == FromPolicy
			if isAway != one.Expected.IsAway || (!isAway && !IsProblem(err, one.Expected.Code)) {
				t.Error(answer, err)
			}
		})
	}
}

func (one answerCase) flushed(t *testing.T, server *server) {
	t.Helper()
	buffer, _ := server.client(t).UsageBuffer(BufferOptions{})
	for _, id := range []string{"a", "b", "c", "d"} {
		report(t, buffer, id)
	}
	result, err := buffer.Flush(background)
	if server.count() != one.Expected.Requests {
		t.Errorf("%d requests", server.count())
	}
	if one.Expected.Flush == "rejected" {
		if err != nil || len(result.Rejected) != 4 || buffer.Len() != 0 || result.Rejected[0].Code != one.Expected.Code {
			t.Error(result, err)
		}
		return
	}
	code := ""
	var problem *ProblemError
	if errors.As(err, &problem) {
		code = problem.Code
	}
	if err == nil || buffer.Len() != 4 || code != one.Expected.Code || IsAway(err) != one.Expected.IsAway {
		t.Errorf("%d left, %v", buffer.Len(), err)
	}
}

func TestAResultOfAnotherFormIsNotOfTheService(t *testing.T) {
	for _, body := range []string{"{}", "[]", "null", `{"id":7,"expiresAt":"x"}`, `{"id":"l-1"}`, `{"instance":"a","checks":[{}]}`} {
		server := serve(t, func(recorded, int) reply { return reply{body: body} })
		client := server.client(t, WithRetries(2))
		_, check := client.Check(background, "globex-prod", Check{Entitlement: "sso"})
		_, seat := client.AcquireSeat(background, "globex-prod", "editors", "anna", SeatOptions{})
		_, usage := client.Report(background, oneCall)
		_, flags := client.Flags(background, map[string]any{})
		for name, err := range map[string]error{"check": check, "seat": seat, "usage": usage, "flags": flags} {
			if lost := (*ConnectionError)(nil); !errors.As(err, &lost) {
				t.Errorf("%s of %s: %v", name, body, err)
			}
		}
		if server.count() != 4 {
			t.Errorf("%s: %d requests", body, server.count())
		}
	}
}

func TestAPageIsNoReleaseAndNoResultOfAnotherOperation(t *testing.T) {
	page := reply{body: "<html>Sign in</html>", header: map[string]string{"content-type": "text/html"}}
	lease := reply{status: 201, body: `{"id":"l-1","expiresAt":"2026-01-31T09:09:00.000Z"}`}
	server := serve(t, func(_ recorded, number int) reply {
		if number == 0 {
			return lease
		}
		return page
	})
	client := server.client(t)
	seat, err := client.AcquireSeat(background, "globex-prod", "editors", "anna", SeatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := seat.Release(background); !IsAway(err) {
		t.Error(err)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if err := client.Call(background, method, "/customers/globex", nil, nil, ""); !IsAway(err) {
			t.Error(method, err)
		}
	}
}
