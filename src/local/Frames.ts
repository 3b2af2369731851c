/** Reads a stream of changes: server-sent events, with JSON as data. */
import { own } from "../offline/values/Unknown.ts"

/** What a text of a stream says. */
interface Frames {
  /** How long to wait after the end of the stream. */
  readonly retryMs: number | undefined
  /** Whether something changed, for this instance or for all. */
  readonly hasChange: boolean
}

/** A line that is longer is not of the service. */
const MAX_LINE_LENGTH = 65_536

const isChangeOf = (instance: string, data: string): boolean => {
  try {
    const frame: unknown = JSON.parse(data)
    const named = own(frame, "instance")
    return own(frame, "type") === "refetchEvaluation" && (named === undefined || named === instance)
  } catch {
    return false
  }
}

/** Makes a reader of the frames for an instance. An event ends with an empty line; texts may break anywhere. */
export const makeFrameReader = (instance: string): ((text: string) => Frames) => {
  let rest = ""
  let data: Array<string> = []
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = (lines.pop() ?? "").slice(0, MAX_LINE_LENGTH)
    let retryMs: number | undefined
    let hasChange = false
    for (const line of lines) {
      const [, name, value = ""] = /^(data|retry): ?(.*)$/.exec(line) ?? []
      if (line === "") {
        hasChange ||= data.length > 0 && isChangeOf(instance, data.join("\n"))
        data = []
      } else if (name === "data") data.push(value)
      else if (name === "retry" && /^\d{1,9}$/.test(value)) retryMs = Number(value)
    }
    return { retryMs, hasChange }
  }
}
