package main

import (
	"image/color"
	"math"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The palette of Okabe and Ito (2008), which stays distinct for color-blind readers; the markers differ too.
var (
	blue      = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	vermilion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	green     = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	faint     = color.RGBA{0xdd, 0xdd, 0xdd, 0xff}
)

type curve struct {
	name  string
	color color.Color
	shape draw.GlyphDrawer
	line  bool
	xy    plotter.XYs
}

// drawing writes curves over logarithmic axes.
func drawing(path, title, x, y string, xTicks, yTicks []float64, curves []curve) error {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 8
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Typeface, style.Font.Variant = "Liberation", "Sans"
	}
	p.Legend.Padding = 3
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	marks := func(values []float64) (t plot.ConstantTicks) {
		for _, v := range values {
			t = append(t, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
		}
		return t
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = marks(xTicks), marks(yTicks)
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal = draw.LineStyle{Color: faint, Width: 0.6}
	p.Add(grid)
	p.Legend.Top = true
	for _, c := range curves {
		line, points, err := plotter.NewLinePoints(c.xy)
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: c.color, Width: 1.5}
		points.GlyphStyle = draw.GlyphStyle{Color: c.color, Radius: 3.5, Shape: c.shape}
		if c.line {
			p.Add(line, points)
			p.Legend.Add(c.name, line, points)
		} else {
			p.Add(points)
			p.Legend.Add(c.name, points)
		}
	}
	p.X.Min, p.X.Max = xTicks[0]*0.9, xTicks[len(xTicks)-1]*1.1
	p.Y.Min, p.Y.Max = yTicks[0], yTicks[len(yTicks)-1]
	canvas := vgsvg.New(6.4*vg.Inch, 4*vg.Inch)
	whole := draw.New(canvas)
	whole.SetColor(color.White) // also where the page around it is dark
	whole.Fill(whole.Rectangle.Path())
	p.Draw(draw.Crop(whole, 6, -14, 6, -8))
	var svg strings.Builder
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.ReplaceAll(svg.String(), "Liberation Sans", "Liberation Sans,Arial,Helvetica,sans-serif")), 0o644)
}

// ticks are 1, 2 and 5 times powers of ten around values.
func ticks(low, high float64) (t []float64) {
	for e := math.Floor(math.Log10(low)); ; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v*2.5 <= low {
				continue
			}
			t = append(t, v)
			if v >= high {
				return t
			}
		}
	}
}

func (r *report) plotPackets(path string) error {
	best := curve{name: "model, best placement", color: green, shape: draw.PyramidGlyph{}, line: true}
	published := curve{name: "model, published placement", color: blue, shape: draw.CircleGlyph{}, line: true}
	theirs := curve{name: "published measurement", color: vermilion, shape: draw.BoxGlyph{}}
	var x []float64
	for _, s := range r.sizes {
		n := float64(s.bytes)
		x = append(x, n)
		best.xy = append(best.xy, plotter.XY{X: n, Y: s.best / 1e6})
		published.xy = append(published.xy, plotter.XY{X: n, Y: s.published / 1e6})
		if p := publishedPackets[s.bytes]; p > 0 {
			theirs.xy = append(theirs.xy, plotter.XY{X: n, Y: p / 1e6})
		}
	}
	return drawing(path, "ChaCha20-Poly1305 on a network processor, 60 engines", "bytes per frame", "million packets per second",
		x, ticks(0.5, 8), []curve{best, published, theirs})
}

func (r *report) plotFlows(path string) error {
	c := r.m.core()
	colors := []color.Color{blue, green}
	var curves []curve
	low, high := math.Inf(1), 0.0
	var x []float64
	for i, message := range r.m.Messages {
		model := curve{name: "model, " + strconv.Itoa(message.Bytes) + " bytes", color: colors[i], shape: draw.RingGlyph{}, line: true}
		measured := curve{name: "measured, " + strconv.Itoa(message.Bytes) + " bytes", color: vermilion, shape: []draw.GlyphDrawer{draw.BoxGlyph{}, draw.PyramidGlyph{}}[i]}
		for _, flows := range flowCounts {
			rate := c.rate(message.Bytes, flows) / 1e6
			model.xy = append(model.xy, plotter.XY{X: float64(flows), Y: rate})
			measured.xy = append(measured.xy, plotter.XY{X: float64(flows), Y: 1e3 / message.Flows[strconv.Itoa(flows)]})
			low, high = min(low, rate), max(high, rate)
			if i == 0 {
				x = append(x, float64(flows))
			}
		}
		curves = append(curves, model, measured)
	}
	return drawing(path, "One core, the flow of each packet at random", "flows", "million packets per second", x, ticks(low*0.8, high*1.7), curves)
}
