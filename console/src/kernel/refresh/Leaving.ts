/**
 * Records that are deleted on their own page. The page stays for a moment after the answer, while the next one loads. Until it has
 * been left, nothing reads its record again: not the change itself, not the stream of events, no timer and no focus of the window.
 */
import type { QueryClient, QueryKey } from "@tanstack/react-query"

type Params = Readonly<Record<string, string>>

/** What is asked of one record: its path, and the parameters in it. */
interface RecordKey {
  readonly path: string
  readonly params: Params
}

const leaving = new Set<RecordKey>()

const paramsOf = (request: unknown): Params =>
  typeof request === "object" && request !== null && "params" in request ? (request.params as Params) : {}

/** Whether an answer is about a record: its own, or one below it. */
const isAbout =
  (record: RecordKey) =>
  ({ queryKey: [path, request] }: { readonly queryKey: QueryKey }): boolean => {
    if (path !== record.path && !String(path).startsWith(`${record.path}/`)) return false
    const params = paramsOf(request)
    return Object.entries(record.params).every(([name, value]) => params[name] === value)
  }

/** Whether an answer may be read: no record that is being left is read. */
export const mayRead = (query: { readonly queryKey: QueryKey }): boolean =>
  ![...leaving].some((record) => isAbout(record)(query))

/** Forgets what was read about a record as soon as no page shows it. Another record of the same name can then be read. */
const forgetOnceLeft = (queries: QueryClient, record: RecordKey): void => {
  const predicate = isAbout(record)
  const cache = queries.getQueryCache()
  const forget = () => {
    if (cache.findAll({ predicate }).some((query) => query.getObserversCount() > 0)) return
    stop()
    leaving.delete(record)
    queries.removeQueries({ predicate })
  }
  const stop = cache.subscribe(({ type }) => {
    if (type === "observerRemoved" || type === "removed") forget()
  })
  forget()
}

/**
 * Deletes the record of the page, which is then left. What is being read about the record is aborted. If the record stays, it is read
 * again.
 */
export const deleteAndLeave = async <A>(
  queries: QueryClient,
  operation: string,
  request: unknown,
  run: () => Promise<A>,
): Promise<A> => {
  const record = { path: operation.slice(operation.indexOf(" ") + 1), params: paramsOf(request) }
  const filters = { predicate: isAbout(record) }
  leaving.add(record)
  try {
    await queries.cancelQueries(filters)
    // Timers that read again end, as their answers may no longer be read.
    await queries.invalidateQueries({ ...filters, refetchType: "none" })
    const answer = await run()
    forgetOnceLeft(queries, record)
    return answer
  } catch (error) {
    leaving.delete(record)
    void queries.invalidateQueries(filters)
    throw error
  }
}
