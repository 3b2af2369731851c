package keyshelf

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/vectors"
)

func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	millis, ok := values.Millis(text)
	if !ok {
		t.Fatalf("%q is not an instant", text)
	}
	return time.UnixMilli(millis)
}

func timeOrNull(at *time.Time) any {
	if at == nil {
		return nil
	}
	return values.TimeText(*at)
}

func amountOrNull(amount Amount) any {
	if amount == "" {
		return nil
	}
	return string(amount)
}

func TestSignatures(t *testing.T) {
	var file struct {
		Cases []struct {
			ID, Secret     string
			Headers        map[string]string
			Body, Expected string
			Now            int64
		}
	}
	vectors.Read(t, "signatures", &file)
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			header := http.Header{}
			for name, value := range one.Headers {
				header.Set(name, value)
			}
			_, err := verifyWebhook(one.Secret, header, []byte(one.Body), time.Unix(one.Now, 0))
			actual := "VALID"
			var rejected *WebhookError
			if errors.As(err, &rejected) {
				actual = rejected.Reason
			}
			if actual != one.Expected {
				t.Errorf("%s instead of %s", actual, one.Expected)
			}
		})
	}
}

type checkCase struct {
	ID, Instance string
	Checks       []struct{ Entitlement, Requested string }
	Consume      bool
	At           string
	Request      struct {
		Method, Path string
		Body         json.RawMessage
	}
	Response string
	Expected json.RawMessage
}

func (one checkCase) played(t *testing.T, client *Client) *CheckResult {
	var checks []Check
	for _, check := range one.Checks {
		checks = append(checks, Check{check.Entitlement, Amount(check.Requested)})
	}
	var options []CheckOption
	if one.At != "" {
		options = append(options, At(instantOf(t, one.At)))
	}
	result, err := client.CheckAll(context.Background(), one.Instance, checks, options...)
	if one.Consume {
		result, err = client.ConsumeAll(context.Background(), one.Instance, checks, "key", options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// digitsOf writes JSON with sorted members and all digits of its numbers. Times are compared as times.
func digitsOf(t *testing.T, data []byte) string {
	t.Helper()
	parsed, err := values.ParseJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(parsed)
	return strings.ReplaceAll(string(text), `.000Z"`, `Z"`)
}

func TestChecks(t *testing.T) {
	var file struct{ Cases []checkCase }
	vectors.Read(t, "checks", &file)
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			server := serve(t, func(recorded, int) reply { return reply{body: one.Response} })
			result := one.played(t, server.client(t))
			sent := server.last()
			if sent.method != one.Request.Method || sent.path != one.Request.Path {
				t.Errorf("%s %s", sent.method, sent.path)
			}
			if actual, expected := digitsOf(t, []byte(sent.body)), digitsOf(t, one.Request.Body); actual != expected {
				t.Errorf("\nactual   %s\nexpected %s", actual, expected)
			}
			answers := []any{}
			for _, answer := range result.Checks {
				said := map[string]any{
					"entitlement": answer.Entitlement, "allowed": answer.Allowed, "reason": answer.Reason,
					"limit": amountOrNull(answer.Limit), "usage": amountOrNull(answer.Usage),
					"remaining": amountOrNull(answer.Remaining), "overage": amountOrNull(answer.Overage),
					"currentPeriodStart": timeOrNull(answer.CurrentPeriodStart), "currentPeriodEnd": timeOrNull(answer.CurrentPeriodEnd),
				}
				if answer.Credits != "" {
					said["credits"] = amountOrNull(answer.Credits)
				}
				answers = append(answers, said)
			}
			vectors.Equal(t, map[string]any{
				"instance": result.Instance, "license": result.License, "at": timeOrNull(result.At),
				"graceEndsAt": timeOrNull(result.GraceEndsAt), "allowed": result.Allowed(), "checks": answers,
			}, one.Expected)
		})
	}
}

type reportCase struct {
	ID     string
	Report struct {
		Instance, Entitlement, Value, ID, UniqueKey, Time string
	}
	Expected json.RawMessage
}

func TestReports(t *testing.T) {
	var file struct {
		Source  string
		Reports []reportCase
	}
	vectors.Read(t, "reports", &file)
	server := serve(t, func(recorded, int) reply { return reply{body: `{"results":[{"status":"accepted"}]}`} })
	for _, one := range file.Reports {
		t.Run(one.ID, func(t *testing.T) {
			buffer, _ := server.client(t).UsageBuffer(BufferOptions{Source: file.Source})
			report := one.Report
			_, err := buffer.Report(Report{
				Instance: report.Instance, Entitlement: report.Entitlement, Value: Amount(report.Value),
				ID: report.ID, UniqueKey: report.UniqueKey, Time: instantOf(t, report.Time),
			})
			if err != nil {
				vectors.Equal(t, "INVALID", one.Expected)
				return
			}
			if _, err := buffer.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
			vectors.Equal(t, json.RawMessage(server.last().body), []any{one.Expected})
		})
	}
}

func TestFlushes(t *testing.T) {
	var file struct {
		Flushes []struct {
			ID       string
			Sent     []string
			Status   int
			Response string
			Expected json.RawMessage
		}
	}
	vectors.Read(t, "reports", &file)
	for _, one := range file.Flushes {
		t.Run(one.ID, func(t *testing.T) {
			server := serve(t, func(recorded, int) reply { return reply{status: one.Status, body: one.Response} })
			buffer, _ := server.client(t).UsageBuffer(BufferOptions{})
			for _, id := range one.Sent {
				if _, err := buffer.Report(Report{Instance: "globex-prod", Entitlement: "api-calls", Value: "1", ID: id}); err != nil {
					t.Fatal(err)
				}
			}
			result, err := buffer.Flush(context.Background())
			rejected := []any{}
			for _, event := range result.Rejected {
				rejected = append(rejected, map[string]any{"id": event.ID, "code": event.Code})
			}
			vectors.Equal(t, map[string]any{
				"accepted": result.Accepted, "duplicates": result.Duplicates, "rejected": rejected,
				"left": idsOf(t, buffer), "failed": err != nil,
			}, one.Expected)
		})
	}
}
