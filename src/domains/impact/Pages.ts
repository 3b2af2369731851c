/** Reads pages of records until there are no more, or as many as are counted, or the time for it is over. */
import { Effect } from "effect"
import { MAX_COUNTED } from "../../kernel/contract/dryruns/Impact.ts"

const PAGE = 1_000

/** A dry run holds the locks of its change, so it looks at other records for no longer than this. */
const MAX_MS = 2_000

/** All pages that were read, and whether they are all there are. */
interface ReadPages<A> {
  readonly found: ReadonlyArray<A>
  readonly isComplete: boolean
}

/**
 * Reads pages of 1,000 records up to 10,000 records or for a time in milliseconds. `read` gets the last record of the page before, and
 * returns the records; `use` turns a page into what is found.
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
