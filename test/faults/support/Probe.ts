/** A client that asks the same thing again and again while something breaks, and its log of what it was told. */
import { Effect } from "effect"
import { clock } from "./Installation.ts"
import type { Violation } from "./Checker.ts"

const PATIENCE_MILLIS = 40_000

/** One question. Times are milliseconds. */
export interface Answered {
  readonly at: number
  readonly millis: number
  /** `null` where no answer came. */
  readonly status: number | null
  readonly retryAfter: string | null
  readonly type: string | null
}

/** What is asked; the number makes one question differ from the next. */
export type Question = (number: number) => readonly [method: string, url: string, token: string, body?: object]

/** A running probe. */
export interface Probe {
  readonly answers: ReadonlyArray<Answered>
  /** No more questions; answers when all answers are in. */
  readonly stop: Effect.Effect<void>
}

const ask = async ([method, url, token, body]: ReturnType<Question>): Promise<Answered> => {
  const at = clock()
  const none = { status: null, retryAfter: null, type: null }
  const told = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(PATIENCE_MILLIS),
  }).then(
    async (answer) => {
      await answer.text()
      const { headers, status } = answer
      return { status, retryAfter: headers.get("retry-after"), type: headers.get("content-type") }
    },
    () => none,
  )
  return { ...told, at, millis: clock() - at }
}

/** Asks at a rate, without waiting for answers, until it is stopped or the scope closes. */
export const probe = Effect.fnUntraced(function* (question: Question, everyMillis: number) {
  const answers: Array<Answered> = []
  const waiting = new Set<Promise<void>>()
  let number = 0
  const timer = setInterval(() => {
    const work = ask(question(number++)).then((answered) => void answers.push(answered))
    waiting.add(work)
    void work.finally(() => waiting.delete(work))
  }, everyMillis)
  yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))
  const running: Probe = {
    answers,
    stop: Effect.promise(async () => {
      clearInterval(timer)
      await Promise.all(waiting)
    }),
  }
  return running
})

/** Those that were asked in a span of time. */
export const between = ({ answers }: Probe, from: number, to: number): ReadonlyArray<Answered> =>
  answers.filter(({ at }) => at >= from && at < to)

/** How many there are of each status, and how long the longest took. */
export const toldOf = (answers: ReadonlyArray<Answered>): string => {
  const counts = [...Map.groupBy(answers, ({ status }) => status ?? "none")]
    .map(([status, same]) => `${same.length} x ${status}`)
    .join(" ")
  return `${counts} within ${Math.round(Math.max(0, ...answers.map(({ millis }) => millis)))} ms`
}

/** What is neither a success nor a 503 that says so as a problem and when to come back, within the limit. */
export const misbehaved = (
  what: string,
  answers: ReadonlyArray<Answered>,
  limitMillis: number,
): ReadonlyArray<Violation> =>
  answers
    .filter(({ millis, retryAfter, status, type }) => {
      const isProper =
        status !== null &&
        (status < 300 || (status === 503 && retryAfter !== null && type?.startsWith("application/problem+json")))
      return !isProper || millis > limitMillis
    })
    .map(({ millis, retryAfter, status }) => ({
      invariant: "I10",
      detail: `${what} was answered by ${status ?? "nothing"}${status === 503 && retryAfter === null ? " without Retry-After" : ""} after ${Math.round(millis)} ms`,
    }))
