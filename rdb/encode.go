package rdb

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strconv"
	"sync"
)

// Versions of the format: what Valkey 7.2 and 8 write, and Valkey 9. Those between are of
// servers that went other ways.
const (
	version       = 11
	versionFields = 80 // fields of hashes have deadlines
)

// known reports whether a version can be read.
func known(v int) bool { return v >= 1 && v <= version || v == versionFields }

// Types of values.
const (
	typeString          = 0
	typeList            = 1
	typeSet             = 2
	typeZSetText        = 3 // scores as text
	typeHash            = 4
	typeZSet            = 5
	typeModuleEarly     = 6
	typeModule          = 7
	typeHashZipmap      = 9
	typeListZiplist     = 10
	typeSetIntset       = 11
	typeZSetZiplist     = 12
	typeHashZiplist     = 13
	typeListQuickZip    = 14 // quicklist of ziplists
	typeStream1         = 15
	typeHashListpack    = 16
	typeZSetListpack    = 17
	typeListQuick       = 18
	typeStream2         = 19
	typeSetListpack     = 20
	typeStream3         = 21
	typeHashFields      = 22
	containerPlain      = 1
	containerPacked     = 2
	streamDeleted       = 1 // flags of an entry
	streamSameFields    = 2
	neverActive         = -1
	noDeadline          = -1
	streamNodeKeyLength = 16
)

// crcTable is the server's CRC-64: Jones' polynomial, reflected, without inversion.
var crcTable = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(0x95ac9329ac4bc9b5) })

// checksum is the server's checksum of data, after that of what stood before.
func checksum[T string | []byte](crc uint64, data T) uint64 {
	table := crcTable()
	for i := 0; i < len(data); i++ {
		crc = table[byte(crc)^data[i]] ^ crc>>8
	}
	return crc
}

// How the first byte of a length begins.
const (
	len6Bit    = 0x00
	len14Bit   = 0x40
	len32Bit   = 0x80 // the whole byte
	len64Bit   = 0x81 // the whole byte
	lenEncoded = 0xc0 // not a length: one of the string encodings below
)

const (
	encInt8  = 0
	encInt16 = 1
	encInt32 = 2
	encLZF   = 3
)

// appendLen appends a length.
func appendLen(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, len6Bit|byte(n))
	case n < 1<<14:
		return append(b, len14Bit|byte(n>>8), byte(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, len32Bit), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, len64Bit), n)
}

// compression tells whether strings are compressed, as rdbcompression says on a server.
type compression bool

// appendString appends a string: as an integer, compressed or as it is.
func (z compression) appendString(b []byte, s string) []byte {
	if n, ok := parseInt(s); ok && len(s) <= 11 {
		switch {
		case n == int64(int8(n)):
			return append(b, lenEncoded|encInt8, byte(n))
		case n == int64(int16(n)):
			return binary.LittleEndian.AppendUint16(append(b, lenEncoded|encInt16), uint16(n))
		case n == int64(int32(n)):
			return binary.LittleEndian.AppendUint32(append(b, lenEncoded|encInt32), uint32(n))
		}
	}
	if z && len(s) > 20 {
		if packed := lzfCompress(s, len(s)-4); packed != nil {
			b = appendLen(append(b, lenEncoded|encLZF), uint64(len(packed)))
			return append(appendLen(b, uint64(len(s))), packed...)
		}
	}
	return append(appendLen(b, uint64(len(s))), s...)
}

// appendMillis appends a time in Unix milliseconds.
func appendMillis(b []byte, ms int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(ms)) }

func appendDouble(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

// parseInt returns the integer of which s is the canonical text.
func parseInt(s string) (n int64, ok bool) {
	if len(s) == 0 || len(s) > 20 || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, false
	}
	var text [20]byte
	return n, string(strconv.AppendInt(text[:0], n, 10)) == s
}
