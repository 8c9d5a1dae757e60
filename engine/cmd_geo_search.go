package engine

import (
	"slices"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var geoSearchCommands = []Spec{
	{Name: "georadius", Arity: -6, Flags: Write | DenyOOM,
		Keys: keys(key1(RO|Access), keyword("STORE", 6, 0, 1, 0, OW|Update), keyword("STOREDIST", 6, 0, 1, 0, OW|Update)), run: georadius, findKeys: geoStoreKeys,
		Group: "geo", Since: "3.2.0", Complexity: "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area delimited by center and radius and M is the number of items inside the index.",
		Summary:  "Queries a geospatial index for members within a distance from a coordinate, optionally stores the result.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
		History: []string{"6.2.0 Added the `ANY` option for `COUNT`.", "7.0.0 Added support for uppercase unit names."},
		Args:    `key:k#0 longitude:d latitude:d radius:d unit<m:t=M km:t=KM ft:t=FT mi:t=MI> withcoord:t=WITHCOORD? withdist:t=WITHDIST? withhash:t=WITHHASH? count-block{count:i=COUNT any:t=ANY@6.2.0?}? order<asc:t=ASC desc:t=DESC>? store<storekey/key:k=STORE#1 storedistkey/key:k=STOREDIST#2>?`},
	{Name: "georadius_ro", Arity: -6, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: georadiusRO,
		Group: "geo", Since: "3.2.10", Complexity: "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area delimited by center and radius and M is the number of items inside the index.",
		Summary:  "Returns members from a geospatial index that are within a distance from a coordinate.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` argument",
		History: []string{"6.2.0 Added the `ANY` option for `COUNT`.", "7.0.0 Added support for uppercase unit names."},
		Args:    `key:k#0 longitude:d latitude:d radius:d unit<m:t=M km:t=KM ft:t=FT mi:t=MI> withcoord:t=WITHCOORD? withdist:t=WITHDIST? withhash:t=WITHHASH? count-block{count:i=COUNT any:t=ANY@6.2.0?}? order<asc:t=ASC desc:t=DESC>?`},
	{Name: "georadiusbymember", Arity: -5, Flags: Write | DenyOOM,
		Keys: keys(key1(RO|Access), keyword("STORE", 5, 0, 1, 0, OW|Update), keyword("STOREDIST", 5, 0, 1, 0, OW|Update)), run: georadiusbymember, findKeys: geoStoreKeys,
		Group: "geo", Since: "3.2.0", Complexity: "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area delimited by center and radius and M is the number of items inside the index.",
		Summary:  "Queries a geospatial index for members within a distance from a member, optionally stores the result.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
		History: []string{"6.2.0 Added the `ANY` option for `COUNT`.", "7.0.0 Added support for uppercase unit names."},
		Args:    `key:k#0 member radius:d unit<m:t=M km:t=KM ft:t=FT mi:t=MI> withcoord:t=WITHCOORD? withdist:t=WITHDIST? withhash:t=WITHHASH? count-block{count:i=COUNT any:t=ANY?}? order<asc:t=ASC desc:t=DESC>? store<storekey/key:k=STORE#1 storedistkey/key:k=STOREDIST#2>?`},
	{Name: "georadiusbymember_ro", Arity: -5, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: georadiusbymemberRO,
		Group: "geo", Since: "3.2.10", Complexity: "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area delimited by center and radius and M is the number of items inside the index.",
		Summary:  "Returns members from a geospatial index that are within a distance from a member.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
		History: []string{"6.2.0 Added the `ANY` option for `COUNT`.", "7.0.0 Added support for uppercase unit names."},
		Args:    `key:k#0 member radius:d unit<m:t=M km:t=KM ft:t=FT mi:t=MI> withcoord:t=WITHCOORD? withdist:t=WITHDIST? withhash:t=WITHHASH? count-block{count:i=COUNT any:t=ANY?}? order<asc:t=ASC desc:t=DESC>?`},
	{Name: "geosearch", Arity: -7, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: geosearch,
		Group: "geo", Since: "6.2.0", Complexity: "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the shape provided as the filter and M is the number of items inside the shape",
		Summary: "Queries a geospatial index for members inside an area of a box or a circle.",
		History: []string{"7.0.0 Added support for uppercase unit names."},
		Args:    `key:k#0 from<member=FROMMEMBER fromlonlat{longitude:d latitude:d}=FROMLONLAT> by<circle{radius:d=BYRADIUS unit<m:t=M km:t=KM ft:t=FT mi:t=MI>} box{width:d=BYBOX height:d unit<m:t=M km:t=KM ft:t=FT mi:t=MI>}> order<asc:t=ASC desc:t=DESC>? count-block{count:i=COUNT any:t=ANY?}? withcoord:t=WITHCOORD? withdist:t=WITHDIST? withhash:t=WITHHASH?`},
	{Name: "geosearchstore", Arity: -8, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyAt(2, RO|Access)), run: geosearchstore,
		Group: "geo", Since: "6.2.0", Complexity: "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the shape provided as the filter and M is the number of items inside the shape",
		Summary: "Queries a geospatial index for members inside an area of a box or a circle, optionally stores the result.",
		History: []string{"7.0.0 Added support for uppercase unit names."},
		Args:    `destination:k#0 source:k#1 from<member=FROMMEMBER fromlonlat{longitude:d latitude:d}=FROMLONLAT> by<circle{radius:d=BYRADIUS unit<m:t=M km:t=KM ft:t=FT mi:t=MI>} box{width:d=BYBOX height:d unit<m:t=M km:t=KM ft:t=FT mi:t=MI>}> order<asc:t=ASC desc:t=DESC>? count-block{count:i=COUNT any:t=ANY?}? storedist:t=STOREDIST?`},
}

var (
	errGeoMember   = resp.Err("ERR could not decode requested zset member")
	errGeoRadius   = resp.Err("ERR need numeric radius")
	errGeoWidth    = resp.Err("ERR need numeric width")
	errGeoHeight   = resp.Err("ERR need numeric height")
	errGeoNegative = resp.Err("ERR radius cannot be negative")
	errGeoBox      = resp.Err("ERR height or width cannot be negative")
	errGeoCount    = resp.Err("ERR COUNT must be > 0")
	errGeoAny      = resp.Err("ERR the ANY argument requires COUNT argument")
)

// geoQuery is a search as a command asks for it.
type geoQuery struct {
	search  bool          // GEOSEARCH or GEOSEARCHSTORE, else one of the GEORADIUS family
	mayKeep bool          // STORE and STOREDIST are options
	from    *store.Object // what is searched; nil for an absent key

	shape                         geoShape
	member, place, circle         bool // where and what is told
	withDist, withHash, withCoord bool
	order                         int // 1: near ones first, -1: far ones first, 0: as they come
	count                         int64
	any                           bool
	keep                          string // the key to store the result at
	kept                          bool
	keepDist                      bool // with distances as scores
}

// geoHit is a member in the shape.
type geoHit struct {
	member   string
	score    float64
	distance float64 // meters
	at       geoPoint
}

// georadius: GEORADIUS key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH]
// [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]
func georadius(c *Call) resp.Value { return c.georadius(geoQuery{place: true, mayKeep: true}) }

// georadiusRO: GEORADIUS_RO is GEORADIUS without STORE and STOREDIST
func georadiusRO(c *Call) resp.Value { return c.georadius(geoQuery{place: true}) }

// georadiusbymember: GEORADIUSBYMEMBER key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH]
// [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]
func georadiusbymember(c *Call) resp.Value { return c.georadius(geoQuery{member: true, mayKeep: true}) }

// georadiusbymemberRO: GEORADIUSBYMEMBER_RO is GEORADIUSBYMEMBER without STORE and STOREDIST
func georadiusbymemberRO(c *Call) resp.Value { return c.georadius(geoQuery{member: true}) }

// geosearch: GEOSEARCH key <FROMMEMBER member | FROMLONLAT longitude latitude>
// <BYRADIUS radius <M | KM | FT | MI> | BYBOX width height <M | KM | FT | MI>> [ASC | DESC] [COUNT count [ANY]]
// [WITHCOORD] [WITHDIST] [WITHHASH]
func geosearch(c *Call) resp.Value {
	return c.geosearch(geoQuery{search: true}, c.Args[1], 2)
}

// geosearchstore: GEOSEARCHSTORE destination source and the arguments of GEOSEARCH, with [STOREDIST]
// in place of WITHCOORD, WITHDIST and WITHHASH
func geosearchstore(c *Call) resp.Value {
	return c.geosearch(geoQuery{search: true, mayKeep: true, keep: c.Args[1], kept: true}, c.Args[2], 3)
}

// geosearch runs a search whose options begin at argument i.
func (c *Call) geosearch(q geoQuery, key string, i int) (v resp.Value) {
	o, bad := c.readAs(key, store.ZSet)
	if bad != nil {
		return *bad
	}
	q.from = o
	return c.geoRun(&q, i)
}

// georadius runs a command of the GEORADIUS family.
func (c *Call) georadius(q geoQuery) resp.Value {
	o, bad := c.readAs(c.Args[1], store.ZSet)
	if bad != nil {
		return *bad
	}
	q.from = o
	i := 4 // of the radius
	if q.member {
		i = 3
	}
	switch {
	case q.place:
		q.shape.center, bad = geoPointArgs(c.Args[2:])
	case o != nil:
		bad = q.centerOn(c.Args[2])
	}
	if bad == nil && (q.place || o != nil) { // the radius around no member is not looked at
		bad = q.parseCircle(c.Args[i:])
	}
	if bad != nil {
		return *bad
	}
	return c.geoRun(&q, i+2)
}

func (q *geoQuery) centerOn(member string) *resp.Value {
	p, ok := geoPointOfMember(q.from, member)
	if !ok {
		return &errGeoMember
	}
	q.shape.center = p
	return nil
}

// parseCircle reads a radius and its unit.
func (q *geoQuery) parseCircle(args []string) (bad *resp.Value) {
	radius, ok := parseFloat(args[0])
	switch {
	case !ok:
		return &errGeoRadius
	case radius < 0:
		return &errGeoNegative
	}
	q.shape.radius, q.circle = radius, true
	q.shape.unit, bad = geoUnit(args[1])
	return bad
}

// parseBox reads a width, a height and their unit.
func (q *geoQuery) parseBox(args []string) (bad *resp.Value) {
	width, ok := parseFloat(args[0])
	if !ok {
		return &errGeoWidth
	}
	height, ok := parseFloat(args[1])
	switch {
	case !ok:
		return &errGeoHeight
	case width < 0 || height < 0:
		return &errGeoBox
	}
	q.shape.width, q.shape.height, q.shape.box = width, height, true
	q.shape.unit, bad = geoUnit(args[2])
	return bad
}

// parse reads the options from argument i on.
func (q *geoQuery) parse(c *Call, i int) (bad *resp.Value) {
	for i < len(c.Args) && bad == nil {
		var n int
		if n = q.flag(c, i); n == 0 && q.search {
			n, bad = q.parseArea(c, i)
		}
		if n == 0 && bad == nil {
			n, bad = q.parseRest(c, i)
		}
		i += n
	}
	return bad
}

// flag reads an option that is a single word. It returns how many arguments were read,
// as do the methods below.
func (q *geoQuery) flag(c *Call, i int) int {
	switch {
	case c.is(i, "withdist"):
		q.withDist = true
	case c.is(i, "withhash"):
		q.withHash = true
	case c.is(i, "withcoord"):
		q.withCoord = true
	case c.is(i, "any"):
		q.any = true
	case c.is(i, "asc"):
		q.order = 1
	case c.is(i, "desc"):
		q.order = -1
	case c.is(i, "storedist") && q.search && q.mayKeep:
		q.keepDist = true
	default:
		return 0
	}
	return 1
}

// parseArea reads where and what to search.
func (q *geoQuery) parseArea(c *Call, i int) (n int, bad *resp.Value) {
	args := c.Args[i+1:]
	switch {
	case c.is(i, "frommember") && len(args) >= 1 && !q.place:
		if q.from != nil { // with nothing to search the options are read all the same
			bad = q.centerOn(args[0])
		}
		q.member = true
		return 2, bad
	case c.is(i, "fromlonlat") && len(args) >= 2 && !q.member:
		q.shape.center, bad = geoPointArgs(args)
		q.place = true
		return 3, bad
	case c.is(i, "byradius") && len(args) >= 2 && !q.shape.box:
		return 3, q.parseCircle(args)
	case c.is(i, "bybox") && len(args) >= 3 && !q.circle:
		return 4, q.parseBox(args)
	}
	return 0, nil
}

// parseRest reads COUNT, STORE and STOREDIST.
func (q *geoQuery) parseRest(c *Call, i int) (n int, bad *resp.Value) {
	dist := c.is(i, "storedist")
	switch {
	case i+1 >= len(c.Args):
		return 0, &errSyntax
	case c.is(i, "count"):
		if q.count, bad = c.intArg(i + 1); bad == nil && q.count <= 0 {
			bad = &errGeoCount
		}
		return 2, bad
	case (dist || c.is(i, "store")) && q.mayKeep && !q.search:
		q.keep, q.kept, q.keepDist = c.Args[i+1], true, dist
		return 2, nil
	}
	return 0, &errSyntax
}

// conflict reports what is wrong with the options as a whole.
func (q *geoQuery) conflict(name string) *resp.Value {
	why := ""
	switch {
	case q.kept && (q.withDist || q.withHash || q.withCoord):
		why = "STORE option in GEORADIUS"
		if q.search {
			why = "GEOSEARCHSTORE"
		}
		why += " is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
	case q.search && !q.member && !q.place:
		why = "exactly one of FROMMEMBER or FROMLONLAT can be specified for " + cString(name)
	case q.search && !q.circle && !q.shape.box:
		why = "exactly one of BYRADIUS and BYBOX can be specified for " + cString(name)
	case q.any && q.count == 0:
		return &errGeoAny
	default:
		return nil
	}
	v := resp.Err("ERR " + why)
	return &v
}

// geoRun reads the options from argument i on, searches and replies.
func (c *Call) geoRun(q *geoQuery, i int) resp.Value {
	if bad := q.parse(c, i); bad != nil {
		return *bad
	}
	if bad := q.conflict(c.Args[0]); bad != nil {
		return *bad
	}
	var hits []geoHit
	if q.from != nil {
		hits = q.sorted(q.hits())
	}
	if !q.kept {
		return q.reply(hits)
	}
	return c.geoKeep(q, hits)
}

// hits are the members in the shape, as many as ANY wants, in the server's order: area
// by area, by score in each.
func (q *geoQuery) hits() (out []geoHit) {
	z := q.from.ZSet()
	full := func() bool { return q.any && int64(len(out)) >= q.count }
	for _, a := range q.shape.areas() {
		if full() {
			break
		}
		first, end := z.ScoreSpan(store.ScoreRange{Min: a.score(), Max: a.scoreEnd(), MaxEx: true})
		left := end - first
		if left == 0 {
			continue
		}
		z.Ascend(first, func(member string, score float64) bool {
			p := geoPointOf(score)
			if d, ok := q.shape.contains(p); ok {
				out = append(out, geoHit{member, score, d, p})
			}
			left--
			return left > 0 && !full()
		})
	}
	return out
}

// sorted puts hits in order and cuts them to COUNT.
func (q *geoQuery) sorted(hits []geoHit) []geoHit {
	order := q.order
	if q.count > 0 && !q.any && order == 0 {
		order = 1
	}
	n := len(hits)
	if q.count > 0 {
		n = int(min(q.count, int64(n)))
	}
	compare := func(a, b geoHit) int {
		switch {
		case a.distance > b.distance:
			return order
		case a.distance == b.distance:
			return 0
		}
		return -order
	}
	switch {
	case order == 0:
	case n == len(hits):
		slices.SortStableFunc(hits, compare)
	default:
		sortPart(hits, 0, n, compare)
	}
	return hits[:n]
}

// reply is the members alone, or each with what was asked for.
func (q *geoQuery) reply(hits []geoHit) resp.Value {
	out := make([]resp.Value, len(hits))
	for i, h := range hits {
		if !q.withDist && !q.withHash && !q.withCoord {
			out[i] = resp.Bulk(h.member)
			continue
		}
		one := []resp.Value{resp.Bulk(h.member)}
		if q.withDist {
			one = append(one, geoDistance(h.distance/q.shape.unit))
		}
		if q.withHash {
			one = append(one, resp.Int(cInt64(h.score)))
		}
		if q.withCoord {
			one = append(one, geoCoordinates(h.at))
		}
		out[i] = resp.Array(one...)
	}
	return resp.Array(out...)
}

// geoKeep stores hits as a sorted set.
func (c *Call) geoKeep(q *geoQuery, hits []geoHit) resp.Value {
	members := make([]zscored, len(hits))
	for i, h := range hits {
		members[i] = zscored{h.member, h.score}
		if q.keepDist {
			members[i].score = h.distance / q.shape.unit
		}
	}
	event := "georadiusstore"
	if q.search {
		event = "geosearchstore"
	}
	v := c.zstore(q.keep, c.newZSet(members), event)
	c.stats.dirty += int64(max(len(hits)-1, 0))
	return v
}

// geoStoreKeys finds the keys where the key specs do not: the last STORE or STOREDIST counts.
func geoStoreKeys(args []string) []KeyRef {
	refs := []KeyRef{{Index: 1}}
	for i := 5; i+1 < len(args); i++ {
		if equalWord(args[i], "store") || equalWord(args[i], "storedist") {
			i++
			refs = append(refs[:1], KeyRef{Index: i})
		}
	}
	return refs
}
