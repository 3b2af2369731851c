package keyshelf

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// counting is a service that counts each event once, and loses some of its responses.
type counting struct {
	mutex   sync.Mutex
	counted map[string]bool
	// lost: each so manieth response.
	lost   int
	poison string
}

func (service *counting) answer(sent recorded, number int) reply {
	if service.poison != "" && strings.Contains(sent.body, service.poison) {
		return reply{status: 422, body: `{"code":"Request.ValidationFailed","detail":"body[0]"}`}
	}
	var events []event
	_ = json.Unmarshal([]byte(sent.body), &events)
	results := []verdict{}
	service.mutex.Lock()
	defer service.mutex.Unlock()
	for _, one := range events {
		key := one.Source + " " + one.ID
		status := "accepted"
		if service.counted[key] {
			status = "duplicate"
		}
		service.counted[key] = true
		results = append(results, verdict{Status: status})
	}
	text, _ := json.Marshal(map[string]any{"results": results})
	return reply{body: string(text), lost: service.lost > 0 && number%service.lost == service.lost-1}
}

func newCounting() *counting { return &counting{counted: map[string]bool{}} }

func idsOf(t *testing.T, buffer *UsageBuffer) []string {
	t.Helper()
	ids := []string{}
	for _, line := range buffer.journal.Lines {
		var one event
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one.ID)
	}
	return ids
}

func openBuffer(t *testing.T, url string, options BufferOptions) *UsageBuffer {
	t.Helper()
	buffer, err := clientOf(t, url).UsageBuffer(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { buffer.Close() })
	return buffer
}

var oneCall = Report{Instance: "globex-prod", Entitlement: "api-calls", Value: "1"}

func report(t *testing.T, buffer *UsageBuffer, id string) string {
	t.Helper()
	one := oneCall
	one.ID = id
	taken, err := buffer.Report(one)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func TestEventsSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.jsonl")
	first := openBuffer(t, noListener, BufferOptions{Path: path})
	ids := []string{report(t, first, ""), report(t, first, ""), report(t, first, "")}
	if _, err := first.Flush(background); !IsAway(err) {
		t.Error(err)
	}
	first.Close()
	service := newCounting()
	second := openBuffer(t, serve(t, service.answer).url, BufferOptions{Path: path})
	if fmt.Sprint(idsOf(t, second)) != fmt.Sprint(ids) {
		t.Error(idsOf(t, second))
	}
	result, err := second.Flush(background)
	if err != nil || result.Accepted != 3 || second.Len() != 0 {
		t.Error(result, err)
	}
	second.Close()
	if third := openBuffer(t, noListener, BufferOptions{Path: path}); third.Len() != 0 {
		t.Error(third.Len())
	}
}

// TestMain lets the test program report until it is killed.
func TestMain(main *testing.M) {
	if path := os.Getenv("KEYSHELF_REPORT_UNTIL_KILLED"); path != "" {
		client, _ := New(noListener, "ksh_0")
		buffer, err := client.UsageBuffer(BufferOptions{Path: path})
		for err == nil {
			var id string
			if id, err = buffer.Report(oneCall); err == nil {
				fmt.Println(id)
			}
		}
		fmt.Println(err)
	}
	os.Exit(main.Run())
}

func TestWhatWasTakenIsThereAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.jsonl")
	command := exec.Command(os.Args[0], "-test.run=^$")
	command.Env = append(os.Environ(), "KEYSHELF_REPORT_UNTIL_KILLED="+path)
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var taken []string
	for lines := bufio.NewScanner(output); lines.Scan(); {
		taken = append(taken, lines.Text())
		if len(taken) == 20 {
			_ = command.Process.Kill()
		}
	}
	_ = command.Wait()
	stored := idsOf(t, openBuffer(t, noListener, BufferOptions{Path: path}))
	if len(taken) < 20 || len(stored) < len(taken) || fmt.Sprint(stored[:len(taken)]) != fmt.Sprint(taken) {
		t.Errorf("taken %v\nstored %v", taken, stored)
	}
}

func TestALineThatWasCutOffIsLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.jsonl")
	buffer := openBuffer(t, noListener, BufferOptions{Path: path})
	report(t, buffer, "first")
	buffer.Close()
	content, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(content, `{"specversion":"1.0","id":"cut`...), 0o600); err != nil {
		t.Fatal(err)
	}
	again := openBuffer(t, noListener, BufferOptions{Path: path})
	report(t, again, "second")
	again.Close()
	if ids := idsOf(t, openBuffer(t, noListener, BufferOptions{Path: path})); fmt.Sprint(ids) != "[first second]" {
		t.Error(ids)
	}
}

func TestOneProcessUsesAFileAndNoOtherFileIsOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.jsonl")
	buffer := openBuffer(t, noListener, BufferOptions{Path: path})
	if _, err := clientOf(t, noListener).UsageBuffer(BufferOptions{Path: path}); !errors.Is(err, ErrBufferLocked) {
		t.Error(err)
	}
	buffer.Close()
	if _, err := buffer.Report(oneCall); err == nil {
		t.Error("a closed buffer takes a report")
	}
	for _, content := range []string{"hello", "hello\n", "{\"format\":\"x\"}\n", "[]\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := clientOf(t, noListener).UsageBuffer(BufferOptions{Path: path}); err == nil {
			t.Errorf("%q is taken", content)
		}
		if left, _ := os.ReadFile(path); string(left) != content {
			t.Errorf("%q was overwritten", content)
		}
	}
}

func TestAFullBufferTakesNoReport(t *testing.T) {
	buffer := openBuffer(t, noListener, BufferOptions{Capacity: 1})
	report(t, buffer, "")
	if _, err := buffer.Report(oneCall); !errors.Is(err, ErrBufferFull) || buffer.Len() != 1 {
		t.Error(err)
	}
}

func TestLostResponsesCountNothingTwiceAndLoseNothing(t *testing.T) {
	service := newCounting()
	service.lost = 3
	buffer := openBuffer(t, serve(t, service.answer).url, BufferOptions{Path: filepath.Join(t.TempDir(), "usage.jsonl")})
	var mutex sync.Mutex
	var reporters sync.WaitGroup
	var expected []string
	for reporter := 0; reporter < 3; reporter++ {
		reporters.Add(1)
		go func() {
			defer reporters.Done()
			for round := 0; round < 100; round++ {
				id, err := buffer.Report(oneCall)
				mutex.Lock()
				if err == nil {
					expected = append(expected, buffer.journal.Source+" "+id)
				}
				mutex.Unlock()
			}
		}()
	}
	ended := make(chan struct{})
	go func() { reporters.Wait(); close(ended) }()
	settled := 0
	for isOpen := true; isOpen || buffer.Len() > 0; {
		select {
		case <-ended:
			isOpen = false
		default:
		}
		result, _ := buffer.Flush(background)
		settled += result.Accepted + result.Duplicates
	}
	var counted []string
	for key := range service.counted {
		counted = append(counted, key)
	}
	sort.Strings(counted)
	sort.Strings(expected)
	if settled != 300 || fmt.Sprint(counted) != fmt.Sprint(expected) {
		t.Errorf("settled %d, counted %d, expected %d", settled, len(counted), len(expected))
	}
}

func TestLargeBuffersAreSentInBatches(t *testing.T) {
	service := newCounting()
	started := serve(t, service.answer)
	buffer := openBuffer(t, started.url, BufferOptions{})
	for round := 0; round < 1_001; round++ {
		report(t, buffer, "")
	}
	long := Report{Instance: strings.Repeat("x", 255), Entitlement: strings.Repeat("y", 255), Value: "1", UniqueKey: strings.Repeat("z", 255)}
	for round := 0; round < 1_500; round++ {
		if _, err := buffer.Report(long); err != nil {
			t.Fatal(err)
		}
	}
	if result, err := buffer.Flush(background); err != nil || result.Accepted != 2_501 {
		t.Error(result, err)
	}
	for _, sent := range started.requests {
		if len(sent.body) > 1<<20 || strings.Count(sent.body, `"specversion"`) > 1_000 {
			t.Error(len(sent.body))
		}
	}
}

func TestOneEventThatTheServiceCannotReadBlocksNoOther(t *testing.T) {
	service := newCounting()
	service.poison = "poison"
	buffer := openBuffer(t, serve(t, service.answer).url, BufferOptions{})
	for _, id := range []string{"a", "b", "poison", "c", "d"} {
		report(t, buffer, id)
	}
	result, err := buffer.Flush(background)
	if err != nil || len(result.Rejected) != 1 || result.Rejected[0].ID != "poison" || result.Accepted != 4 || buffer.Len() != 0 {
		t.Error(result, err)
	}
}

func TestTheBackgroundFlushesUntilItIsStopped(t *testing.T) {
	service := newCounting()
	buffer := openBuffer(t, serve(t, service.answer).url, BufferOptions{})
	report(t, buffer, "")
	ctx, stop := context.WithCancel(background)
	flushed := make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		buffer.Run(ctx, 10*time.Millisecond, func(FlushResult, error) { flushed <- struct{}{} })
		close(ended)
	}()
	<-flushed
	stop()
	<-ended
	if buffer.Len() != 0 || len(service.counted) != 1 {
		t.Error(buffer.Len())
	}
}
