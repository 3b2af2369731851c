package wire

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/vectors"
)

func TestRetries(t *testing.T) {
	var file struct {
		Cases []struct {
			ID               string
			Attempt, Retries int
			IsIdempotent     bool
			Status           int
			Code, RetryAfter string
			Random           float64
			Now              int64
			Expected         struct {
				Retry   bool
				DelayMs float64
				IsAway  bool
			}
		}
	}
	vectors.Read(t, "retries", &file)
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			outcome := Outcome{one.Status, one.Code, one.RetryAfter, time.Unix(one.Now, 0)}
			delay, again := outcome.Delay(one.Attempt, one.Retries, one.IsIdempotent, one.Random)
			if again != one.Expected.Retry || outcome.IsAway() != one.Expected.IsAway {
				t.Errorf("repeated %v, away %v", again, outcome.IsAway())
			}
			if again && math.Abs(delay-one.Expected.DelayMs) > 0.001 {
				t.Errorf("delay %v", delay)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	var file struct {
		Cases []struct {
			ID     string
			Status int
			Path   string
			Body   string
			// ContentType is a header.
			ContentType string
			Expected    json.RawMessage
		}
	}
	vectors.Read(t, "problems", &file)
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			problem := NewProblem(one.Status, http.Header{"Content-Type": {one.ContentType}}, one.Path, []byte(one.Body))
			errors := []any{}
			for _, found := range problem.Errors {
				errors = append(errors, map[string]any{"location": found.Location, "message": found.Message, "value": found.Value})
			}
			vectors.Equal(t, map[string]any{
				"code":    problem.Code,
				"status":  problem.Status,
				"detail":  problem.Detail,
				"errorId": problem.ErrorID,
				"errors":  errors,
			}, one.Expected)
		})
	}
}
