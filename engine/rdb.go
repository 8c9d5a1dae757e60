package engine

import (
	"encoding/binary"
	"hash/crc64"
	"strconv"
)

// This file and rdb_lzf.go have what the server's binary payloads share: the
// string encoding of its RDB format, and the version and checksum at the end.

const rdbVersion = 11

// crcTable is the server's CRC-64: Jones' polynomial, reflected, without inversion.
var crcTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

// rdbChecksum is the server's checksum of data.
func rdbChecksum(data string) uint64 {
	var crc uint64
	for i := 0; i < len(data); i++ {
		crc = crcTable[byte(crc)^data[i]] ^ crc>>8
	}
	return crc
}

// sealPayload appends the version and the checksum.
func sealPayload(b []byte) string {
	b = binary.LittleEndian.AppendUint16(b, rdbVersion)
	return string(binary.LittleEndian.AppendUint64(b, rdbChecksum(string(b))))
}

// openPayload checks version and checksum and returns what stands before them.
func openPayload(s string) (body string, ok bool) {
	if len(s) < 10 {
		return "", false
	}
	body, foot := s[:len(s)-10], []byte(s[len(s)-10:])
	if binary.LittleEndian.Uint16(foot) > rdbVersion {
		return "", false
	}
	return body, binary.LittleEndian.Uint64(foot[2:]) == rdbChecksum(s[:len(s)-8])
}

// How the first byte of an RDB length begins.
const (
	rdb6Bit    = 0x00
	rdb14Bit   = 0x40
	rdb32Bit   = 0x80 // the whole byte
	rdb64Bit   = 0x81 // the whole byte
	rdbEncoded = 0xc0 // not a length: one of the string encodings below
)

const (
	rdbInt8  = 0
	rdbInt16 = 1
	rdbInt32 = 2
	rdbLZF   = 3
)

// appendRDBLen appends a length.
func appendRDBLen(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, rdb6Bit|byte(n))
	case n < 1<<14:
		return append(b, rdb14Bit|byte(n>>8), byte(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, rdb32Bit), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, rdb64Bit), n)
}

// appendRDBString appends a string: as an integer, compressed or as it is.
func appendRDBString(b []byte, s string) []byte {
	if n, ok := parseInt(s); ok && len(s) <= 11 {
		switch {
		case n == int64(int8(n)):
			return append(b, rdbEncoded|rdbInt8, byte(n))
		case n == int64(int16(n)):
			return binary.LittleEndian.AppendUint16(append(b, rdbEncoded|rdbInt16), uint16(n))
		case n == int64(int32(n)):
			return binary.LittleEndian.AppendUint32(append(b, rdbEncoded|rdbInt32), uint32(n))
		}
	}
	if len(s) > 20 {
		if packed := lzfCompress(s, len(s)-4); packed != nil {
			b = appendRDBLen(append(b, rdbEncoded|rdbLZF), uint64(len(packed)))
			return append(appendRDBLen(b, uint64(len(s))), packed...)
		}
	}
	return append(appendRDBLen(b, uint64(len(s))), s...)
}

// rdbReader reads a payload. After a failure bad is set and everything reads as zero.
type rdbReader struct {
	s   string
	bad bool
}

// take reads n bytes.
func (r *rdbReader) take(n uint64) string {
	if r.bad || n > uint64(len(r.s)) {
		r.bad = true
		return ""
	}
	out := r.s[:n]
	r.s = r.s[n:]
	return out
}

func (r *rdbReader) byte() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0
}

// len reads a length, or with encoded set the number of a string encoding.
func (r *rdbReader) len() (n uint64, encoded bool) {
	first := r.byte()
	switch first & 0xc0 {
	case rdb6Bit:
		return uint64(first & 0x3f), false
	case rdb14Bit:
		return uint64(first&0x3f)<<8 | uint64(r.byte()), false
	case rdbEncoded:
		return uint64(first & 0x3f), true
	}
	switch first {
	case rdb32Bit:
		return r.fixed(4, true), false
	case rdb64Bit:
		return r.fixed(8, true), false
	}
	r.bad = true
	return 0, false
}

// fixed reads an unsigned integer of so many bytes.
func (r *rdbReader) fixed(size uint64, bigEndian bool) uint64 {
	s := r.take(size)
	var n uint64
	for i := range len(s) {
		at := i
		if !bigEndian {
			at = len(s) - 1 - i
		}
		n = n<<8 | uint64(s[at])
	}
	return n
}

// str reads a string.
func (r *rdbReader) str() string {
	n, encoded := r.len()
	if !encoded {
		return r.take(n)
	}
	switch n {
	case rdbInt8:
		return strconv.Itoa(int(int8(r.fixed(1, false))))
	case rdbInt16:
		return strconv.Itoa(int(int16(r.fixed(2, false))))
	case rdbInt32:
		return strconv.Itoa(int(int32(r.fixed(4, false))))
	case rdbLZF:
		packed, _ := r.len()
		size, _ := r.len()
		s, ok := lzfExpand(r.take(packed), size)
		r.bad = r.bad || !ok
		return s
	}
	r.bad = true
	return ""
}
