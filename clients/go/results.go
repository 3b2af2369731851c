package keyshelf

import (
	"context"
	"encoding/json"
)

// verdict is what the service decided on one event of a batch.
type verdict struct {
	Index   *int   `json:"index"`
	Status  string `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// areOfThese reports whether results are those of this many events, in their order.
func areOfThese(verdicts []verdict, count int) bool {
	for place, one := range verdicts {
		if one.Index != nil && *one.Index != place {
			return false
		}
	}
	return len(verdicts) <= count
}

// divide sends the halves of a batch, until the event that is wrong is alone.
func (buffer *UsageBuffer) divide(ctx context.Context, skip int, lines [][]byte, problem *ProblemError, result *FlushResult) error {
	if len(lines) == 1 {
		rejected := verdict{Status: "rejected", Code: problem.Code, Message: problem.Detail}
		_, err := buffer.settle(skip, lines, []verdict{rejected}, result)
		return err
	}
	middle := len(lines) / 2
	// The second half first: removing its events does not move those of the first.
	if err := buffer.send(ctx, skip+middle, lines[middle:], result); err != nil {
		return err
	}
	return buffer.send(ctx, skip, lines[:middle], result)
}

// settle counts results and removes their events. It returns how many there were.
func (buffer *UsageBuffer) settle(skip int, lines [][]byte, verdicts []verdict, result *FlushResult) (int, error) {
	var settled []int
	for place, line := range lines {
		if place >= len(verdicts) {
			break
		}
		switch one := verdicts[place]; {
		case one.Status == "accepted":
			result.Accepted++
		case one.Status == "duplicate":
			result.Duplicates++
		case one.Status == "rejected" && one.Code != "":
			var sent event
			if err := json.Unmarshal(line, &sent); err != nil {
				return 0, err
			}
			result.Rejected = append(result.Rejected, RejectedEvent{sent.ID, line, one.Code, one.Message})
		default:
			continue
		}
		settled = append(settled, skip+place)
	}
	buffer.mutex.Lock()
	defer buffer.mutex.Unlock()
	return len(settled), buffer.journal.Remove(settled)
}
