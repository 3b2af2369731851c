/**
 * Clients that use up hard limits. Each request without a response is retried on another node, with the same transaction
 * id or `Idempotency-Key`, until it is answered.
 */
import { Deferred, Effect, Predicate } from "effect"
import { request } from "../../support/http.ts"
import type { HttpResponse } from "../../support/http.ts"
import { createCatalog } from "./Catalog.ts"
import { call } from "./Installation.ts"
import type { AnyNode, Installation, Tenant } from "./Installation.ts"
import type { Random } from "./Random.ts"
import { checkUsage } from "./UsageChecker.ts"
import type { StoredUsage, UsageKind, UsageOperation } from "./UsageChecker.ts"
import type { Verdict } from "./World.ts"

const CLIENTS = 16
const CAP = 60
/** The demand of an instance is about three times its cap, so that its limit is reached during the fault. */
const OPERATIONS_PER_INSTANCE = 90
const KINDS: readonly [UsageKind, ...ReadonlyArray<UsageKind>] = ["transaction", "key", "consume"]
const PAUSE_MILLIS = 20
/** How much busier the clients are than those of other faults, so that the fault finds requests in flight. */
const BUSYNESS = 4
const MAX_RETRY_MILLIS = 60_000
const ENTITLEMENT = "calls"

const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

/** Sends the one request of an operation, always with the same bytes. */
const send = (node: AnyNode, { token }: Tenant, { instance, kind, marker, value }: UsageOperation) => {
  const path = `${node.core}/api/instances/${instance}`
  const headers: Record<string, string> = kind === "transaction" ? {} : { "idempotency-key": marker }
  const [url, body] =
    kind === "consume"
      ? [`${path}/check`, { checks: [{ entitlement: ENTITLEMENT, requested: value }], consume: true }]
      : [
          `${path}/entitlements/${ENTITLEMENT}/usage`,
          { value, uniqueKey: marker, ...(kind === "transaction" ? { transactionId: marker } : {}) },
        ]
  return request("POST", url, { token, body, headers }).catch((error: unknown) => {
    const cause = error instanceof Error ? error.cause : undefined
    return Predicate.hasProperty(cause, "code") && cause.code === "ECONNREFUSED"
      ? ("refused" as const)
      : ("cut" as const)
  })
}

/** What a response says about the operation; `undefined` if it says to try again. */
const outcomeOf = ({ kind }: UsageOperation, { body, status }: HttpResponse): UsageOperation["outcome"] | undefined => {
  if (status === 200) return kind === "consume" && body.checks[0].allowed === false ? "rejected" : "acknowledged"
  if (status === 409 && body.code === "ReportUsage.ThresholdExceeded") return "rejected"
  if ((status === 409 && body.code === "IdempotencyKey.InFlight") || status === 429 || status === 503) return undefined
  throw new Error(`${status} ${JSON.stringify(body)}`)
}

const usageIn = ({ kind }: UsageOperation, { body, status }: HttpResponse): number | null => {
  if (status !== 200) return null
  return Number(kind === "consume" ? body.checks[0].usage : body.usageValue.value)
}

/** Retries on the nodes in turns, until a response says what happened. */
const settle = async (nodes: readonly [AnyNode, AnyNode], owner: Tenant, operation: UsageOperation, first: number) => {
  const deadline = Date.now() + MAX_RETRY_MILLIS
  while (operation.outcome === "unknown" && Date.now() < deadline) {
    const node = nodes[(first + operation.attempts) % 2] ?? nodes[0]
    operation.attempts++
    const response = await send(node, owner, operation)
    if (response === "refused" || response === "cut") {
      if (response === "cut") operation.cut++
      await pause(PAUSE_MILLIS)
      continue
    }
    const outcome = outcomeOf(operation, response)
    if (outcome === undefined) {
      await pause(PAUSE_MILLIS)
      continue
    }
    operation.outcome = outcome
    operation.usage = usageIn(operation, response)
  }
}

/** Reads what is stored of each instance, through each node and in the database. */
const storedUsage = Effect.fnUntraced(function* (
  { sql }: Installation,
  nodes: ReadonlyArray<AnyNode>,
  { organizationId, token }: Tenant,
  instances: ReadonlyArray<string>,
) {
  const rows = yield* Effect.orDie(sql<{ slug: string; marker: string }>`
    SELECT instances.slug, usage_events.unique_key AS marker FROM usage_events
    JOIN instances ON instances.organization_id = usage_events.organization_id AND instances.id = usage_events.instance_id
    WHERE usage_events.organization_id = ${organizationId} AND usage_events.unique_key IS NOT NULL`)
  const markers = Map.groupBy(rows, ({ slug }) => slug)
  return yield* Effect.forEach(instances, (instance) =>
    Effect.gen(function* () {
      const answers = yield* Effect.forEach(nodes, (node) =>
        call("GET", `${node.core}/api/instances/${instance}/entitlements/${ENTITLEMENT}/usage`, token),
      )
      const stored: StoredUsage = {
        instance,
        answers: answers.map(({ body }) => ({
          value: Number(body.usageValue.value),
          count: Number(body.usageValue.event_count),
        })),
        markers: (markers.get(instance) ?? []).map(({ marker }) => marker),
      }
      return stored
    }),
  )
})

/** Starts the clients on two nodes. Their requests go to both in turns. */
export const beginUsage = Effect.fnUntraced(function* (options: {
  readonly installation: Installation
  readonly nodes: readonly [AnyNode, AnyNode]
  readonly owner: Tenant
  readonly perSecond: number
  readonly seconds: number
  readonly random: Random
}) {
  const { installation, nodes, owner, random, seconds } = options
  const perSecond = options.perSecond * BUSYNESS
  const instances = Array.from(
    { length: Math.ceil((perSecond * Math.max(seconds, 1)) / OPERATIONS_PER_INSTANCE) + 1 },
    (_, index) => `site-${index}`,
  )
  yield* createCatalog(nodes[0], owner, { entitlement: ENTITLEMENT, cap: CAP, instances })
  const operations: Array<UsageOperation> = []
  const load = { isEnding: false }
  const client = async () => {
    while (!load.isEnding) {
      const number = operations.length
      const operation: UsageOperation = {
        marker: `use-${number}`,
        kind: random.pick(KINDS),
        instance: instances[Math.floor(number / OPERATIONS_PER_INSTANCE)] ?? instances[instances.length - 1] ?? "",
        value: Math.floor(random.between(1, 4)),
        outcome: "unknown",
        attempts: 0,
        cut: 0,
        usage: null,
        replay: null,
      }
      operations.push(operation)
      await settle(nodes, owner, operation, number)
      await pause(random.next() * ((2000 * CLIENTS) / perSecond))
    }
  }
  const failed = yield* Deferred.make<never>()
  const clients = Array.from({ length: CLIENTS }, client)
  for (const running of clients) {
    running.catch((error: unknown) => Effect.runFork(Deferred.die(failed, error)))
  }

  // Everything that was acknowledged is sent once more, to the node that did not acknowledge it.
  const replay = Effect.forEach(
    operations,
    (operation, index) =>
      Effect.promise(async () => {
        if (operation.outcome !== "acknowledged") return
        const response = await send(nodes[(index + operation.attempts) % 2] ?? nodes[0], owner, operation)
        if (response === "refused" || response === "cut") throw new Error(`${operation.marker}: ${response}`)
        operation.replay = {
          status: response.status,
          // A repeated transaction returns the current usage, and says only by that that it was not counted.
          isReplay: operation.kind === "transaction" || response.headers.get("idempotent-replayed") === "true",
        }
      }),
    { concurrency: CLIENTS, discard: true },
  )

  const conclude = Effect.gen(function* () {
    yield* Effect.suspend(() => replay)
    const stored = yield* storedUsage(installation, nodes, owner, instances)
    const count = (matches: (operation: UsageOperation) => boolean) => operations.filter(matches).length
    const result: Verdict = {
      figures: {
        acknowledged: count(({ outcome }) => outcome === "acknowledged"),
        rejected: count(({ outcome }) => outcome === "rejected"),
        "full instances": stored.filter(({ answers }) => answers.every(({ value }) => value === CAP)).length,
        retried: count(({ attempts }) => attempts > 1),
        "cut requests": operations.reduce((sum, { cut }) => sum + cut, 0),
        replayed: count(({ replay }) => replay !== null),
        ...Object.fromEntries(KINDS.map((kind) => [kind, count((operation) => operation.kind === kind)])),
      },
      violations: checkUsage({ cap: CAP, operations, stored }),
    }
    return result
  })

  return {
    operations,
    /** Runs the effect while the clients run. Dies if a client gets a response that no fault explains. */
    during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.raceFirst(effect, Deferred.await(failed)),
    /** Ends the clients once their last operations are answered. */
    stop: Effect.promise(() => {
      load.isEnding = true
      return Promise.all(clients)
    }),
    /** Sends all again that was acknowledged, and compares what the clients were told with what is stored. */
    conclude,
  }
})
