/** Reads pages of records until the last one, the maximum count or the time limit. */
import { Effect } from "effect"
import { MAX_COUNTED } from "../../kernel/contract/dryruns/Impact.ts"

const PAGE = 1_000

/** The time limit: a dry run holds the locks of its change while it reads other records. */
const MAX_MS = 2_000

/** The pages that were read, and whether they are complete. */
interface ReadPages<A> {
  readonly found: ReadonlyArray<A>
  readonly isComplete: boolean
}

/**
 * Reads pages of 1,000 records up to 10,000 records or for a time in milliseconds. `read` gets the last record of the page before, and
 * returns the next records; `use` returns the findings of a page.
 */
export const readPages = Effect.fnUntraced(function* <Row, A>(
  read: (last: Row | undefined, count: number) => Effect.Effect<ReadonlyArray<Row>>,
  use: (page: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>>,
  maxMs: number = MAX_MS,
) {
  const endsAt = performance.now() + maxMs
  const found: Array<A> = []
  let last: Row | undefined
  for (let counted = 0; ;) {
    const page: ReadonlyArray<Row> = yield* read(last, PAGE)
    if (page.length > 0) found.push(...(yield* use(page)))
    counted += page.length
    last = page.at(-1)
    const isComplete = page.length < PAGE
    if (isComplete || counted >= MAX_COUNTED || performance.now() > endsAt) {
      const pages: ReadPages<A> = { found, isComplete }
      return pages
    }
  }
})
