package engine

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var lolwutCommands = []Spec{
	{Name: "lolwut", Arity: -1, Flags: ReadOnly | Fast, run: lolwut,
		Group: "server", Since: "5.0.0",
		Summary: "Displays computer art and the server version",
		Args:    `version:i=VERSION?`},
}

// lolwut: LOLWUT [VERSION version] [argument ...]
func lolwut(c *Call) resp.Value {
	if len(c.Args) < 3 || !c.is(1, "version") {
		return resp.Verbatim(signature)
	}
	version, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	switch uint32(version) {
	case 5:
		return lolwut5(c)
	case 6:
		return lolwut6(c)
	}
	return resp.Verbatim(signature)
}

const signature = "Redis ver. " + ValkeyVersion + "\n"

// sizes parses the arguments behind LOLWUT's version into dst, which holds their
// default values, and puts each into 1..limits[i].
func (c *Call) sizes(dst []*int, limits ...int) (bad *resp.Value) {
	for i := range min(len(dst), len(c.Args)-3) {
		n, bad := c.intArg(3 + i)
		if bad != nil {
			return bad
		}
		*dst[i] = int(min(max(n, 1), int64(limits[i])))
	}
	return nil
}

// lolwut5: LOLWUT VERSION 5 [columns [squares-per-row [squares-per-column]]]
func lolwut5(c *Call) resp.Value {
	columns, across, down := 66, 8, 12
	if bad := c.sizes([]*int{&columns, &across, &down}, 1000, 200, 200); bad != nil {
		return *bad
	}
	art := drawSchotter(c.rng, columns, across, down)
	return resp.Verbatim(art + "\nGeorg Nees - schotter, plotter on paper, 1968. " + signature)
}

// lolwut6: LOLWUT VERSION 6 [columns [rows]]
func lolwut6(c *Call) resp.Value {
	columns, rows := 80, 20
	if bad := c.sizes([]*int{&columns, &rows}, 1000, 1000); bad != nil {
		return *bad
	}
	art := drawSkyline(c.rng, columns, rows)
	return resp.Verbatim(art + "\nDedicated to the 8 bit game developers of past and present.\n" +
		"Original 8 bit image from Plaguemon by hikikomori. " + signature)
}

// dotCanvas is a picture of braille characters, each 2 dots wide and 4 high.
type dotCanvas struct {
	columns, height int // in characters, in dots
	cells           []byte
}

// brailleDots are the bits of a braille character's dots, by row and column.
var brailleDots = [4][2]byte{{1, 8}, {2, 16}, {4, 32}, {64, 128}}

// dot sets one dot; those outside the canvas are dropped.
func (d *dotCanvas) dot(x, y int) {
	if x >= 0 && x < 2*d.columns && y >= 0 && y < d.height {
		d.cells[y/4*d.columns+x/2] |= brailleDots[y%4][x%2]
	}
}

// line draws a line by Bresenham's algorithm.
func (d *dotCanvas) line(x, y, toX, toY int) {
	dx, stepX := distance(x, toX)
	dy, stepY := distance(y, toY)
	for slack := dx - dy; ; {
		d.dot(x, y)
		if x == toX && y == toY {
			return
		}
		twice := 2 * slack
		if twice > -dy {
			slack, x = slack-dy, x+stepX
		}
		if twice < dx {
			slack, y = slack+dx, y+stepY
		}
	}
}

func distance(from, to int) (n, step int) {
	if from < to {
		return to - from, 1
	}
	return from - to, -1
}

// square draws a square around a centre, turned by an angle in radians.
func (d *dotCanvas) square(x, y int, side, angle float32) {
	radius := math.Round(float64(float32(float64(side) / 1.4142135623)))
	var px, py [4]int
	turn := float32(math.Pi/4 + float64(angle))
	for i := range px {
		px[i] = int(math.Round(math.Sin(float64(turn))*radius + float64(x)))
		py[i] = int(math.Round(math.Cos(float64(turn))*radius + float64(y)))
		turn = float32(float64(turn) + math.Pi/2)
	}
	for i := range px {
		next := (i + 1) % 4
		d.line(px[i], py[i], px[next], py[next])
	}
}

func (d *dotCanvas) String() string {
	var b strings.Builder
	for y := 0; y < d.height; y += 4 {
		for _, cell := range d.cells[y/4*d.columns:][:d.columns] {
			b.WriteRune(0x2800 + rune(cell))
		}
		if y != d.height-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// drawSchotter draws rows of squares that fall into disorder towards the bottom.
func drawSchotter(rng *rand.Rand, columns, across, down int) string {
	padding := 0
	if columns > 2 {
		padding = 2
	}
	side := float32(2*columns-2*padding) / float32(across)
	height := int(side*float32(down) + float32(2*padding))
	d := &dotCanvas{columns: columns, height: height, cells: make([]byte, columns*((height+3)/4))}
	for row := range down {
		for col := range across {
			x := int(float32(col)*side + side/2 + float32(padding))
			y := int(float32(row)*side + side/2 + float32(padding))
			angle := float32(0)
			if row > 1 {
				disorder := func() float32 { return (2*rng.Float32() - 1) / float32(down) * float32(row) }
				angle = disorder()
				x = int(float32(x) + disorder()*side/3)
				y = int(float32(y) + disorder()*side/3)
			}
			d.square(x, y, side, angle)
		}
	}
	return d.String()
}

// skyline is a picture of coloured cells: 0 is black, 3 white.
type skyline struct {
	columns, rows int
	cells         []byte
}

// skylineColors are the terminal's escape sequences of the colours.
var skylineColors = [4]string{"0;30;40m", "0;90;100m", "0;37;47m", "0;97;107m"}

// drawSkyline draws two ranges of grey towers behind black ones with windows.
func drawSkyline(rng *rand.Rand, columns, rows int) string {
	s := &skyline{columns, rows, []byte(strings.Repeat("\x03", columns*rows))}
	for x := -10; x < columns; {
		x += rng.IntN(8)
		width := 10 + rng.IntN(9)
		s.tower(rng, x, width, rows/2+rng.IntN(rows)/2, 2)
		x += width / 2
	}
	for x := -10; x < columns; {
		x += rng.IntN(8)
		width := 10 + rng.IntN(9)
		s.tower(rng, x, width, rows/2+rng.IntN(rows)/3, 1)
		x += width + 1
	}
	for x := -10; x < columns; {
		x += rng.IntN(8)
		width := 5 + rng.IntN(14)
		if width%4 != 0 {
			width += width % 3
		}
		s.tower(rng, x, width, rows/3+rng.IntN(rows)/2, 0)
		x += width + 5
	}
	return s.String()
}

// tower draws one building with its left edge at x; black ones have windows.
func (s *skyline) tower(rng *rand.Rand, x, width, height int, color byte) {
	ground, roof := s.rows-1, s.rows-height
	for y := ground; y >= roof; y-- {
		light := color
		for i := range width {
			if y == roof && (i < 2 || i >= width-2) {
				continue // the roof is narrower
			}
			paint := color
			lit := color == 0 && i > 1 && i < width-2 && y > roof+1 && y < ground-1
			if lit && (i-1)/2%2 == 1 && (y-roof-1)%2 == 1 {
				if (i-1)%2 == 0 { // a window is two cells wide
					light = byte(1 + rng.IntN(2))
				}
				paint = light
			}
			s.paint(x+i, y, paint)
		}
	}
}

// paint sets one cell; those outside the picture are dropped.
func (s *skyline) paint(x, y int, color byte) {
	if x >= 0 && x < s.columns && y >= 0 && y < s.rows {
		s.cells[y*s.columns+x] = color
	}
}

func (s *skyline) String() string {
	var b strings.Builder
	for y := range s.rows {
		for x := range s.columns {
			b.WriteString("\033[" + skylineColors[s.cells[y*s.columns+x]] + " \033[0m")
		}
		if y != s.rows-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
