package engine

import (
	"math"
	"math/big"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var geoCommands = []Spec{
	{Name: "geoadd", Arity: -5, Flags: Write | DenyOOM,
		Keys: keys(key1(RW | Update)), run: geoadd,
		Group: "geo", Since: "3.2.0", Complexity: "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
		Summary: "Adds one or more members to a geospatial index. The key is created if it doesn't exist.",
		History: []string{"6.2.0 Added the `CH`, `NX` and `XX` options."},
		Args:    `key:k#0 condition<nx:t=NX xx:t=XX>@6.2.0? change:t=CH@6.2.0? data{longitude:d latitude:d member}*`},
	{Name: "geodist", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: geodist,
		Group: "geo", Since: "3.2.0", Complexity: "O(1)",
		Summary: "Returns the distance between two members of a geospatial index.",
		Args:    `key:k#0 member1 member2 unit<m:t=M km:t=KM ft:t=FT mi:t=MI>?`},
	{Name: "geohash", Arity: -2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: geohash,
		Group: "geo", Since: "3.2.0", Complexity: "O(1) for each member requested.",
		Summary: "Returns members from a geospatial index as geohash strings.",
		Args:    `key:k#0 member?*`},
	{Name: "geopos", Arity: -2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: geopos,
		Group: "geo", Since: "3.2.0", Complexity: "O(1) for each member requested.",
		Summary: "Returns the longitude and latitude of members from a geospatial index.",
		Args:    `key:k#0 member?*`},
}

var errGeoUnit = resp.Err("ERR unsupported unit provided. please use M, KM, FT, MI")

// geoadd: GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]
func geoadd(c *Call) resp.Value {
	opt, first := zaddOptions{}, 2
	for ; first < len(c.Args); first++ {
		if c.is(first, "nx") {
			opt.nx = true
		} else if c.is(first, "xx") {
			opt.xx = true
		} else if c.is(first, "ch") {
			opt.ch = true
		} else {
			break
		}
	}
	points := c.Args[first:]
	if len(points)%3 != 0 || len(points) == 0 || opt.nx && opt.xx {
		return errSyntax
	}
	pairs, scores, longest := make([]string, 0, len(points)/3*2), make([]float64, 0, len(points)/3), 0
	for i := 0; i < len(points); i += 3 {
		p, bad := geoPointArgs(points[i:])
		if bad != nil {
			return *bad
		}
		member := points[i+2]
		pairs = append(pairs, "", member)
		scores = append(scores, p.area(geoMaxStep).score())
		longest = max(longest, len(member))
	}
	if c.repl.streams() {
		args := append([]string{"zadd"}, c.Args[1:first]...)
		for i, score := range scores {
			args = append(args, strconv.FormatInt(int64(score), 10), pairs[2*i+1])
		}
		c.sendAs(args...)
	}
	return c.zaddScored(opt, pairs, scores, longest)
}

// geoPointArgs reads the longitude and latitude that args begin with.
func geoPointArgs(args []string) (p geoPoint, bad *resp.Value) {
	var ok bool
	if p.lon, ok = parseFloat(args[0]); !ok {
		return p, &errNotFloat
	}
	if p.lat, ok = parseFloat(args[1]); !ok {
		return p, &errNotFloat
	}
	if math.Abs(p.lon) > geoMaxLon || math.Abs(p.lat) > geoMaxLat {
		v := resp.Err("ERR invalid longitude,latitude pair " + sixDigits(p.lon) + "," + sixDigits(p.lat))
		return p, &v
	}
	return p, nil
}

// sixDigits is f as C prints it with %f.
func sixDigits(f float64) string {
	if math.IsInf(f, 0) {
		return resp.FormatDouble(f)
	}
	return strconv.FormatFloat(f, 'f', 6, 64)
}

// geoUnit is the length of a unit in meters.
func geoUnit(name string) (meters float64, bad *resp.Value) {
	switch {
	case equalWord(name, "m"):
		return 1, nil
	case equalWord(name, "km"):
		return 1000, nil
	case equalWord(name, "ft"):
		return 0.3048, nil
	case equalWord(name, "mi"):
		return 1609.34, nil
	}
	return 0, &errGeoUnit
}

// geodist: GEODIST key member1 member2 [M | KM | FT | MI]
func geodist(c *Call) resp.Value {
	unit := 1.0
	switch {
	case len(c.Args) > 5:
		return errSyntax
	case len(c.Args) == 5:
		var bad *resp.Value
		if unit, bad = geoUnit(c.Args[4]); bad != nil {
			return *bad
		}
	}
	o, bad := c.readAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Null
	}
	p, ok := geoPointOfMember(o, c.Args[2])
	q, ok2 := geoPointOfMember(o, c.Args[3])
	if !ok || !ok2 {
		return resp.Null
	}
	return geoDistance(p.distance(q) / unit)
}

// geoPointOfMember is where a member is. o may be nil.
func geoPointOfMember(o *store.Object, member string) (p geoPoint, ok bool) {
	if o == nil {
		return p, false
	}
	score, ok := o.ZSet().Score(member)
	if !ok {
		return p, false
	}
	return geoPointOf(score), true
}

// geoDistance is a distance with four digits behind the point. What is too long for
// the server's integers comes out as their least one, as there.
func geoDistance(d float64) resp.Value {
	n := cInt64(math.RoundToEven(d * 1e4))
	text := strconv.FormatUint(uint64(max(n, -n)), 10) // n of the least integer is its own negative
	if len(text) < 5 {
		text = "00000"[len(text):] + text
	}
	text = text[:len(text)-4] + "." + text[len(text)-4:]
	if n < 0 {
		text = "-" + text
	}
	return resp.Bulk(text)
}

// geohash: GEOHASH key [member [member ...]]
func geohash(c *Call) resp.Value {
	return c.geoEach(resp.Null, func(p geoPoint) resp.Value { return resp.Bulk(p.text()) })
}

// geopos: GEOPOS key [member [member ...]]
func geopos(c *Call) resp.Value { return c.geoEach(resp.NullArray, geoCoordinates) }

// geoEach replies f of each member's place, or none.
func (c *Call) geoEach(none resp.Value, f func(p geoPoint) resp.Value) resp.Value {
	o, bad := c.readAs(c.Args[1], store.ZSet)
	if bad != nil {
		return *bad
	}
	out := make([]resp.Value, len(c.Args)-2)
	for i, member := range c.Args[2:] {
		out[i] = none
		if p, ok := geoPointOfMember(o, member); ok {
			out[i] = f(p)
		}
	}
	return resp.Array(out...)
}

// geoCoordinates is a point as the server prints it.
func geoCoordinates(p geoPoint) resp.Value {
	return resp.Array(resp.DoubleText(formatLongDouble(big.NewFloat(p.lon))), resp.DoubleText(formatLongDouble(big.NewFloat(p.lat))))
}
