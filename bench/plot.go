package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The palette of Okabe and Ito (2008), without its yellow. Color-blind readers can distinguish its colors; the markers
// also differ.
var (
	palette = []color.Color{
		color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
		color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
		color.RGBA{0x00, 0x9e, 0x73, 0xff}, // green
		color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // purple
	}
	markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}}
	ink     = color.RGBA{0x22, 0x22, 0x22, 0xff}
	faint   = color.RGBA{0xdd, 0xdd, 0xdd, 0xff}
)

const (
	panelWidth  = 5.4 * vg.Inch
	plotHeight  = 4.4 * vg.Inch
	labelMargin = 1.25 * vg.Inch // space for names, to the right of each panel
)

// A curve is the ratios to one peer over the sizes, with its index in the palette.
type curve struct {
	name       string
	index      int
	seal, open plotter.XYs
}

// plot draws, for each language, the throughput of the level that programs get relative to each peer.
func (r *results) plot(path string) error {
	var panels []string
	for _, language := range languages {
		if t := r.tables[language]; t != nil && len(t.levels()) > 0 {
			panels = append(panels, language)
		}
	}
	plotWidth := panelWidth * vg.Length(max(len(panels), 2))
	canvas := vgsvg.New(plotWidth, plotHeight)
	whole := draw.New(canvas)
	whole.SetColor(color.White) // also on pages with a dark background
	whole.Fill(whole.Rectangle.Path())

	title := textStyle(15, ink)
	whole.FillText(title, vg.Point{X: 16, Y: plotHeight - 12}, "sealane's speed beside its peers'")
	title = textStyle(10.5, ink)
	whole.FillText(title, vg.Point{X: 16, Y: plotHeight - 32},
		"How many times as fast as each peer: "+alg.Name+", one core, "+r.Machine.CPU+". Solid: seal. Dashed: open.")

	width := plotWidth / vg.Length(max(len(panels), 1))
	for i, language := range panels {
		area := draw.Crop(whole, vg.Length(i)*width+8, -(vg.Length(len(panels)-1-i) * width), 8, -54)
		if err := r.tables[language].drawPanel(area, language); err != nil {
			return err
		}
	}
	var svg strings.Builder
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	// Readers may lack the font whose widths were used; these have the same or similar widths.
	return os.WriteFile(path, []byte(strings.ReplaceAll(svg.String(), "Liberation Sans", "Liberation Sans,Arial,Helvetica,sans-serif")), 0o644)
}

func (t *table) curves(level string) []curve {
	var all []curve
	for i, peer := range t.peers() {
		c := curve{name: peer, index: i % len(palette)}
		for x, n := range sizes {
			c.seal = append(c.seal, plotter.XY{X: float64(x), Y: t.ratio(cell{"seal", n, 0, 1, 0}, level, peer)})
			c.open = append(c.open, plotter.XY{X: float64(x), Y: t.ratio(cell{"open", n, 0, 1, 0}, level, peer)})
		}
		all = append(all, c)
	}
	return all
}

func textStyle(size vg.Length, c color.Color) text.Style {
	s := text.Style{Color: c, Font: plot.DefaultFont, XAlign: draw.XLeft, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	s.Font.Typeface, s.Font.Variant, s.Font.Size = "Liberation", "Sans", size
	return s
}

func (t *table) drawPanel(area draw.Canvas, language string) error {
	level := t.level()
	curves := t.curves(level)
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text = fmt.Sprintf("%s, level %s", language, level)
	p.Title.TextStyle = textStyle(12, ink)
	p.Title.TextStyle.XAlign = draw.XCenter
	p.Title.Padding = 6
	p.X.Label.Text = "bytes per packet"
	p.Y.Label.Text = "times as fast as the peer"
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		x, y := axis.Label.TextStyle, axis.Tick.Label
		axis.Label.TextStyle, axis.Tick.Label = textStyle(10.5, ink), textStyle(9.5, ink)
		axis.Label.TextStyle.XAlign, axis.Label.TextStyle.YAlign, axis.Label.TextStyle.Rotation = x.XAlign, x.YAlign, x.Rotation
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = y.XAlign, y.YAlign
		axis.LineStyle.Width, axis.Tick.LineStyle.Width = 0.6, 0.6
	}
	var ticks []plot.Tick
	for x, n := range sizes {
		ticks = append(ticks, plot.Tick{Value: float64(x), Label: fmt.Sprint(n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Min, p.X.Max = -0.2, float64(len(sizes))-0.8

	top := 2.0
	for _, c := range curves {
		for i := range c.seal {
			top = max(top, c.seal[i].Y, c.open[i].Y)
		}
	}
	top = math.Ceil(top*1.03*2) / 2
	p.Y.Min, p.Y.Max = 0, top
	p.Y.Tick.Marker = plot.TickerFunc(func(_, high float64) []plot.Tick {
		var marks []plot.Tick
		for v := 0.0; v <= high; v++ {
			marks = append(marks, plot.Tick{Value: v, Label: fmt.Sprintf("%g×", v)})
		}
		return marks
	})

	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal = draw.LineStyle{Color: faint, Width: 0.6}
	same := plotter.NewFunction(func(float64) float64 { return 1 })
	same.LineStyle = draw.LineStyle{Color: ink, Width: 1.1}
	p.Add(grid, same)
	for _, c := range curves {
		if err := addCurve(p, c); err != nil {
			return err
		}
	}
	area = draw.Crop(area, 0, -labelMargin, 0, 0)
	p.Draw(area)
	writeAtOne(p, area)
	nameCurves(p, area, curves)
	return nil
}

func addCurve(p *plot.Plot, c curve) error {
	open, err := plotter.NewLine(c.open)
	if err != nil {
		return err
	}
	open.LineStyle = draw.LineStyle{Color: palette[c.index], Width: 1.2, Dashes: []vg.Length{4, 3}}
	seal, points, err := plotter.NewLinePoints(c.seal)
	if err != nil {
		return err
	}
	seal.LineStyle = draw.LineStyle{Color: palette[c.index], Width: 2}
	points.GlyphStyle = draw.GlyphStyle{Color: palette[c.index], Radius: 3, Shape: markers[c.index]}
	p.Add(open, seal, points)
	return nil
}

// writeAtOne labels the line at 1.
func writeAtOne(p *plot.Plot, area draw.Canvas) {
	data := p.DataCanvas(area)
	toX, toY := p.Transforms(&data)
	style := textStyle(9, color.RGBA{0x66, 0x66, 0x66, 0xff})
	style.XAlign = draw.XRight
	area.FillText(style, vg.Point{X: toX(float64(len(sizes) - 1)), Y: toY(1) - 3}, "as fast as the peer")
}

// nameCurves writes each curve's name next to its right end, and moves it up if it would cover another.
func nameCurves(p *plot.Plot, area draw.Canvas, curves []curve) {
	const lineHeight = vg.Length(13)
	data := p.DataCanvas(area)
	toX, toY := p.Transforms(&data)
	end := len(sizes) - 1
	curves = slices.Clone(curves)
	slices.SortFunc(curves, func(a, b curve) int {
		if a.seal[end].Y < b.seal[end].Y {
			return -1
		}
		return 1
	})
	style := textStyle(10.5, ink)
	style.YAlign = draw.YCenter
	x, lowest := toX(float64(end))+9, vg.Length(math.Inf(-1))
	name := func(y vg.Length, s string, c color.Color) {
		y = max(y, lowest)
		lowest = y + lineHeight
		style.Color = c
		area.FillText(style, vg.Point{X: x, Y: y}, s)
	}
	for _, c := range curves {
		name(toY(c.seal[end].Y), fmt.Sprintf("%s %.1f×", c.name, c.seal[end].Y), palette[c.index])
	}
}
