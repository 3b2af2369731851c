/** A chart of amounts over time. It is hidden from screen readers: the table beside it says the same. */
import { useEffect, useRef } from "react"
import uPlot from "uplot"
import { LOCALE } from "../kernel/Amount.ts"
import "uplot/dist/uPlot.min.css"

interface ChartPoint {
  /** Seconds since 1970. */
  readonly at: number
  readonly value: number
}

const HEIGHT = 220
const CHARACTER_WIDTH = 7
const AXIS_PADDING = 24

const compact = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumFractionDigits: 1 })

const DAY_SECONDS = 86_400
const monthFormat = new Intl.DateTimeFormat(LOCALE, { month: "short", year: "numeric" })
const dayFormat = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" })
const timeFormat = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short" })

/** The notation of ticks that are this far apart, in seconds. */
const timeFormatOf = (step: number): Intl.DateTimeFormat =>
  step >= 28 * DAY_SECONDS ? monthFormat : step >= DAY_SECONDS ? dayFormat : timeFormat

const colorOf = (name: string) => {
  // `light-dark()` is resolved only where a colour is used.
  const probe = document.createElement("span")
  probe.className = `chart-color-${name}`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const optionsFor = (width: number, limit: number | undefined, highest: number, label: string): uPlot.Options => {
  const [accent, muted, danger] = [colorOf("accent"), colorOf("muted"), colorOf("danger")]
  const grid = { stroke: colorOf("line"), width: 1 }
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] })
  const longest = compact.format(highest).length
  return {
    width,
    height: HEIGHT,
    cursor: { y: false },
    legend: { show: false },
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, Math.max(max, limit ?? 0) * 1.05 || 1] } },
    axes: [
      {
        stroke: muted,
        grid: { show: false },
        ticks: grid,
        values: (_, ticks, __, ___, step) => ticks.map((tick) => timeFormatOf(step).format(tick * 1000)),
      },
      {
        stroke: muted,
        grid,
        ticks: { show: false },
        size: longest * CHARACTER_WIDTH + AXIS_PADDING,
        values: (_, ticks) => ticks.map((tick) => compact.format(tick)),
      },
    ],
    series: [
      {},
      {
        label,
        fill: accent,
        stroke: accent,
        width: 0,
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      },
      ...(limit === undefined
        ? []
        : [{ label: "limit", stroke: danger, width: 1.5, dash: [6, 4], points: { show: false } }]),
    ],
  }
}

export const Chart = ({
  label,
  limit,
  points,
}: {
  readonly label: string
  readonly points: ReadonlyArray<ChartPoint>
  readonly limit?: number | undefined
}) => {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const highest = Math.max(limit ?? 0, ...points.map(({ value }) => value))
    const data: uPlot.AlignedData = [
      points.map(({ at }) => at),
      points.map(({ value }) => value),
      ...(limit === undefined ? [] : [points.map(() => limit)]),
    ]
    let plot: uPlot | undefined
    const draw = () => {
      plot?.destroy()
      const started = performance.now()
      plot = new uPlot(optionsFor(element.clientWidth, limit, highest, label), data, element)
      performance.measure("chart", { start: started, end: performance.now() })
    }
    draw()
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    // Colours are drawn into the canvas, so a theme that turns needs a new drawing.
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    scheme.addEventListener("change", draw)
    const themed = new MutationObserver(draw)
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] })
    return () => {
      resized.disconnect()
      themed.disconnect()
      scheme.removeEventListener("change", draw)
      plot?.destroy()
    }
  }, [label, limit, points])
  return <div ref={place} className="chart" aria-hidden="true" />
}
