/**
 * Fault: receivers hang, drip, reset, flood and send garbage. Each must get the documented outcome and block only
 * itself.
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import type { Behaviour } from "../support/Behaviour.ts"
import type { Violation } from "../support/Checker.ts"
import type { HistoryAttempt } from "../support/Evidence.ts"
import { endpoint, freePort, open, tenant, until } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { component, checkEvidence, REAL } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const MAX_STORED_BYTES = 16 * 1024
// The socket buffers on both sides may be full before the connection is destroyed.
const MAX_BYTES_READ = 8 * 1024 * 1024
const MAX_GROWTH_MIB = 96

interface Expected {
  readonly behaviour?: Behaviour
  readonly url?: string
  readonly statusCode: number | null
  /** First word of the recorded error. */
  readonly error: string | null
  /** The exchange lasts until the timeout. */
  readonly lasts?: true
}

const responding = (statusCode: number): Expected => ({
  behaviour: { kind: "respond", statuses: [statusCode] },
  statusCode,
  error: null,
})

const residentMib = (pid: number): number => {
  try {
    return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024)
  } catch {
    return 0
  }
}

/** Sends one event to each kind of receiver, and six to one that resets reused connections. */
export const receivers = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const receiver = yield* Receivers.start
  const node = yield* installation.node("one")
  yield* node.start
  const acme = yield* tenant(installation, node, "Acme")
  const timeout = setting.limits.timeout ?? REAL.timeout
  const closed = yield* freePort
  const expected: Readonly<Record<string, Expected>> = {
    ...Object.fromEntries(
      [200, 204, 299, 304, 400, 410, 429, 500, 503].map((code) => [`status-${code}`, responding(code)]),
    ),
    redirect: {
      behaviour: { kind: "redirect", location: receiver.url("elsewhere") },
      statusCode: 302,
      error: null,
    },
    hang: { behaviour: { kind: "hold" }, statusCode: null, error: "timeout", lasts: true },
    drip: { behaviour: { kind: "drip" }, statusCode: 200, error: null, lasts: true },
    "reset-before": { behaviour: { kind: "reset", when: "before" }, statusCode: null, error: "reset" },
    "reset-after": { behaviour: { kind: "reset", when: "after" }, statusCode: null, error: "reset" },
    "reset-responding": { behaviour: { kind: "reset", when: "responding" }, statusCode: 200, error: null },
    garbage: { behaviour: { kind: "garbage" }, statusCode: null, error: "protocol" },
    huge: { behaviour: { kind: "huge", bytes: 10 * 1024 ** 3 }, statusCode: 200, error: null },
    bomb: { behaviour: { kind: "bomb", bytes: 100 * 1024 ** 2 }, statusCode: 200, error: null },
    mute: { url: receiver.muteUrl, statusCode: null, error: "timeout", lasts: true },
    closed: { url: `http://127.0.0.1:${closed}/`, statusCode: null, error: "connect" },
    nowhere: { url: "http://nowhere.invalid/", statusCode: null, error: "dns" },
  }
  const endpoints = yield* Effect.forEach(Object.entries(expected), ([key, { behaviour, url }]) =>
    Effect.gen(function* () {
      if (behaviour !== undefined) yield* receiver.behave(key, behaviour)
      return yield* endpoint(node, acme, receiver, {
        key,
        eventNames: ["COMPONENT_CREATED"],
        expects: "attempt",
        ...(url === undefined ? {} : { url }),
      })
    }),
  )
  yield* receiver.behave("kept", { kind: "resetEvery", nth: 3 })
  endpoints.push(
    yield* endpoint(node, acme, receiver, { key: "kept", eventNames: ["RELEASE_CREATED"], expects: "attempt" }),
  )

  const fixture = { endpoints, installation, nodes: [node, node] as const, receiver, tenants: [acme] }
  const before = residentMib(node.pid())
  let peak = before
  const watch = setInterval(() => (peak = Math.max(peak, residentMib(node.pid()))), 50)
  yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(watch)))
  yield* component(fixture, "part")
  for (let release = 1; release <= 6; release++) {
    yield* Effect.promise(() =>
      fetch(`${node.core}/api/releases`, {
        method: "POST",
        headers: { authorization: `Bearer ${acme.token}`, "content-type": "application/json" },
        body: JSON.stringify({ version: `${release}` }),
      }).then((response) => response.text()),
    )
    yield* until(`release ${release} is attempted`, () => receiver.of("kept").length >= release)
    yield* Effect.sleep(50)
  }
  yield* until(
    "all first attempts have ended",
    async () => {
      const rows = await Effect.runPromise(
        Effect.orDie(installation.sql`
          SELECT DISTINCT endpoint_id FROM webhook_attempts WHERE event_name = 'COMPONENT_CREATED' AND attempt = 1`),
      )
      return rows.length === Object.keys(expected).length
    },
    timeout + 15_000,
  )
  clearInterval(watch)
  yield* Effect.sleep(500)

  const { evidence, verdict } = yield* checkEvidence(fixture, [])
  const violations: Array<Violation> = [...verdict.violations]
  const violated = (detail: string) => violations.push({ invariant: "I9", detail })
  const firstOf = (key: string): HistoryAttempt | undefined => {
    const id = endpoints.find((candidate) => candidate.key === key)?.id
    return evidence.history.find(({ attempt, endpointId }) => endpointId === id && attempt === 1)
  }
  for (const [key, { error, lasts, statusCode }] of Object.entries(expected)) {
    const attempt = firstOf(key)
    if (attempt === undefined) {
      violated(`${key}: no attempt is recorded`)
      continue
    }
    const success = statusCode !== null && statusCode < 300
    const found = `${attempt.state} ${attempt.statusCode} ${attempt.error}`
    if (attempt.state !== (success ? "Success" : "Failure")) violated(`${key} is recorded as ${found}`)
    if (attempt.statusCode !== statusCode) violated(`${key} is recorded as ${found}, not as ${statusCode}`)
    const hasExpectedError = error === null ? attempt.error === null : attempt.error?.startsWith(error) === true
    if (!hasExpectedError) violated(`${key} is recorded as ${found}, not as ${error}`)
    if (Buffer.byteLength(attempt.responseBody ?? "") > 3 * MAX_STORED_BYTES)
      violated(`${key}: the stored response is too long`)
    const millis = attempt.durationMs ?? 0
    if (lasts === true && Math.abs(millis - timeout) > 500) violated(`${key} lasted ${millis} ms instead of ${timeout}`)
    if (lasts === undefined && millis > 5_000) violated(`${key} lasted ${millis} ms`)
  }
  if (receiver.of("elsewhere").length > 0) violated("a redirect was followed")
  const poured = receiver.of("huge")[0]?.bytes ?? 0
  if (poured > MAX_BYTES_READ) violated(`${poured} bytes of an endless response were read`)
  if (peak - before > MAX_GROWTH_MIB) violated(`the node grew by ${peak - before} MiB`)
  const result: Verdict = {
    figures: {
      receivers: endpoints.length,
      "hang ms": firstOf("hang")?.durationMs ?? "none",
      "drip ms": firstOf("drip")?.durationMs ?? "none",
      "huge bytes read": poured,
      "memory growth MiB": peak - before,
      "reused connections: requests": receiver.of("kept").length,
      recorded: evidence.history.length,
    },
    violations,
  }
  return result
})
