/** Splits long calculations, so that a request does not occupy the process at a stretch. */
import { Effect } from "effect"

const MAX_STRETCH_MILLIS = 5

/** Maps items. After every 5 ms at a stretch, other requests have their turn. */
export const mapInPieces = Effect.fnUntraced(function* <A, B>(items: ReadonlyArray<A>, map: (item: A) => B) {
  const mapped: Array<B> = []
  let startedAt = performance.now()
  for (const item of items) {
    mapped.push(map(item))
    if (performance.now() - startedAt < MAX_STRETCH_MILLIS) continue
    yield* Effect.yieldNow
    startedAt = performance.now()
  }
  return mapped
})
