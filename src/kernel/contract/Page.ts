/** Pages of lists: `{ items, hasMore, nextCursor }` with opaque cursors (contract, section 2). */
import { Context, Schema, SchemaTransformation } from "effect"
import type { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { InvalidCursor } from "./Problem.ts"
import { asJson } from "./JsonResponse.ts"

/** How many items a page has unless asked otherwise. */
export const DEFAULT_LIMIT = 50

/** How many items a page has at most. */
export const LARGEST_LIMIT = 200

const LIMIT_DESCRIPTION = `Items per page, 1 to ${LARGEST_LIMIT}; ${DEFAULT_LIMIT} if absent`

// Digits alone: what JavaScript takes for a number besides (`1e2`, `0x10`, ` 5`) is none in a URL.
const Limit = Schema.String.check(Schema.isPattern(/^\d{1,10}$/, { expected: `a whole number, 1 to ${LARGEST_LIMIT}` }))
  .annotate({ description: LIMIT_DESCRIPTION })
  .pipe(
    Schema.decodeTo(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: LARGEST_LIMIT })),
      SchemaTransformation.numberFromString,
    ),
  )

/** The query of every list; filters are added next to it. */
export const pageQuery = {
  cursor: Schema.optionalKey(Schema.String.annotate({ description: "`nextCursor` of the previous page" })),
  limit: Schema.optionalKey(Limit),
}

/** The caller's wish for a page. */
export interface PageRequest {
  readonly cursor?: string
  readonly limit?: number
}

/** A page of items. `nextCursor` is `""` on the last page. */
export const Page = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({
    items: Schema.Array(item),
    hasMore: Schema.Boolean,
    nextCursor: Schema.String.annotate({ description: "Cursor of the next page, empty on the last one" }),
  })

export interface Page<Item> {
  readonly items: ReadonlyArray<Item>
  readonly hasMore: boolean
  readonly nextCursor: string
}

/** The answer with this page, written as it is: see {@link asJson}. */
export const writtenPage = <Item extends object>(page: Page<Item>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({ ...page, items: page.items.map(asJson) })

/** The sort key of the last item of a page: the next page begins behind it. */
export type Position = ReadonlyArray<string | number>

/** Newest first means descending ids: the id below which a page begins, above all ids for the first page. */
export const olderThan = (after: Position | null): string =>
  after === null ? "ffffffff-ffff-ffff-ffff-ffffffffffff" : String(after[0])

/** By display order means ascending orders, then ids: the place behind which a page begins, before all for the first page. */
export const behindInDisplayOrder = (after: Position | null): readonly [displayOrder: number, id: string] =>
  after === null ? [-2_147_483_648, "00000000-0000-0000-0000-000000000000"] : [Number(after[0]), String(after[1])]

/** The position of an item in a listing that is newest first. */
export const byId = (item: { readonly id: string }): Position => [item.id]

/** The listing a cursor belongs to: its name, its organization (none for the operator) and its filters. */
export interface Listing {
  readonly name: string
  readonly organizationId: string | null
  readonly filters?: Readonly<Record<string, string | undefined>>
}

/** Seals positions into cursors that no caller can alter or take to another listing. */
export class Cursors extends Context.Service<
  Cursors,
  {
    readonly seal: (listing: Listing, position: Position) => string
    readonly open: (listing: Listing, cursor: string) => Effect.Effect<Position, InvalidCursor>
    /**
     * Reads one page: opens the cursor, asks `read` for one row more than the page holds (which tells whether more
     * follow), and seals the position of the last item.
     */
    readonly page: <Row, R>(
      listing: Listing,
      request: PageRequest,
      read: (after: Position | null, count: number) => Effect.Effect<ReadonlyArray<Row>, never, R>,
      positionOf: (row: Row) => Position,
    ) => Effect.Effect<Page<Row>, InvalidCursor, R>
  }
>()("keyshelf/kernel/Cursors") {}
