package engine

import "math"

// geoShape is the circle or the rectangle of a search. Lengths are in its unit.
type geoShape struct {
	center        geoPoint
	unit          float64 // meters
	radius        float64
	box           bool
	width, height float64
}

// contains tells whether p lies in the shape, and how far from its center, in meters.
func (s *geoShape) contains(p geoPoint) (distance float64, ok bool) {
	if !s.box {
		distance = s.center.distance(p)
		return distance, !(distance > s.radius*s.unit)
	}
	if p.latDistance(s.center) > s.height*s.unit/2 || p.distance(geoPoint{s.center.lon, p.lat}) > s.width*s.unit/2 {
		return 0, false
	}
	return s.center.distance(p), true
}

// bounds are the edges of the shape. They are a rectangle, where a shape far from the
// equator is not.
func (s *geoShape) bounds() geoBounds {
	height, width := s.unit*s.radius, s.unit*s.radius
	if s.box {
		height, width = s.unit*(s.height/2), s.unit*(s.width/2)
	}
	lat := height / earthRadius / radianDegree
	edge := s.center.lat + lat // the northern one
	if s.center.lat < 0 {
		edge = s.center.lat - lat
	}
	lon := width / earthRadius / math.Cos(radians(edge)) / radianDegree
	return geoBounds{s.center.lon - lon, s.center.lon + lon, s.center.lat - lat, s.center.lat + lat}
}

// mercatorMax is half the equator on a Mercator map, in meters.
const mercatorMax = 20037726.37

// step is how fine areas may be for nine of them to cover the shape, more or less.
func (s *geoShape) step() int {
	reach := s.radius
	if s.box {
		w, h := s.width/2, s.height/2
		reach = math.Sqrt(float64(w*w) + float64(h*h))
	}
	if reach *= s.unit; reach == 0 {
		return geoMaxStep
	}
	step := -1
	for ; reach < mercatorMax; reach *= 2 {
		step++
	}
	for _, polar := range []float64{66, 80} { // areas are narrow there
		if math.Abs(s.center.lat) > polar {
			step--
		}
	}
	return min(max(step, 1), geoMaxStep)
}

// geoNeighbours are the ways from an area to itself and the areas around it, in the
// order in which the server looks into them.
var geoNeighbours = [9]struct{ east, north int }{
	{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}}

// areas are the areas to search, no area twice.
func (s *geoShape) areas() (out []geoArea) {
	shape := s.bounds()
	a := s.center.area(s.step())
	if a.step > 1 && !a.surroundedCovers(shape) {
		a = s.center.area(a.step - 1)
	}
	own := a.bounds()
	for i, n := range geoNeighbours {
		useless := n.north < 0 && own.minLat < shape.minLat || n.north > 0 && own.maxLat > shape.maxLat ||
			n.east < 0 && own.minLon < shape.minLon || n.east > 0 && own.maxLon > shape.maxLon
		next := a.moved(n.east, n.north)
		if a.step > 1 && useless || i > 1 && next == out[len(out)-1] {
			continue
		}
		out = append(out, next)
	}
	return out
}

// surroundedCovers reports whether a and the areas around it cover a shape: near an
// edge of its area it can reach further.
func (a geoArea) surroundedCovers(shape geoBounds) bool {
	north, south, east, west := a.moved(0, 1), a.moved(0, -1), a.moved(1, 0), a.moved(-1, 0)
	return !(north.bounds().maxLat < shape.maxLat || south.bounds().minLat > shape.minLat ||
		east.bounds().maxLon < shape.maxLon || west.bounds().minLon > shape.minLon)
}
