package engine

import "math"

// The world is divided into four quarters, each of them again, and so on; a geohash
// names an area by its place in that: two bits a step, longitude first. What a sorted
// set keeps is the hash of the 26th step. Sums are written so that no machine may fuse
// them with a product: the last digit is seen.

const (
	geoMaxStep   = 26
	geoMaxLon    = 180.0
	geoMaxLat    = 85.05112878
	earthRadius  = 6372797.560856 // meters
	radianDegree = math.Pi / 180

	geoLonBits = 0xaaaaaaaaaaaaaaaa
	geoLatBits = 0x5555555555555555
)

// geoPoint is a place in degrees.
type geoPoint struct{ lon, lat float64 }

// geoArea is what a hash names: 2*step bits.
type geoArea struct {
	bits uint64
	step int
}

// geoBounds are the edges of an area in degrees.
type geoBounds struct{ minLon, maxLon, minLat, maxLat float64 }

// area returns the area of a step that p lies in.
func (p geoPoint) area(step int) geoArea { return p.areaWithin(step, geoMaxLat) }

// areaWithin is area in a world that ends at a latitude of maxLat.
func (p geoPoint) areaWithin(step int, maxLat float64) geoArea {
	cells := float64(uint64(1) << step)
	lat := (p.lat + maxLat) / (2 * maxLat) * cells
	lon := (p.lon + geoMaxLon) / (2 * geoMaxLon) * cells
	return geoArea{spread(uint32(lat)) | spread(uint32(lon))<<1, step}
}

// score is the least score of a point in the area.
func (a geoArea) score() float64 { return float64(a.bits << (2 * (geoMaxStep - a.step))) }

// scoreEnd is the least score behind the area.
func (a geoArea) scoreEnd() float64 { return geoArea{a.bits + 1, a.step}.score() }

func (a geoArea) bounds() geoBounds {
	edge := func(n uint32, limit float64) float64 {
		part := float64(n) / float64(uint64(1)<<a.step)
		return -limit + float64(part*(2*limit))
	}
	lat, lon := gather(a.bits), gather(a.bits>>1)
	return geoBounds{edge(lon, geoMaxLon), edge(lon+1, geoMaxLon), edge(lat, geoMaxLat), edge(lat+1, geoMaxLat)}
}

// geoPointOf is the point that a score stands for: the middle of its area. It takes
// the scores that no GEOADD made, too.
func geoPointOf(score float64) geoPoint {
	b := geoArea{cUint64(score), geoMaxStep}.bounds()
	clamp := func(x, limit float64) float64 { return min(max(x, -limit), limit) }
	return geoPoint{clamp((b.minLon+b.maxLon)/2, geoMaxLon), clamp((b.minLat+b.maxLat)/2, geoMaxLat)}
}

// cUint64 converts as C does on x86-64, where out of range it is undefined.
func cUint64(f float64) uint64 {
	const half = 1 << 63
	if f < half {
		return uint64(cInt64(f))
	}
	return uint64(cInt64(f-half)) ^ half
}

// cInt64 converts as C does on x86-64: what is out of range becomes the least integer.
func cInt64(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// moved is the area that is some areas further east and north, around the world if need
// be. The area of a point on the edge of the world has a bit too many, which it keeps
// in a direction in which it does not move.
func (a geoArea) moved(east, north int) geoArea {
	mask := uint32(1)<<a.step - 1
	lon, lat := gather(a.bits>>1), gather(a.bits)
	if east != 0 {
		lon = (lon + uint32(east)) & mask
	}
	if north != 0 {
		lat = (lat + uint32(north)) & mask
	}
	return geoArea{spread(lon)<<1 | spread(lat), a.step}
}

// spread puts the bits of n on the even bits of the result.
func spread(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & geoLatBits
}

// gather is spread backwards; the odd bits don't matter.
func gather(x uint64) uint32 {
	x &= geoLatBits
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

const geoAlphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// text is the geohash as the world knows it, in which latitudes go up to 90 degrees.
// Its last letter needs bits that there are not.
func (p geoPoint) text() string {
	bits := p.areaWithin(geoMaxStep, 90).bits
	out := []byte("00000000000")
	for i := range out[:10] {
		out[i] = geoAlphabet[bits>>(52-5*(i+1))&31]
	}
	return string(out)
}

func radians(degrees float64) float64 { return degrees * radianDegree }

// distance is the way between two points on a sphere, in meters.
func (p geoPoint) distance(q geoPoint) float64 {
	v := preciseSin((radians(q.lon) - radians(p.lon)) / 2)
	if v == 0 {
		return p.latDistance(q)
	}
	lat1, lat2 := radians(p.lat), radians(q.lat)
	u := preciseSin((lat2 - lat1) / 2)
	a := float64(u*u) + float64(preciseCos(lat1)*preciseCos(lat2)*v*v)
	return 2 * earthRadius * preciseAsin(math.Sqrt(a))
}

// latDistance is the way north or south to q's latitude.
func (p geoPoint) latDistance(q geoPoint) float64 {
	return earthRadius * math.Abs(radians(q.lat)-radians(p.lat))
}
