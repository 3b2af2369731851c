/** Reads the first and the last line of an organization's file, and what seals those between. */
import { Effect, Option, Stream } from "effect"
import type { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { sealOfFile } from "./ArchiveSeal.ts"
import type { Seal } from "./ArchiveSeal.ts"
import { MoveRefused } from "./Errors.ts"
import { isRow, parseLine } from "./MoveRules.ts"
import type { End, Header } from "./MoveRules.ts"

export const readFrame = Effect.fnUntraced(function* <E>(lines: Stream.Stream<string, E>, secrets: Secrets["Service"]) {
  const frame: { header?: Header; end?: End; seal?: Seal | undefined } = {}
  yield* Stream.runForEach(lines, (text) =>
    Effect.sync(() => {
      // Most of the file is rows, and the frame needs nothing from them, so they are not parsed.
      const line = text.startsWith("[") ? undefined : Option.getOrUndefined(parseLine(text))
      if (line !== undefined && !isRow(line)) {
        if ("format" in line) {
          frame.header = line
          frame.seal = sealOfFile(secrets, line)
        } else if ("digests" in line) {
          frame.end = line
          return
        }
      }
      frame.seal?.add(text)
    }),
  )
  const { end, header, seal } = frame
  if (header === undefined || end === undefined) {
    return yield* new MoveRefused({ message: "The file is no complete file of an organization." })
  }
  return { end, header, seal }
})
