package store

import (
	"cmp"
	"fmt"
	"strings"
)

// fieldTTLs are the deadlines of a hash's fields, by field and by time.
type fieldTTLs struct {
	byField runs[fieldAt]
	byTime  runs[atField]
	indexed int64 // the hash's entry in its DB's deadline index, 0 if none
}

type fieldAt struct {
	field string
	at    int64
}

func (a fieldAt) compare(b fieldAt) int { return strings.Compare(a.field, b.field) }

type atField struct {
	at    int64
	field string
}

func (a atField) compare(b atField) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	return strings.Compare(a.field, b.field)
}

func (t *fieldTTLs) get(field string) int64 {
	e, _ := t.byField.Get(fieldAt{field: field})
	return e.at
}

// set sets a field's deadline; 0 takes it away.
func (t *fieldTTLs) set(field string, at int64) {
	if t.byField.Len() > 0 {
		if old, ok := t.byField.Delete(fieldAt{field: field}); ok {
			t.byTime.Delete(atField{old.at, field})
		}
	}
	if at != 0 {
		field = keep(field)
		t.byField.Set(fieldAt{field, at})
		t.byTime.Set(atField{at, field})
	}
}

func (t *fieldTTLs) fork() fieldTTLs {
	return fieldTTLs{t.byField.fork(), t.byTime.fork(), t.indexed}
}

func (t *fieldTTLs) size() int { return 160 + t.byField.Len()*(2*slotSize+16) }

func (t *fieldTTLs) check(h *HashObj) error {
	if err := t.byField.check(); err != nil {
		return fmt.Errorf("field deadlines: %w", err)
	}
	if err := t.byTime.check(); err != nil {
		return fmt.Errorf("field deadlines: %w", err)
	}
	if t.byField.Len() != t.byTime.Len() {
		return fmt.Errorf("field deadlines: %d by field, %d by time", t.byField.Len(), t.byTime.Len())
	}
	var err error
	t.byTime.Ascend(0, func(e atField) bool {
		if t.get(e.field) != e.at || e.at == 0 || !h.Has(e.field) {
			err = fmt.Errorf("field deadlines: wrong or left over for %q", e.field)
		}
		return err == nil
	})
	return err
}

// Deadline returns a field's deadline in Unix milliseconds, 0 if it has none.
func (h *HashObj) Deadline(field string) int64 {
	if h.ext == nil {
		return 0
	}
	return h.ext.ttl.get(field)
}

// SetDeadline sets the deadline of a field in Unix milliseconds; 0 takes it away. It
// returns false if there is no such field. A hash in which a field ever had a deadline
// reports "hashtable", as in Valkey 9.
func (h *HashObj) SetDeadline(field string, atMs int64) bool {
	if !h.Has(field) {
		return false
	}
	if atMs != 0 {
		h.table = true
		if h.outgrown() && !h.large() {
			h.unpack()
		}
	}
	if atMs != 0 || h.ext != nil {
		h.extend().ttl.set(field, atMs)
	}
	return true
}

// MinDeadline returns the earliest deadline of a field in Unix milliseconds, 0 if no
// field has one.
func (h *HashObj) MinDeadline() int64 {
	if h.ext == nil {
		return 0
	}
	e, _ := h.ext.ttl.byTime.Min()
	return e.at
}

// DeadlineLen returns the number of fields that have a deadline.
func (h *HashObj) DeadlineLen() int {
	if h.ext == nil {
		return 0
	}
	return h.ext.ttl.byTime.Len()
}

// PopExpired removes the fields whose deadline is nowMs or earlier and returns their
// names, earliest deadline first.
func (h *HashObj) PopExpired(nowMs int64) (fields []string) {
	if h.ext == nil {
		return nil
	}
	for {
		e, ok := h.ext.ttl.byTime.Min()
		if !ok || e.at > nowMs {
			return fields
		}
		h.Del(e.field)
		fields = append(fields, e.field)
	}
}
