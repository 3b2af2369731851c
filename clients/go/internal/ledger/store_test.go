package ledger

import (
	"bytes"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/offline"
)

const testSource = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"

// still is a clock whose timers never come.
var still = clocks.Clock{
	Read:   func() clocks.Reading { return clocks.Reading{Wall: time.UnixMilli(1_768_046_400_000)} },
	Random: func() float64 { return 0.5 },
	After:  func(time.Duration, func()) func() { return func() {} },
}

// stored are the file of a ledger, and what it says.
func stored(t *testing.T, path string) (*store, *journal, bool) {
	t.Helper()
	opened, read, isDamaged, err := openStore(path, still, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.close() })
	return opened, read, isDamaged
}

func spendOf(amount string, key string) spendRecord {
	return spendRecord{[]offline.Spend{{Entitlement: "exports", Period: "2026-01-10T00:00:00.000Z", Amount: amount}}, 1_768_046_400_000, key}
}

// put adds a record as a ledger does.
func put(t *testing.T, to *store, of *journal, each record) {
	t.Helper()
	if err := to.append(of, 1_768_046_400_000, []record{each}); err != nil {
		t.Fatal(err)
	}
	each.apply(of)
}

func spentIn(of *journal) string {
	spent := new(big.Rat)
	for _, one := range portionsOf(of.spent) {
		spent = plus(spent, amountOf(one.Amount))
	}
	return spent.RatString()
}

func TestAFileThatIsCutAtAnyByteSaysWhatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	whole, read, _ := stored(t, path)
	if read != nil {
		t.Fatal("there is a journal")
	}
	read, _ = newJournal(testSource)
	for round := 0; round < 3; round++ {
		put(t, whole, read, spendOf("2", "job"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	for size := range text {
		read, isDamaged := journalIn(text[:size])
		lines := bytes.Count(text[:size], []byte("\n"))
		if lines == 0 {
			if read != nil {
				t.Error(size, "a header that was cut off is read")
			}
			continue
		}
		if expected := new(big.Rat).SetInt64(int64(2 * (lines - 1))).RatString(); read == nil || isDamaged || spentIn(read) != expected {
			t.Error(size, isDamaged, expected)
		}
	}
}

func TestAFileThatIsNoJournalIsSetAside(t *testing.T) {
	for _, text := range []string{"x", "{}\n", `{"format":"keyshelf-ledger","v":2,"source":"` + testSource + `","lines":0,"head":"x"}` + "\n"} {
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, read, _ := stored(t, path); read != nil {
			t.Error(text)
		}
		if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != text {
			t.Error(text, err)
		}
	}
}

func TestWhatTheHeaderSaysMustFit(t *testing.T) {
	header := `{"format":"keyshelf-ledger","v":1,"source":"` + testSource + `","lines":0,"head":"x"}` + "\n"
	if read, isDamaged := journalIn([]byte(header)); read == nil || !isDamaged {
		t.Error(read, isDamaged)
	}
}

func TestAFileIsReplacedByAllThatItsJournalSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	opened, _, _ := stored(t, path)
	read, _ := newJournal(testSource)
	key := strings.Repeat("k", 200)
	for !opened.isLarge() {
		put(t, opened, read, spendOf("1", key))
	}
	expected := spentIn(read)
	if err := opened.replace(read, 1_768_046_400_000); err != nil || opened.isLarge() {
		t.Fatal(err)
	}
	put(t, opened, read, spendOf("0.5", ""))
	if err := opened.close(); err != nil {
		t.Fatal(err)
	}
	_, again, isDamaged := stored(t, path)
	if isDamaged || spentIn(again) != spentIn(read) || spentIn(again) == expected {
		t.Error(isDamaged, spentIn(again))
	}
	if _, isKnown := again.keys.spentBy(key, 1_768_046_400_000); !isKnown {
		t.Error("the key is forgotten")
	}
	if err := opened.append(read, 0, []record{spendOf("1", "")}); err == nil {
		t.Error("a closed file is written")
	}
}

func TestARecordThatCannotBeWrittenDoesNotCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	opened, _, _ := stored(t, path)
	read, _ := newJournal(testSource)
	put(t, opened, read, spendOf("1", ""))
	// As a disk that is full.
	unwritable, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = opened.file.Close()
	opened.file = unwritable
	if err := opened.append(read, 0, []record{spendOf("1", "")}); err == nil {
		t.Error("it is written")
	}
	// The disk has room again: all is written.
	put(t, opened, read, spendOf("2", ""))
	if _, again, isDamaged := stored(t, path); isDamaged || spentIn(again) != "3" {
		t.Error(isDamaged, spentIn(again))
	}
}

func TestTheNewestKeysAreKnown(t *testing.T) {
	known := newKeys()
	for number := 0; number <= maxKeys; number++ {
		known.keep(keyed{string(rune('a'+number%26)) + big.NewInt(int64(number)).String(), int64(number), nil})
	}
	if known.order.Len() != maxKeys || len(known.of) != maxKeys {
		t.Error(known.order.Len(), len(known.of))
	}
	if _, isKnown := known.spentBy("a0", 0); isKnown {
		t.Error("the oldest key is known")
	}
	if _, isKnown := known.spentBy("b1", keyLife); !isKnown {
		t.Error("a key of the last day is not known")
	}
	if _, isKnown := known.spentBy("b1", keyLife+1); isKnown {
		t.Error("a key of the day before is known")
	}
}
