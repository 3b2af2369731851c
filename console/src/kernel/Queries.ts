/** Reading and writing as hooks. Each answer is kept under its operation and request. */
import {
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query"
import type { QueryKey } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { call, Problem } from "./Api.ts"
import type { Answer, Item, Operation, Request } from "./Contract.ts"
import { createDraft, draftOf } from "./forms/Curl.ts"
import { deleteAndLeave, mayRead } from "./refresh/Leaving.ts"
import { t } from "./texts.en.ts"

const MAX_REPEATS = 2
const PAGE_SIZE = "200"

const isTemporary = (error: Error): boolean =>
  error instanceof Problem && (error.status === 0 || error.status === 429 || error.status >= 502)

/** Creates the cache of answers. */
export const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        enabled: mayRead,
        refetchOnWindowFocus: true,
        networkMode: "always",
        retry: (count, error) => count < MAX_REPEATS && isTemporary(error),
        retryDelay: (count, error) =>
          error instanceof Problem && error.retryAfter !== undefined ? error.retryAfter * 1000 : 500 * 2 ** count,
      },
      mutations: { retry: false, networkMode: "always" },
    },
  })

export type GetOperation = Extract<Operation, `GET ${string}`>

interface ReadOptions<A> {
  /** Reads only if this is true. */
  readonly when?: boolean
  /** The interval between reads in milliseconds, or a function that computes it from the last answer. */
  readonly refetchInterval?: number | ((read: A | undefined) => number | false)
}

/** The interval as TanStack Query takes it. */
const intervalOf = <A, D>(
  { refetchInterval: every }: ReadOptions<A>,
  readFrom: (data: D) => A,
): {
  readonly refetchInterval?: number | ((query: { readonly state: { readonly data?: D | undefined } }) => number | false)
} => {
  if (every === undefined) return {}
  if (typeof every === "number") return { refetchInterval: every }
  return { refetchInterval: ({ state: { data } }) => every(data === undefined ? undefined : readFrom(data)) }
}

/** For answers that are read only under a condition. */
export const enabledWhen =
  (condition: boolean) =>
  (query: { readonly queryKey: QueryKey }): boolean =>
    condition && mayRead(query)

/** The key under which an answer is kept: first the path, so that events can invalidate by it. */
export const keyOf = (operation: string, request: unknown): ReadonlyArray<unknown> => [
  operation.slice(operation.indexOf(" ") + 1),
  request,
]

/** Reads one answer. What was there stays while the next one is loading. */
export const useRead = <O extends GetOperation>(
  operation: O,
  request: Request<O>,
  options: ReadOptions<Answer<O>> = {},
) =>
  useQuery<Answer<O>>({
    queryKey: keyOf(operation, request),
    queryFn: ({ signal }) => call(operation, request, { signal }),
    placeholderData: keepPreviousData,
    enabled: enabledWhen(options.when ?? true),
    ...intervalOf(options, (answer: Answer<O>) => answer),
  })

interface Paged {
  readonly items: ReadonlyArray<unknown>
  readonly hasMore: boolean
  readonly nextCursor: string
}

type ListOperation = { [O in GetOperation]: Answer<O> extends Paged ? O : never }[GetOperation]

/** A list that can have more pages. */
export interface Rows<T> {
  readonly rows: ReadonlyArray<T> | undefined
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly error: Error | null
  /** Why the last try of a read that is repeated failed. */
  readonly failureReason?: Error | null
  readonly loadMore: () => void
  readonly retry: () => void
}

const readPage = async <O extends ListOperation>(
  operation: O,
  request: Request<O>,
  {
    cursor,
    limit = PAGE_SIZE,
    signal,
  }: {
    readonly cursor: string | undefined
    readonly limit?: string | undefined
    readonly signal: AbortSignal | undefined
  },
): Promise<Paged> => {
  const { query: filters, ...rest }: { query?: object; params?: object } = request
  const paged = { ...rest, query: { limit, ...filters, cursor } }
  const answer: unknown = await call(operation, paged as unknown as Request<O>, { signal })
  return answer as Paged
}

/** All pages of a list, for what must be seen as a whole. */
export const readAll = async <O extends ListOperation>(
  operation: O,
  request: Request<O>,
  signal?: AbortSignal,
): Promise<ReadonlyArray<Item<O>>> => {
  const items: Array<Item<O>> = []
  let cursor: string | undefined
  do {
    const page = await readPage(operation, request, { cursor, signal })
    items.push(...(page.items as ReadonlyArray<Item<O>>))
    cursor = page.hasMore ? page.nextCursor : undefined
  } while (cursor !== undefined)
  return items
}

/** A record of a list, for records without a path of their own. */
export const foundIn = <T>(items: ReadonlyArray<T>, isWanted: (item: T) => boolean): T => {
  const found = items.find(isWanted)
  if (found === undefined) throw new Problem(404, "Console.Gone", t.states.gone, t.states.goneDetail)
  return found
}

const itemsOf = <O extends ListOperation>({
  pages,
}: {
  readonly pages: ReadonlyArray<Paged>
}): ReadonlyArray<Item<O>> => pages.flatMap(({ items }) => items as ReadonlyArray<Item<O>>)

/** Reads a list page by page. */
export const useRows = <O extends ListOperation>(
  operation: O,
  request: Request<O>,
  options: ReadOptions<ReadonlyArray<Item<O>>> & { readonly pageSize?: string } = {},
): Rows<Item<O>> => {
  const query = useInfiniteQuery({
    queryKey: [...keyOf(operation, request), "pages"],
    queryFn: ({ pageParam, signal }) =>
      readPage(operation, request, { limit: options.pageSize, cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.hasMore ? page.nextCursor : undefined),
    placeholderData: keepPreviousData,
    enabled: enabledWhen(options.when ?? true),
    ...intervalOf(options, itemsOf<O>),
  })
  return {
    rows: query.data === undefined ? undefined : itemsOf<O>(query.data),
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    error: query.error,
    failureReason: query.failureReason,
    loadMore: () => {
      // Several places may want the next page of one list: the first request serves all.
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage({ cancelRefetch: false })
    },
    retry: () => void query.refetch(),
  }
}

/** Reads all pages of a list, for lists whose records are named by others. */
export const useAllRows = <T>(rows: Rows<T>, when = true): Rows<T> => {
  const { error, hasMore, isLoadingMore, loadMore } = rows
  useEffect(() => {
    if (when && hasMore && !isLoadingMore && error === null) loadMore()
  }, [when, hasMore, isLoadingMore, error, loadMore])
  return rows
}

/**
 * The rows that match a filter which the service does not have: all pages are read for it. Without `matches`, all rows.
 * As long as more is read and nothing matches, there are no rows rather than none that match.
 */
export const useMatching = <T>(rows: Rows<T>, matches: ((row: T) => boolean) | undefined): Rows<T> => {
  useAllRows(rows, matches !== undefined)
  if (matches === undefined) return rows
  const found = rows.rows?.filter(matches)
  return { ...rows, rows: found?.length === 0 && rows.hasMore ? undefined : found }
}

const QUIET_MS = 250
/** What was typed, a moment after the last key. */
export const useQuiet = (text: string): string => {
  const [quiet, setQuiet] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(text), QUIET_MS)
    return () => clearTimeout(timer)
  }, [text])
  return quiet
}

/** What a change makes stale. */
interface ChangeOptions {
  /** Paths whose answers the change makes stale; all by default. */
  readonly stale?: ReadonlyArray<string>
}

/** Runs a change of something, one at a time, and reads again what it made stale. */
export const useChange = <A, V>(
  run: (variables: V) => Promise<A>,
  { done, stale }: ChangeOptions & { readonly done?: (answer: A, variables: V) => void },
) => {
  const queries = useQueryClient()
  // Set at once, unlike the state of the mutation: the second press of a double click comes before the page is drawn again.
  const isBusy = useRef(false)
  const [draft] = useState(createDraft<V>)
  const mutation = useMutation<A, Error, V>({
    mutationFn: run,
    onSuccess: (answer, variables) => {
      void queries.invalidateQueries({
        predicate: ({ queryKey: [path] }) => stale?.some((one) => String(path).startsWith(one)) ?? true,
      })
      done?.(answer, variables)
    },
    onSettled: () => {
      isBusy.current = false
    },
  })
  return {
    ...mutation,
    mutate: (variables: V) => {
      if (draft.takes(variables) || isBusy.current) return
      isBusy.current = true
      mutation.mutate(variables)
    },
    draft,
  }
}

/** What a write makes stale, and what follows it. */
export interface WriteOptions<O extends Operation> extends ChangeOptions {
  readonly done?: (answer: Answer<O>, request: Request<O>) => void
  /** A deletion whose `done` leaves the page of the record. */
  readonly leavesPage?: boolean
}

/** Whether the service may have made a change without the answer arriving. */
const isUnknown = (error: unknown): boolean => error instanceof Problem && (error.status === 0 || error.status >= 500)

/**
 * Changes something. A POST keeps its `Idempotency-Key` until its outcome is known: if the answer is lost, sending the same again
 * happens once. Other writes are not repeated.
 */
export const useWrite = <O extends Operation>(
  operation: O,
  { leavesPage = false, ...options }: WriteOptions<O> = {},
) => {
  const queries = useQueryClient()
  const pending = useRef<{ readonly key: string; readonly text: string }>(undefined)
  const run = async (request: Request<O>): Promise<Answer<O>> => {
    if (leavesPage) return deleteAndLeave(queries, operation, request, () => call(operation, request))
    if (!operation.startsWith("POST")) return call(operation, request)
    const text = JSON.stringify(request)
    if (pending.current?.text !== text) pending.current = { key: crypto.randomUUID(), text }
    try {
      const answer = await call(operation, request, { idempotencyKey: pending.current.key })
      pending.current = undefined
      return answer
    } catch (error) {
      if (!isUnknown(error)) pending.current = undefined
      throw error
    }
  }
  const change = useChange(run, options)
  return {
    ...change,
    draft: (submit: () => void) => draftOf(operation, change.draft.of(submit)),
  }
}

/** The properties of an object that are not `undefined`, for bodies with optional properties. */
export const defined = <T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
