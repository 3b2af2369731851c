/** Lists of more than one page. */

interface Page {
  readonly items: ReadonlyArray<unknown>
  readonly hasMore: boolean
  readonly nextCursor: string
}

/** A method of a client that returns a page. */
type List = (request: never) => Promise<Page>

type RequestOf<L extends List> = Exclude<Parameters<L>[0], undefined>
type ItemOf<L extends List> = Awaited<ReturnType<L>>["items"][number]

interface PageRequest {
  readonly query?: object
}

/**
 * Iterates over all items of a list, and reads the next page when it is needed:
 * `for await (const customer of paginate(client.listCustomers, { query: { q: "glo" } })) ...`
 */
export async function* paginate<L extends List>(
  list: L,
  request?: RequestOf<L>,
): AsyncGenerator<ItemOf<L>, void, undefined> {
  const read = list as unknown as (request: PageRequest | undefined) => Promise<Page>
  const first: PageRequest | undefined = request
  let next = first
  for (;;) {
    const { hasMore, items, nextCursor } = await read(next)
    for (const item of items) yield item as ItemOf<L>
    if (!hasMore) return
    next = { ...first, query: { ...first?.query, cursor: nextCursor } }
  }
}
