/** Media types (RFC 6838). */

/** Whether a content type, with or without parameters, is JSON. */
export const isJsonType = (contentType: string): boolean =>
  /^[^/]+\/(json|[^/]+\+json)$/.test(contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "")

/** The media type of Server-Sent Events. */
export const EVENT_STREAM = "text/event-stream"

/** The headers of responses that are streams of events. */
export const STREAM_HEADERS = {
  "cache-control": "no-cache, no-transform",
  // Otherwise nginx would buffer events.
  "x-accel-buffering": "no",
  // A node that shuts down must not wait for an idle connection.
  connection: "close",
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

const rangesOf = (accept: string | undefined): ReadonlyArray<MediaRange> =>
  accept === undefined
    ? []
    : accept.split(",").map((range) => {
        const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
        const quality = parameters.find((parameter) => parameter.startsWith("q="))
        return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 }
      })

const qualityOf = (ranges: ReadonlyArray<MediaRange>, type: string): number | undefined =>
  ranges
    .filter((range) => range.type === type)
    .map(({ quality }) => quality)
    .reduce<number | undefined>((best, quality) => Math.max(best ?? 0, quality), undefined)

/** Whether an `Accept` header requests a live stream where JSON is the default: it names the media type, and does not prefer JSON. */
export const wantsStream = (accept: string | undefined): boolean => {
  const ranges = rangesOf(accept)
  const stream = qualityOf(ranges, EVENT_STREAM) ?? 0
  return stream > 0 && stream >= (qualityOf(ranges, "application/json") ?? 0)
}

/** Whether an `Accept` header allows a live stream. The most specific range decides (RFC 9110, section 12.5.1). */
export const acceptsStream = (accept: string | undefined): boolean => {
  const ranges = rangesOf(accept)
  if (ranges.length === 0) return true
  return (qualityOf(ranges, EVENT_STREAM) ?? qualityOf(ranges, "text/*") ?? qualityOf(ranges, "*/*") ?? 0) > 0
}
