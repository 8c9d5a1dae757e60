package echomq

import (
	"errors"
	"fmt"
	"strings"
)

// Slots is the number of slots of a cluster.
const Slots = 16384

// The suffixes of a queue's fixed keys, for QueueKey. BaseSuffix gives the
// prefix that all keys of the queue share.
const (
	BaseSuffix             = ""
	PendingSuffix          = "pending"                // zset: job ids, score 0
	ActiveSuffix           = "active"                 // zset: job ids by lease deadline, Unix ms
	ScheduleSuffix         = "schedule"               // zset: job ids by run time, Unix ms
	DeadSuffix             = "dead"                   // zset: job ids, score 0
	RingSuffix             = "ring"                   // list: the serviceable lanes, in turn
	WakeSuffix             = "wake"                   // list: at most 64 wake tokens
	PausedSuffix           = "paused"                 // set: paused groups
	GroupLimitSuffix       = "glimit"                 // hash: group to concurrency ceiling
	GroupActiveSuffix      = "gactive"                // hash: group to jobs in flight
	GroupWeightSuffix      = "gweight"                // hash: group to weight
	MetaSuffix             = "meta"                   // hash: paused, concurrency, max
	LimiterSuffix          = "limiter"                // string with a TTL: the spent rate
	RepeatSuffix           = "repeat"                 // zset: registrations by next run, Unix ms
	OutboxSuffix           = "flow:outbox"            // list: signals to parents in other queues
	EventsSuffix           = "events"                 // channel, not a key
	CompletedMetricsSuffix = "metrics:completed"      // hash: count
	FailedMetricsSuffix    = "metrics:failed"         // hash: count
	CompletedDataSuffix    = "metrics:completed:data" // list
	FailedDataSuffix       = "metrics:failed:data"    // list
)

// JobPart names a key that belongs to one job, beside the job's row.
type JobPart string

// The parts of a job.
const (
	JobLogs         JobPart = "logs"         // list: log lines, oldest first
	JobLock         JobPart = "lock"         // string with a TTL: the worker's token
	JobDependencies JobPart = "dependencies" // string: number of outstanding children
	JobProcessed    JobPart = "processed"    // hash: child id to result
	JobFailed       JobPart = "failed"       // hash: child id to error, which fails the parent
	JobUnsuccessful JobPart = "unsuccessful" // hash: child id to error, which the parent ignores
)

// The units of the reserve, for ReserveKey. MigrationUnit is a prefix that a
// queue's name follows.
const (
	VersionUnit   = "version"
	LocksUnit     = "locks"
	BundleUnit    = "bundle"
	MigrationUnit = "migration:"
)

const (
	reserveTag      = "emq"
	maxQueueBytes   = 128
	maxDedupIDBytes = 255
)

// The classes of a NameError.
var (
	ErrQueueName   = errors.New("echomq: a queue's name is 1 to 128 of A-Z a-z 0-9 . _ - and not emq")
	ErrDedupID     = errors.New("echomq: a deduplication id is 1 to 255 of A-Z a-z 0-9 . _ -")
	ErrReserveUnit = errors.New("echomq: the reserve holds version, locks, bundle and migration:<queue> only")
	ErrJobPart     = errors.New("echomq: not a part of a job")
)

// NameError reports a name that is outside the grammar. It matches its Err with
// errors.Is: ErrQueueName, ErrDedupID, ErrReserveUnit, ErrJobPart or
// ErrBrandedID.
type NameError struct {
	Name string // the refused name
	Err  error  // the rule that it breaks
}

// Error gives the rule and the first bytes of the name.
func (e *NameError) Error() string { return fmt.Sprintf("%v: %.64q", e.Err, e.Name) }

// Unwrap returns the rule.
func (e *NameError) Unwrap() error { return e.Err }

// QueueKey returns emq:{queue}:suffix. It fails with ErrQueueName.
func QueueKey(queue, suffix string) (string, error) {
	if err := checkQueue(queue); err != nil {
		return "", err
	}
	return "emq:{" + queue + "}:" + suffix, nil
}

// JobKey returns the key of a job's row, emq:{queue}:job:id. Any namespace will
// do here: that a job is a JOB is for the scripts to say. It fails with
// ErrQueueName or ErrBrandedID.
func JobKey(queue string, id BrandedID) (string, error) {
	return idKey(queue, "job:", id, "")
}

// JobPartKey returns the key of a part of a job, emq:{queue}:job:id:part. It
// fails as JobKey does, and with ErrJobPart.
func JobPartKey(queue string, id BrandedID, part JobPart) (string, error) {
	switch part {
	case JobLogs, JobLock, JobDependencies, JobProcessed, JobFailed, JobUnsuccessful:
		return idKey(queue, "job:", id, ":"+string(part))
	}
	return "", &NameError{Name: string(part), Err: ErrJobPart}
}

// LaneKey returns the key of a group's pending jobs, emq:{queue}:g:group:pending.
// It fails with ErrQueueName or ErrBrandedID.
func LaneKey(queue string, group BrandedID) (string, error) {
	return idKey(queue, "g:", group, ":pending")
}

// DedupKey returns the key that holds the job of a deduplication id,
// emq:{queue}:de:id. It fails with ErrQueueName or ErrDedupID.
func DedupKey(queue, id string) (string, error) {
	if !plainName(id, maxDedupIDBytes) {
		return "", &NameError{Name: id, Err: ErrDedupID}
	}
	return QueueKey(queue, "de:"+id)
}

// RepeatKey returns the key of a repeat registration, emq:{queue}:repeat:name.
// It fails with ErrQueueName.
func RepeatKey(queue, name string) (string, error) {
	return QueueKey(queue, "repeat:"+name)
}

// StreamKey returns the key of a stream, emq:{queue}:stream:name. It fails with
// ErrQueueName.
func StreamKey(queue, name string) (string, error) {
	return QueueKey(queue, "stream:"+name)
}

// StreamArchivedKey returns the key of a stream's archive watermark,
// emq:{queue}:stream:name:archived. It fails with ErrQueueName.
func StreamArchivedKey(queue, name string) (string, error) {
	return QueueKey(queue, "stream:"+name+":archived")
}

// ReserveKey returns {emq}:unit, a key of the protocol's own. It fails with
// ErrReserveUnit.
func ReserveKey(unit string) (string, error) {
	switch unit {
	case VersionUnit, LocksUnit, BundleUnit:
		return "{" + reserveTag + "}:" + unit, nil
	}
	queue, ok := strings.CutPrefix(unit, MigrationUnit)
	if !ok || checkQueue(queue) != nil {
		return "", &NameError{Name: unit, Err: ErrReserveUnit}
	}
	return "{" + reserveTag + "}:" + unit, nil
}

// HashTag returns the part of key that decides its slot: what stands between
// the first { and the next }, or all of key when that is absent or empty.
func HashTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// Slot returns the cluster slot of key, 0 to Slots-1.
func Slot(key string) int { return int(crc16(HashTag(key)) % Slots) }

func idKey(queue, prefix string, id BrandedID, suffix string) (string, error) {
	if err := checkID(string(id)); err != nil {
		return "", err
	}
	return QueueKey(queue, prefix+string(id)+suffix)
}

// checkQueue refuses emq because its hash tag is the reserve's.
func checkQueue(queue string) error {
	if queue == reserveTag || !plainName(queue, maxQueueBytes) {
		return &NameError{Name: queue, Err: ErrQueueName}
	}
	return nil
}

func plainName(name string, maxBytes int) bool {
	if name == "" || len(name) > maxBytes {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isBase62(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, initial value 0, not reflected.
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc = crc<<8 ^ crc16Table[byte(crc>>8)^s[i]]
	}
	return crc
}

var crc16Table = makeCRC16Table()

func makeCRC16Table() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}
