/** Pages of lists: `{ items, hasMore, nextCursor }` with opaque cursors. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { component, componentOf } from "./Component.ts"
import type { InvalidCursor } from "./Problem.ts"
import { Text } from "../values/Text.ts"
import { WholeNumberText } from "../values/WholeNumbers.ts"
import { toJson } from "./JsonResponse.ts"
import type { OrganizationId } from "../values/Identifiers.ts"

/** The default number of items per page. */
export const DEFAULT_LIMIT = 50

/** The maximum number of items per page. */
export const MAX_LIMIT = 200

const LIMIT_DESCRIPTION = `Items per page, 1 to ${MAX_LIMIT} (default ${DEFAULT_LIMIT})`

const Limit = WholeNumberText(1, MAX_LIMIT, LIMIT_DESCRIPTION)

/** The query parameters of every list. Lists with filters add them to these. */
export const pageQuery = {
  cursor: Schema.optionalKey(Schema.String.annotate({ description: "`nextCursor` of the previous page" })),
  limit: Schema.optionalKey(Limit),
}

/** The filter of lists of named records. */
export const nameFilter = {
  q: Schema.optionalKey(
    Text(0, 255).annotate({
      description:
        "Only records whose name or slug has words that begin with the words of this text, in any order; letter case, punctuation and composed characters make no difference",
    }),
  ),
}

/** The page that a client requests. */
export interface PageRequest {
  readonly cursor?: string
  readonly limit?: number
}

/** The name of the items in the documents. A test finds pages of schemas without one. */
const nameOf = (item: Schema.Top): string => componentOf(item.ast)?.name ?? ""

/** A page of items. `nextCursor` is `""` on the last page. */
export const Page = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({
    items: Schema.Array(item),
    hasMore: Schema.Boolean,
    nextCursor: Schema.String.annotate({ description: "Cursor of the next page, empty on the last page" }),
  }).annotate(component(`${nameOf(item)}Page`, { hasMore: false, nextCursor: "" }))

export interface Page<Item> {
  readonly items: ReadonlyArray<Item>
  readonly hasMore: boolean
  readonly nextCursor: string
}

/** A response with a page, serialized without its schema: see {@link toJson}. */
export const pageResponse = <Item extends object>(page: Page<Item>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({ ...page, items: page.items.map(toJson) })

/** A response with a page whose items are JSON already. A test must decode it by its schema. */
export const pageOfTexts = ({ hasMore, items, nextCursor }: Page<string>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(
    `{"items":[${items.join(",")}],"hasMore":${hasMore},"nextCursor":${JSON.stringify(nextCursor)}}`,
    {
      contentType: "application/json",
    },
  )

/** The sort key of the last item of a page. The next page begins after it. */
export type Position = ReadonlyArray<string | number>

/**
 * For lists sorted by descending id: the exclusive upper bound of a page's ids. The first page has the largest UUID.
 */
export const idBefore = (after: Position | null): string =>
  after === null ? "ffffffff-ffff-ffff-ffff-ffffffffffff" : String(after[0])

/** For lists sorted by ascending display order and id: the exclusive lower bound of a page. */
export const afterInDisplayOrder = (after: Position | null): readonly [displayOrder: number, id: string] =>
  after === null ? [-2_147_483_648, "00000000-0000-0000-0000-000000000000"] : [Number(after[0]), String(after[1])]

/** The position of an item in a list sorted newest first. */
export const byId = (item: { readonly id: string }): Position => [item.id]

/** The list that a cursor belongs to: its name, its organization (`null` for the operator) and its filters. */
export interface Listing {
  readonly name: string
  readonly organizationId: OrganizationId | null
  readonly filters?: Readonly<Record<string, string | Date | undefined>>
}

/** The filters of a request: its parameters except those of the page. An empty text filters nothing. */
export const filtersOf = <Request extends PageRequest>(request: Request): Omit<Request, keyof PageRequest> => {
  const { cursor: _, limit: __, ...filters } = request
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined && value !== "")) as Omit<
    Request,
    keyof PageRequest
  >
}

/** Seals positions into cursors, which clients cannot alter or use for another list. */
export class Cursors extends Context.Service<
  Cursors,
  {
    readonly seal: (listing: Listing, position: Position) => string
    readonly open: (listing: Listing, cursor: string) => Effect.Effect<Position, InvalidCursor>
    /**
     * Reads one page: opens the cursor, calls `read`, and seals the position of the last item. It reads one row more
     * than the limit to see whether more follow.
     */
    readonly page: <Row, R>(
      listing: Listing,
      request: PageRequest,
      read: (after: Position | null, count: number) => Effect.Effect<ReadonlyArray<Row>, never, R>,
      positionOf: (row: Row) => Position,
    ) => Effect.Effect<Page<Row>, InvalidCursor, R>
  }
>()("keyshelf/kernel/Cursors") {}
