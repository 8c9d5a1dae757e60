package echomq_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/echomq"
)

const (
	jobID   = "JOB0JZGkPhnV4B"
	laneID  = "PRT0JZGkPhnV4B"
	orderID = "ORD0JZGkPhnV4B"
)

func TestKeys(t *testing.T) {
	type result struct {
		key string
		err error
	}
	of := func(key string, err error) result { return result{key, err} }
	for want, got := range map[string]result{
		"emq:{orders}:":                of(echomq.QueueKey("orders", echomq.BaseSuffix)),
		"emq:{orders}:pending":         of(echomq.QueueKey("orders", echomq.PendingSuffix)),
		"emq:{orders}:schedule":        of(echomq.QueueKey("orders", echomq.ScheduleSuffix)),
		"emq:{orders}:flow:outbox":     of(echomq.QueueKey("orders", echomq.OutboxSuffix)),
		"emq:{o.r-d_9}:metrics:failed": of(echomq.QueueKey("o.r-d_9", echomq.FailedMetricsSuffix)),

		"emq:{orders}:job:" + jobID:                   of(echomq.JobKey("orders", jobID)),
		"emq:{orders}:job:" + orderID:                 of(echomq.JobKey("orders", orderID)),
		"emq:{orders}:job:" + jobID + ":logs":         of(echomq.JobPartKey("orders", jobID, echomq.JobLogs)),
		"emq:{orders}:job:" + jobID + ":lock":         of(echomq.JobPartKey("orders", jobID, echomq.JobLock)),
		"emq:{orders}:job:" + jobID + ":dependencies": of(echomq.JobPartKey("orders", jobID, echomq.JobDependencies)),
		"emq:{orders}:job:" + jobID + ":processed":    of(echomq.JobPartKey("orders", jobID, echomq.JobProcessed)),
		"emq:{orders}:job:" + jobID + ":failed":       of(echomq.JobPartKey("orders", jobID, echomq.JobFailed)),
		"emq:{orders}:job:" + jobID + ":unsuccessful": of(echomq.JobPartKey("orders", jobID, echomq.JobUnsuccessful)),
		"emq:{orders}:g:" + laneID + ":pending":       of(echomq.LaneKey("orders", laneID)),

		"emq:{orders}:de:a.b-c_1":            of(echomq.DedupKey("orders", "a.b-c_1")),
		"emq:{orders}:repeat:nightly":        of(echomq.RepeatKey("orders", "nightly")),
		"emq:{orders}:stream:audit":          of(echomq.StreamKey("orders", "audit")),
		"emq:{orders}:stream:audit:archived": of(echomq.StreamArchivedKey("orders", "audit")),

		"{emq}:version":          of(echomq.ReserveKey(echomq.VersionUnit)),
		"{emq}:locks":            of(echomq.ReserveKey(echomq.LocksUnit)),
		"{emq}:bundle":           of(echomq.ReserveKey(echomq.BundleUnit)),
		"{emq}:migration:orders": of(echomq.ReserveKey(echomq.MigrationUnit + "orders")),
	} {
		if got != (result{want, nil}) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func TestQueueNames(t *testing.T) {
	for _, name := range []string{"a", "emqx", "EMQ", "A.b_c-9", "-", "..", strings.Repeat("q", 128)} {
		if _, err := echomq.QueueKey(name, "pending"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "emq", "a b", "a:b", "a{b", "a}b", "é", "a\x00", "a\n", strings.Repeat("q", 129)} {
		checkRefused(t, echomq.ErrQueueName, name, func() (string, error) { return echomq.QueueKey(name, "pending") })
		for _, key := range []func() (string, error){
			func() (string, error) { return echomq.JobKey(name, jobID) },
			func() (string, error) { return echomq.JobPartKey(name, jobID, echomq.JobLogs) },
			func() (string, error) { return echomq.LaneKey(name, laneID) },
			func() (string, error) { return echomq.DedupKey(name, "d") },
			func() (string, error) { return echomq.RepeatKey(name, "r") },
			func() (string, error) { return echomq.StreamKey(name, "s") },
			func() (string, error) { return echomq.StreamArchivedKey(name, "s") },
		} {
			checkRefused(t, echomq.ErrQueueName, name, key)
		}
		unit := echomq.MigrationUnit + name
		checkRefused(t, echomq.ErrReserveUnit, unit, func() (string, error) { return echomq.ReserveKey(unit) })
	}
}

func TestOtherNames(t *testing.T) {
	for _, id := range []echomq.BrandedID{"", "JOB", "job0JZGkPhnV4B", "JOBzzzzzzzzzzz", jobID + ":lock"} {
		checkRefused(t, echomq.ErrBrandedID, string(id), func() (string, error) { return echomq.JobKey("q", id) })
		checkRefused(t, echomq.ErrBrandedID, string(id), func() (string, error) { return echomq.LaneKey("q", id) })
		checkRefused(t, echomq.ErrBrandedID, string(id), func() (string, error) {
			return echomq.JobPartKey("q", id, echomq.JobLogs)
		})
	}
	for _, did := range []string{"", "a:b", "a b", strings.Repeat("d", 256)} {
		checkRefused(t, echomq.ErrDedupID, did, func() (string, error) { return echomq.DedupKey("q", did) })
	}
	if _, err := echomq.DedupKey("q", strings.Repeat("d", 255)); err != nil {
		t.Error(err)
	}
	for _, unit := range []string{"", "Version", "version:1", "migration", "migrations:q", "other"} {
		checkRefused(t, echomq.ErrReserveUnit, unit, func() (string, error) { return echomq.ReserveKey(unit) })
	}
	for _, part := range []echomq.JobPart{"", "log", "Logs"} {
		checkRefused(t, echomq.ErrJobPart, string(part), func() (string, error) {
			return echomq.JobPartKey("q", jobID, part)
		})
	}
}

func TestNameErrorIsShort(t *testing.T) {
	_, err := echomq.QueueKey(strings.Repeat("q", 1<<20), "pending")
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("%.300v", err)
	}
}

// checkRefused checks that key answers nothing but a NameError of that class.
func checkRefused(t *testing.T, class error, name string, key func() (string, error)) {
	t.Helper()
	got, err := key()
	var refused *echomq.NameError
	if got != "" || !errors.As(err, &refused) || refused.Name != name || !errors.Is(err, class) {
		t.Errorf("%.80q: got %q, %v; want a NameError of the class %v", name, got, err, class)
	}
}

// The answers are those of CLUSTER KEYSLOT.
func TestSlot(t *testing.T) {
	for _, c := range []struct {
		key  string
		slot int
		tag  string
	}{
		{"123456789", 12739, "123456789"},
		{"orders", 105, "orders"},
		{"emq", 9051, "emq"},
		{"user:1", 10778, "user:1"},
		{"emq:{orders}:pending", 105, "orders"},
		{"{orders}:x", 105, "orders"},
		{"{emq}:version", 9051, "emq"},
		{"a{}b{c}", 7353, "a{}b{c}"},
		{"{}", 15257, "{}"},
		{"{a", 10276, "{a"},
		{"a}b{c}d{e}", 7365, "c"},
		{"{{a}}", 10276, "{a"},
		{"", 0, ""},
	} {
		if got := echomq.Slot(c.key); got != c.slot {
			t.Errorf("Slot(%q) = %d, want %d", c.key, got, c.slot)
		}
		if got := echomq.HashTag(c.key); got != c.tag {
			t.Errorf("HashTag(%q) = %q, want %q", c.key, got, c.tag)
		}
	}
}

func TestAQueuesKeysShareASlot(t *testing.T) {
	row, _ := echomq.JobKey("orders", jobID)
	lane, _ := echomq.LaneKey("orders", laneID)
	outbox, _ := echomq.QueueKey("orders", echomq.OutboxSuffix)
	for _, key := range []string{row, lane, outbox} {
		if got := echomq.Slot(key); got != echomq.Slot("orders") {
			t.Errorf("%s is in slot %d", key, got)
		}
	}
}
