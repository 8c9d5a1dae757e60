package echomq

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// EpochUnixMs is the time of snowflake 0, 2024-01-01T00:00:00Z, in Unix
// milliseconds.
const EpochUnixMs = 1704067200000

// The highest values of a snowflake's parts.
const (
	MaxNode      = 1<<nodeBits - 1
	MaxSeq       = 1<<seqBits - 1
	MaxSnowflake = Snowflake(math.MaxInt64)
)

// The namespaces that the protocol gives a meaning.
const (
	JobNamespace   = "JOB" // jobs
	EventNamespace = "EVT" // stream entries
)

const (
	nodeBits       = 10
	seqBits        = 12
	tailMask       = 1<<(nodeBits+seqBits) - 1
	maxTicks       = 1<<(63-nodeBits) - 1 // see Minter.last
	namespaceBytes = 3
	payloadBytes   = 11
	idBytes        = namespaceBytes + payloadBytes
	maxPayload     = "AzL8n0Y58m7" // MaxSnowflake

	// In ascending byte order, so that ids sort as their snowflakes do.
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ErrBrandedID is the class of every refusal of a branded id.
var ErrBrandedID = errors.New("echomq: not a branded id")

var (
	errIDLength    = fmt.Errorf("%w: must be %d bytes", ErrBrandedID, idBytes)
	errIDNamespace = fmt.Errorf("%w: must begin with three of A-Z", ErrBrandedID)
	errIDAlphabet  = fmt.Errorf("%w: must end in base62 digits", ErrBrandedID)
	errIDRange     = fmt.Errorf("%w: the snowflake is over 63 bits", ErrBrandedID)
	errIDNegative  = fmt.Errorf("%w: the snowflake is negative", ErrBrandedID)
)

// The refusals of a Minter.
var (
	ErrNode  = errors.New("echomq: a node is 0 to 1023")
	ErrClock = errors.New("echomq: the clock is past the last snowflake")
)

// BrandedID is 14 bytes: a namespace of three capital letters, then a snowflake
// as 11 base62 digits. Within a namespace the byte order of ids is the order of
// their snowflakes. A BrandedID can be converted from any string; Valid tells
// whether it is one.
type BrandedID string

// ParseID returns s as an id, or a NameError of the class ErrBrandedID.
func ParseID(s string) (BrandedID, error) {
	if err := checkID(s); err != nil {
		return "", err
	}
	return BrandedID(s), nil
}

// FormatID returns the id of a snowflake in a namespace. It fails with
// ErrBrandedID for a namespace that is not three of A-Z, and for a negative
// snowflake.
func FormatID(namespace string, s Snowflake) (BrandedID, error) {
	if len(namespace) != namespaceBytes || !isNamespace(namespace) {
		return "", &NameError{Name: namespace, Err: errIDNamespace}
	}
	if s < 0 {
		return "", &NameError{Name: strconv.FormatInt(int64(s), 10), Err: errIDNegative}
	}
	var id [idBytes]byte
	copy(id[:], namespace)
	for i, n := idBytes-1, s; i >= namespaceBytes; i-- {
		id[i] = alphabet[n%62]
		n /= 62
	}
	return BrandedID(id[:]), nil
}

// Valid reports whether id has the form of a branded id. The time in it may be
// any.
func (id BrandedID) Valid() bool { return checkID(string(id)) == nil }

// Namespace returns the first three bytes, or "" of an id that is not valid.
func (id BrandedID) Namespace() string {
	if !id.Valid() {
		return ""
	}
	return string(id[:namespaceBytes])
}

// Snowflake returns the id's number, or an error of the class ErrBrandedID.
func (id BrandedID) Snowflake() (Snowflake, error) {
	if err := checkID(string(id)); err != nil {
		return 0, err
	}
	var n Snowflake
	for i := namespaceBytes; i < idBytes; i++ {
		n = n*62 + Snowflake(strings.IndexByte(alphabet, id[i]))
	}
	return n, nil
}

// Compare returns -1, 0 or +1 as id sorts before, with or after other on the
// server: by bytes, which in one namespace is by snowflake.
func (id BrandedID) Compare(other BrandedID) int {
	return strings.Compare(string(id), string(other))
}

// Snowflake is 63 bits: 41 of milliseconds since EpochUnixMs, 10 of node and 12
// of sequence number. A negative one has no meaning.
type Snowflake int64

// UnixMs returns the time in Unix milliseconds.
func (s Snowflake) UnixMs() int64 { return int64(s>>(nodeBits+seqBits)) + EpochUnixMs }

// Time returns the time, in UTC, to the millisecond.
func (s Snowflake) Time() time.Time { return time.UnixMilli(s.UnixMs()).UTC() }

// Node returns the node, 0 to MaxNode.
func (s Snowflake) Node() int { return int(s>>seqBits) & MaxNode }

// Seq returns the sequence number within the millisecond, 0 to MaxSeq.
func (s Snowflake) Seq() int { return int(s) & MaxSeq }

// StreamID returns the entry ID under which a stream keeps this snowflake:
// Unix milliseconds, then node and sequence number as one number.
func (s Snowflake) StreamID() string {
	return strconv.FormatInt(s.UnixMs(), 10) + "-" + strconv.FormatInt(int64(s&tailMask), 10)
}

// StreamFloor returns the lowest entry ID of t's millisecond.
func StreamFloor(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) + "-0" }

// StreamCeiling returns the highest entry ID that an id of t's millisecond can
// have. A range up to it includes that millisecond.
func StreamCeiling(t time.Time) string {
	return strconv.FormatInt(t.UnixMilli(), 10) + "-" + strconv.Itoa(tailMask)
}

// Minter mints ids for one node, each above the one before. Its methods may be
// called from several goroutines.
type Minter struct {
	node Snowflake
	now  func() time.Time
	last atomic.Int64 // the last id's ticks: ms<<seqBits | seq, without the node
}

// NewMinter returns a minter for node, 0 to MaxNode, that reads the time from
// now; nil means time.Now. Two minters must not share a node. It fails with
// ErrNode.
func NewMinter(node int, now func() time.Time) (*Minter, error) {
	if node < 0 || node > MaxNode {
		return nil, fmt.Errorf("%w: %d", ErrNode, node)
	}
	if now == nil {
		now = time.Now
	}
	m := &Minter{node: Snowflake(node), now: now}
	m.last.Store(-1)
	return m, nil
}

// Mint returns the next id in namespace. It fails with ErrBrandedID for a
// namespace that is not three of A-Z, and with ErrClock.
func (m *Minter) Mint(namespace string) (BrandedID, error) {
	s, err := m.Next()
	if err != nil {
		return "", err
	}
	return FormatID(namespace, s)
}

// Next returns the next snowflake: the clock's millisecond with sequence number
// 0, or the last one's successor when that is higher. So a clock that steps back
// or a burst of more than 4096 in a millisecond borrows from the future. It
// fails with ErrClock beyond the year 2093, without spoiling later calls.
func (m *Minter) Next() (Snowflake, error) {
	now := clockTicks(m.now().UnixMilli())
	for {
		last := m.last.Load()
		next := max(now, last+1)
		if next > maxTicks {
			return 0, ErrClock
		}
		if m.last.CompareAndSwap(last, next) {
			return Snowflake(next>>seqBits<<(nodeBits+seqBits)|next&MaxSeq) | m.node<<seqBits, nil
		}
	}
}

// clockTicks returns the first tick of a millisecond, clamped to 0 for a clock
// before the epoch and to an impossible tick for one past the range.
func clockTicks(unixMs int64) int64 {
	if unixMs < EpochUnixMs {
		return 0
	}
	ms := unixMs - EpochUnixMs
	if ms > maxTicks>>seqBits {
		return maxTicks + 1
	}
	return ms << seqBits
}

func checkID(s string) error {
	var rule error
	switch {
	case len(s) != idBytes:
		rule = errIDLength
	case !isNamespace(s[:namespaceBytes]):
		rule = errIDNamespace
	case !isBase62All(s[namespaceBytes:]):
		rule = errIDAlphabet
	case s[namespaceBytes:] > maxPayload:
		rule = errIDRange
	default:
		return nil
	}
	return &NameError{Name: s, Err: rule}
}

func isNamespace(s string) bool {
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}

func isBase62All(s string) bool {
	for i := range len(s) {
		if !isBase62(s[i]) {
			return false
		}
	}
	return true
}

func isBase62(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
