/** How the local clients of an edge reach the origin: with the credential of their caller, and in turn. */
import { Redacted } from "effect"
import type { Failure, KeysReply, RefillReply, Reply } from "../../local/index.ts"
import type { KeySets } from "./KeySets.ts"
import { awayBecause, failureOf, timesOf } from "./Replies.ts"
import type { RequestQueue } from "./RequestQueue.ts"
import { headerOf, textOf } from "./Requests.ts"
import type { Origin, OriginRequest } from "./Requests.ts"

const TIMEOUT_MS = 10_000

/** What a request came to: an answer, a problem, or nothing. */
export type OriginResult = "ok" | "problem" | "away"

/** What calls of an edge share. */
export interface Connection {
  readonly origin: Origin
  readonly queue: RequestQueue
  readonly keySets: KeySets
  readonly count: (result: OriginResult) => void
}

/** The identity behind a credential. */
type IdentityReply = Failure | { readonly type: "identity"; readonly text: string }

/** Calls with one credential. */
export interface Calls {
  /** `isUrgent`: a caller waits for it. */
  readonly snapshot: (instance: string, etag: string | null, isUrgent: boolean) => Promise<Reply>
  readonly keys: (organization: string) => Promise<KeysReply>
  readonly refill: (instance: string, body: string) => Promise<RefillReply>
  readonly identity: () => Promise<IdentityReply>
}

type Read<A> = (response: Awaited<ReturnType<Origin["send"]>>) => Promise<A>

const ask = async <A extends { readonly type: string }>(
  { count, origin }: Connection,
  request: Omit<OriginRequest, "timeoutMs" | "method"> & Partial<Pick<OriginRequest, "method">>,
  read: Read<A>,
): Promise<A | Failure> => {
  try {
    const response = await origin.send({ method: "GET", ...request, timeoutMs: TIMEOUT_MS })
    const status = response.statusCode ?? 0
    const result = status === 200 || status === 304 ? await read(response) : await failureOf(response)
    count(result.type === "problem" || result.type === "away" ? result.type : "ok")
    return result
  } catch (error) {
    count("away")
    return awayBecause(error)
  }
}

const pathOf = (instance: string): string => `/api/instances/${encodeURIComponent(instance)}`

/** Makes the calls of a credential. */
export const makeCalls = (connection: Connection, token: Redacted.Redacted): Calls => {
  const { keySets, queue } = connection
  const authorization = `Bearer ${Redacted.value(token)}`
  return {
    snapshot: (instance, etag, isUrgent) => {
      const headers = {
        accept: "application/jwt",
        authorization,
        ...(etag === null ? {} : { "if-none-match": etag }),
      }
      const path = `${pathOf(instance)}/snapshot`
      return queue<Reply>(isUrgent, () =>
        ask<Reply>(connection, { path, headers }, async (response) => {
          const text = await textOf(response)
          if (response.statusCode === 304) return { type: "unchanged", ...timesOf(response) }
          return {
            type: "snapshot",
            token: text.trim(),
            etag: headerOf(response, "etag") ?? null,
            ...timesOf(response),
          }
        }),
      )
    },
    keys: (organization) =>
      keySets.read(organization, () =>
        ask(
          connection,
          { path: `/api/offline/${encodeURIComponent(organization)}/keys`, headers: {} },
          async (response) => ({
            type: "keys" as const,
            text: await textOf(response),
          }),
        ),
      ),
    refill: (instance, body) => {
      const headers = { accept: "application/json", authorization, "content-type": "application/json" }
      const path = `${pathOf(instance)}/tranches`
      // A consumption waits for most of them, and settling is small.
      return queue<RefillReply>(true, () =>
        ask<RefillReply>(connection, { method: "POST", path, headers, body: Buffer.from(body) }, async (response) => ({
          type: "refilled",
          body: JSON.parse(await textOf(response)) as unknown,
          dateMs: timesOf(response).dateMs,
        })),
      )
    },
    identity: () =>
      ask(connection, { path: "/api/me", headers: { authorization } }, async (response) => ({
        type: "identity" as const,
        text: await textOf(response),
      })),
  }
}
