package keyshelf

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLedgerProduct is the program of the tests below: it consumes one job after the other, prints each, and goes on until it is
// killed.
func TestLedgerProduct(t *testing.T) {
	url := os.Getenv("KEYSHELF_TEST_ORIGIN")
	if url == "" {
		t.Skip("it is the program of other tests")
	}
	client, err := New(url, "ksh_0123456789", WithRetries(0), WithDirectory(os.Getenv("KEYSHELF_TEST_DIRECTORY")))
	if err != nil {
		t.Fatal(err)
	}
	job, _ := strconv.Atoi(os.Getenv("KEYSHELF_TEST_JOB"))
	for {
		answer, err := client.Consume(background, "globex-prod", Check{"large", "3"}, "job-"+strconv.Itoa(job))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Allowed {
			fmt.Println("consumed", job)
			job++
		} else {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// killed runs the program from a job on, kills it after some jobs or some time, and returns the first job that it did not print.
func killed(t *testing.T, url, directory string, job, after int, within time.Duration) int {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestLedgerProduct$")
	child.Env = append(os.Environ(), "KEYSHELF_TEST_ORIGIN="+url, "KEYSHELF_TEST_DIRECTORY="+directory, "KEYSHELF_TEST_JOB="+strconv.Itoa(job))
	output, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(within, func() { _ = child.Process.Kill() }).Stop()
	printed := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "consumed ") {
			t.Error(lines.Text())
		}
		if printed++; printed == after {
			_ = child.Process.Kill()
		}
	}
	_ = child.Wait()
	return job + printed
}

func ledgerFile(t *testing.T, directory string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(directory, "slot-0", "ledger-*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

func TestAProductIsKilledAtAnyTimeAndEachUnitCountsOnce(t *testing.T) {
	origin := newLedgerOrigin(t)
	directory := t.TempDir()
	job := 0
	// The last job that was not printed may be spent: the next process repeats it with its key.
	for round, after := range []int{1, 300, 20, 2, 700, 5, 90} {
		within := time.Minute
		if origin.next(answered); round > 0 && round%2 == 0 {
			origin.next(lost)
			// It spends its tranche, and then asks in vain.
			after, within = math.MaxInt, 1500*time.Millisecond
		}
		before := len(origin.sent())
		if job = killed(t, origin.url, directory, job, after, within); len(origin.sent()) == before {
			t.Error("it asked for no refill", round)
		}
		// A record that was cut off was never acknowledged.
		file, err := os.OpenFile(ledgerFile(t, directory), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = file.WriteString(`{"spend":[["large","3","20`)
		_ = file.Close()
	}
	origin.next(answered)
	client := origin.client(WithDirectory(directory))
	eventually(t, "the last job", func() bool { return consume(t, client, "large", "3", "job-"+strconv.Itoa(job)).Allowed })
	closed(t, client)
	origin.usage("large", 3*int64(job+1))
	if facts, overrun := origin.model.Facts(); facts != 0 || overrun > 0 || origin.model.Forks() > 0 {
		t.Error(facts, overrun, origin.model.Forks())
	}
	path := ledgerFile(t, directory)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "ksh_") {
		t.Error(err)
	}
}

func TestWhatACrashLeftIsSettledWithoutACall(t *testing.T) {
	origin := newLedgerOrigin(t)
	directory := t.TempDir()
	job := killed(t, origin.url, directory, 0, 4, time.Minute)
	client := origin.client(WithDirectory(directory))
	if err := client.Start(background, "globex-prod"); err != nil {
		t.Fatal(err)
	}
	settled := func() bool { return origin.model.Usage("large") >= 3*int64(job) }
	eventually(t, "settled", settled)
	closed(t, client)
	// The last job may have been spent, and not printed.
	if used := origin.model.Usage("large"); used != 3*int64(job) && used != 3*int64(job+1) {
		t.Error(used, job)
	}
}
