/**
 * A client whose statements are measured: each reports how many rows it passed over, and how many pages it read. A plan that does not fit
 * the data reads too much at any speed of the machine, so a test need not look at the time.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Predicate, Redacted } from "effect"
import { connect } from "node:net"
import type { Socket } from "node:net"
import { join } from "node:path"
import { setForSessions, startupParameters, TestDatabase } from "./TestDatabase.ts"

/** One execution of a statement, or of a check of a foreign key within it. */
export interface Execution {
  readonly text: string
  /** The most rows that a step of its plan produced or left out. */
  readonly rows: number
  /** The pages that it read. */
  readonly pages: number
}

const numberOf = (node: object, name: string): number => Number(Reflect.get(node, name) ?? 0)

const rowsOf = (node: object): number => {
  const below: unknown = Reflect.get(node, "Plans")
  const own =
    numberOf(node, "Actual Rows") +
    Object.keys(node)
      .filter((name) => name.startsWith("Rows Removed"))
      .reduce((sum, name) => sum + numberOf(node, name), 0)
  const steps = Array.isArray(below) ? below.filter(Predicate.isObject) : []
  return Math.max(own * numberOf(node, "Actual Loops"), ...steps.map(rowsOf))
}

const executionOf = (notice: string): Execution | undefined => {
  const json = /^duration: [^{]*plan:\s*(\{[^]*)$/.exec(notice)?.[1]
  if (json === undefined) return undefined
  const { "Query Text": text, Plan: plan } = JSON.parse(json) as { "Query Text": string; Plan: object }
  const pages = numberOf(plan, "Shared Hit Blocks") + numberOf(plan, "Shared Read Blocks")
  return { text: text.replace(/\s+/g, " ").trim(), rows: rowsOf(plan), pages }
}

const NOTICE = "N".charCodeAt(0)

/** Calls `report` with the text of each notice that the server sends. */
const readNotices = (socket: Socket, report: (text: string) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  socket.on("data", (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 5) {
      const end = 1 + rest.readInt32BE(1)
      if (rest.length < end) return
      if (rest[0] === NOTICE) {
        const message = rest
          .toString("utf8", 5, end)
          .split("\0")
          .find((field) => field.startsWith("M"))
        if (message !== undefined) report(message.slice(1))
      }
      rest = rest.subarray(end)
    }
  })
}

/** What the server is to do with all statements of the database. */
type PlanCacheMode = "auto" | "force_generic_plan" | "force_custom_plan"

const settingsFor = (mode: PlanCacheMode): Readonly<Record<string, string>> => ({
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_buffers": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_format": "json",
  "auto_explain.log_level": "notice",
  "auto_explain.log_nested_statements": "on",
  plan_cache_mode: mode,
})

/** The measured statements of the client. */
export class StatementWatch extends Context.Service<
  StatementWatch,
  {
    /** Runs work, and returns its executions. */
    readonly during: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<ReadonlyArray<Execution>, E, R>
  }
>()("keyshelf/test/StatementWatch") {}

/** SQL on a database of its own, through a single connection whose statements are measured. Its plans are made in this way. */
export const watchedSql = (mode: PlanCacheMode) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const url = Redacted.value((yield* TestDatabase).url)
      yield* setForSessions(Redacted.make(url), settingsFor(mode))
      let executions: Array<Execution> | undefined
      const stream = () => {
        const { hostname, port, searchParams } = new URL(url)
        const directory = searchParams.get("host")
        const socket =
          directory === null
            ? connect(Number(port || "5432"), hostname)
            : connect(join(directory, `.s.PGSQL.${port || "5432"}`))
        readNotices(socket, (text) => {
          const execution = executions === undefined ? undefined : executionOf(text)
          if (execution !== undefined) executions?.push(execution)
        })
        return socket
      }
      const during: StatementWatch["Service"]["during"] = (work) =>
        Effect.suspend(() => {
          const found: Array<Execution> = []
          executions = found
          return Effect.as(work, found).pipe(Effect.ensuring(Effect.sync(() => (executions = undefined))))
        })
      return Layer.merge(
        PgClient.layer({ url: Redacted.make(url), stream, multiplex: true, maxConnections: 1, startupParameters }),
        Layer.succeed(StatementWatch, { during }),
      )
    }),
  ).pipe(Layer.provideMerge(TestDatabase.layer))
