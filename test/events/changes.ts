/** Clients of streams of changes. */
import { Effect } from "effect"
import { follow } from "./support.ts"

/** An open stream of changes. */
export const followChanges = Effect.fnUntraced(function* (
  origin: string,
  token: string,
  query = "",
  path = `/changes${query}`,
) {
  const reader = yield* follow(origin, token, path)
  const datas = () => [...reader.text().matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data))
  /** Waits for `open`. From then on nothing is missed. */
  yield* reader.next
  return {
    ...reader,
    /** What frames said since the beginning, but for the first one. */
    frames: (): ReadonlyArray<Record<string, string>> =>
      datas()
        .slice(1)
        .map(({ type: _, ...named }) => named),
    /** Waits for the next frame, which must come within a second, and returns what it names. */
    nextNamed: reader.next.pipe(
      Effect.timeout("1 second"),
      Effect.map(({ data }) => {
        const { type, ...named } = data as unknown as Record<string, string>
        return type === "refetchEvaluation" ? named : { unexpected: String(type) }
      }),
    ),
  }
})
