/** Fault: an organization sends as much expensive work as the service takes, next to one that sends single requests. */
import { Effect } from "effect"
import { open as openConnection, requestBytes } from "../../support/RawConnection.ts"
import { attack } from "../support/Attacker.ts"
import type { Attack } from "../support/Attacker.ts"
import type { Violation } from "../support/Checker.ts"
import { call, open, tenant } from "../support/Installation.ts"
import type { AnyNode, Tenant } from "../support/Installation.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** The latency beside an attack, as a multiple of the quiet one. */
const MAX_RATIO = 8
/** The processor time of refusing a body, as a multiple of reading one of the same size. */
const MAX_COST_RATIO = 1.5
const REFUSALS = 20
const ROUNDS = 5
const ENTITLEMENTS = 200
const CHECKED = 100
const UNKNOWN_PROPERTIES = 85_000
const PAUSE_MILLIS = 5
const MAX_SECONDS = 6

const slugs = Array.from({ length: ENTITLEMENTS }, (_, number) => `entitlement-${number + 1}`)
const checks = slugs.slice(0, CHECKED).map((entitlement) => ({ entitlement }))
const unknownProperties = Object.fromEntries(Array.from({ length: UNKNOWN_PROPERTIES }, (_, n) => [`k${n}`, 1]))
/** A body of the same size with a single value, so that it costs little beyond its receipt. */
const longName = { name: "a".repeat(JSON.stringify(unknownProperties).length), version: "1" }

/** Creates what both organizations use: an instance whose license grants many entitlements. */
const populate = Effect.fnUntraced(function* (node: AnyNode, { token }: Tenant) {
  const create = (path: string, body: object) => call("POST", `${node.core}/api${path}`, token, body)
  yield* create("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* Effect.forEach(
    slugs,
    (slug) =>
      Effect.andThen(
        create("/entitlements", { name: slug, slug, type: "NUMBER", aggregationMethod: "SUM", resetPeriod: "MONTH" }),
        create("/licenses/pro/entitlements", { entitlementSlug: slug, value: -1 }),
      ),
    { concurrency: 8 },
  )
  yield* create("/customers", { name: "Acme", slug: "acme" })
  const dates = { startLicenseDate: "2025-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
  yield* create("/instances", { name: "Prod", slug: "prod", customerSlug: "acme", licenseSlug: "pro", ...dates })
})

type Work = Omit<Attack, "origin" | "token">

const check = "/api/instances/prod/check"
const reservations = "/api/instances/prod/entitlements/entitlement-1/reservations"

/** The single requests of the other organization. */
const singles = {
  check: { method: "POST", path: check, body: { checks: [{ entitlement: "entitlement-1" }] } },
  consume: { method: "POST", path: check, body: { checks: [{ entitlement: "entitlement-1" }], consume: true } },
  read: { method: "GET", path: "/api/customers/acme" },
  create: { method: "POST", path: "/api/components", body: { name: "Part", version: "1" } },
  reserve: { method: "POST", path: reservations, body: { quantity: 1, expiresInSeconds: 1 } },
} as const satisfies Record<string, Omit<Work, "connections">>

type Single = keyof typeof singles

const attacks: Readonly<Record<string, Work & { readonly beside: Single }>> = {
  refusals: { method: "POST", path: "/api/components", body: unknownProperties, connections: 8, beside: "check" },
  lists: { method: "GET", path: `/api/entitlements?limit=${ENTITLEMENTS}`, connections: 30, beside: "check" },
  checks: { method: "POST", path: check, body: { checks }, connections: 40, beside: "check" },
  consumes: { method: "POST", path: check, body: { checks, consume: true }, connections: 40, beside: "consume" },
  reads: { ...singles.read, connections: 200, beside: "read" },
  creates: { ...singles.create, connections: 100, beside: "create" },
  reservations: { ...singles.reserve, connections: 60, beside: "reserve" },
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Infinity

/** The milliseconds of requests that are sent one by one. */
const latencies = (node: AnyNode, { token }: Tenant, single: Single, seconds: number) =>
  Effect.promise(async () => {
    const connection = await openConnection(node.core)
    const { body, method, path }: Omit<Work, "connections"> = singles[single]
    const bytes = requestBytes(method, path, token, body)
    const measured: Array<number> = []
    const end = performance.now() + seconds * 1000
    while (performance.now() < end) {
      const began = performance.now()
      const status = await connection.send(bytes)
      measured.push(performance.now() - began)
      if (status >= 300) throw new Error(`A ${single} was answered with ${status}`)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLIS))
    }
    connection.close()
    return measured
  })

/** The processor time that the service has used, in milliseconds. */
const cpuMillis = async ({ internal }: AnyNode): Promise<number> => {
  const metrics = await (await fetch(`${internal}/metrics`)).text()
  return Number(/^process_cpu_seconds_total(?:\{.*\})? (\S+)$/m.exec(metrics)?.[1]) * 1000
}

/** The processor time of refusing a body of unknown properties, as a multiple of reading one of the same size. */
const costOfRefusing = (node: AnyNode, { token }: Tenant) =>
  Effect.promise(async () => {
    const perRequest = async (body: object) => {
      const bytes = requestBytes("POST", "/api/components", token, body)
      // A connection each: the service closes one whose body it does not read to the end.
      const send = async () => {
        const connection = await openConnection(node.core)
        const status = await connection.send(bytes)
        if (status !== 422) throw new Error(`A body that must be refused was answered with ${status}`)
        connection.close()
      }
      const before = await cpuMillis(node)
      for (let sent = 0; sent < REFUSALS; sent++) await send()
      return ((await cpuMillis(node)) - before) / REFUSALS
    }
    const rounds: Array<readonly [reading: number, refusing: number]> = []
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push([await perRequest(longName), await perRequest(unknownProperties)])
    }
    const reading = median(rounds.map(([first]) => first))
    const refusing = median(rounds.map(([, second]) => second))
    return { reading, refusing, ratio: refusing / reading }
  })

/** Compares the latency of one organization's checks and consumes, with and without the attacks of another. */
export const neighbours = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const node = yield* installation.node("one")
  yield* node.start
  const attacker = yield* tenant(installation, node, "Attacker")
  const victim = yield* tenant(installation, node, "Victim")
  yield* populate(node, attacker)
  yield* populate(node, victim)

  const seconds = Math.min(setting.seconds, MAX_SECONDS)
  const p50 = (single: Single) => Effect.map(latencies(node, victim, single, seconds), (measured) => median(measured))
  // Compiles the code before the first measurement.
  yield* Effect.forEach(Object.keys(singles) as ReadonlyArray<Single>, p50)

  const violations: Array<Violation> = []
  const figures: Record<string, string> = {}
  for (const [name, { beside: single, ...work }] of Object.entries(attacks)) {
    const quiet = yield* p50(single)
    const { beside, responses } = yield* Effect.scoped(
      Effect.gen(function* () {
        const attacking = yield* attack({ ...work, origin: node.core, token: attacker.token })
        const beside = yield* p50(single)
        return { beside, responses: [...attacking.responses()] }
      }),
    )
    const ratio = beside / quiet
    const answered = responses.map(([status, count]) => `${count} x ${status}`).join(" ")
    figures[name] = `${single} ${quiet.toFixed(1)} -> ${beside.toFixed(1)} ms (x ${ratio.toFixed(1)}), ${answered}`
    const isExpected = responses.every(([status]) => (name === "refusals" ? status === 422 : status < 300))
    if (ratio > MAX_RATIO || !isExpected) violations.push({ invariant: "I10", detail: `${name}: ${figures[name]}` })
  }
  const cost = yield* costOfRefusing(node, attacker)
  figures["reading and refusing a body"] =
    `${cost.reading.toFixed(1)} and ${cost.refusing.toFixed(1)} ms of the processor (x ${cost.ratio.toFixed(1)})`
  if (cost.ratio > MAX_COST_RATIO) {
    violations.push({
      invariant: "I10",
      detail: `refusing a body costs ${cost.ratio.toFixed(1)} times as much as reading one`,
    })
  }
  const verdict: Verdict = { figures, violations }
  return verdict
})
