package ledger

import (
	"container/list"

	"keyshelf.example/keyshelf/offline"
)

const (
	// keyLife is how long a key spends once, in milliseconds.
	keyLife = 86_400_000
	// maxKeys bounds the memory: the newest ones count.
	maxKeys = 100_000
)

// keyed is what a key of a caller spent, and when.
type keyed struct {
	key   string
	at    int64
	spent []offline.Spend
}

// keys are those of a ledger, in the order in which they were used.
type keys struct {
	order *list.List
	of    map[string]*list.Element
}

func newKeys() *keys { return &keys{list.New(), map[string]*list.Element{}} }

func (one *keys) keep(used keyed) {
	if old := one.of[used.key]; old != nil {
		one.order.Remove(old)
	}
	one.of[used.key] = one.order.PushBack(used)
	for one.order.Len() > maxKeys {
		oldest := one.order.Front()
		one.order.Remove(oldest)
		delete(one.of, oldest.Value.(keyed).key)
	}
}

// spentBy is what a key spent within a day.
func (one *keys) spentBy(key string, now int64) (spent []offline.Spend, isKnown bool) {
	found := one.of[key]
	if found == nil || found.Value.(keyed).at <= now-keyLife {
		return nil, false
	}
	return found.Value.(keyed).spent, true
}

// since are the keys of the last day, oldest first.
func (one *keys) since(now int64) []keyed {
	var recent []keyed
	for each := one.order.Front(); each != nil; each = each.Next() {
		if used := each.Value.(keyed); used.at > now-keyLife {
			recent = append(recent, used)
		}
	}
	return recent
}
