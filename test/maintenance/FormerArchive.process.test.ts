/** An archive that the service wrote before its migrations became one baseline. */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { gunzipSync } from "node:zlib"
import { shell } from "../cli/shell.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestService } from "../support/TestService.ts"
import { countsOf } from "./crowded.ts"
import { KEY, sameKind } from "./installations.ts"

allowInventedEvents()

const fixtures = resolve(import.meta.dirname, "../fixtures/moving")
const ARCHIVE = join(fixtures, "organization-0.1.0.gz")

interface Former {
  readonly organizationId: string
  readonly slug: string
  /** How many rows each table had. */
  readonly counts: Readonly<Record<string, number>>
  readonly checkpoint: string
  /** All events, oldest first, and the cursor behind them. */
  readonly events: ReadonlyArray<{ readonly id: string }>
  readonly cursor: string
  readonly usageRows: ReadonlyArray<object>
  readonly answers: ReadonlyArray<{ readonly path: string; readonly body: unknown }>
}
const former: Former = JSON.parse(
  gunzipSync(readFileSync(join(fixtures, "organization-0.1.0.answers.json.gz"))).toString(),
)

/** Properties that responses have got since. */
const ADDED = [
  "customerName",
  "licenseName",
  "deploymentZoneName",
  "deploymentZoneSlug",
  "away",
  "pausedAt",
  "endMaintenanceDate",
  "images",
  "access",
  "releasedAt",
  "releaseSlug",
  "releaseAccess",
]

/** What is the same in responses of any time. */
const comparable = (body: unknown): unknown =>
  JSON.parse(
    JSON.stringify(body ?? null, (name, value: unknown) => {
      // The events of that time have no credential.
      if (ADDED.includes(name) || (name === "credential" && value === null)) return undefined
      return name === "lastUsedAt" ? null : value
    }),
  )

layer(TestService.separate, { excludeTestServices: true })("an archive of the former schema", (it) => {
  it.effect(
    "its import brings records, usage, events, positions and the event log as they were",
    () =>
      Effect.gen(function* () {
        const there = yield* sameKind
        const { organizationId, slug } = former
        const imported = yield* there.command(`import --file ${ARCHIVE}`)
        assert.strictEqual(imported.code, 0, imported.stderr)
        const onDestination = Effect.provideService(PgClient.PgClient, there.sql)
        // Responses of idempotency keys, which are stored for a day, do not move from there. Leaves are in the rows of positions.
        const placed = former.counts["events"] ?? 0
        assert.isAbove(placed, 10)
        assert.deepStrictEqual(yield* onDestination(countsOf(organizationId)), {
          ...former.counts,
          idempotency_keys: 0,
          event_arrivals: 0,
          event_positions: placed,
          event_hashes: (former.counts["event_hashes"] ?? 0) - placed,
          // Tables that came later.
          component_images: 0,
          credit_uses: 0,
          credits: 0,
          instance_add_ons: 0,
          release_requirements: 0,
        })
        const usage = yield* there.sql`
          SELECT period_start, value::text, sum::text, event_count::int, voided_count::int FROM usage_totals
          WHERE organization_id = ${organizationId} ORDER BY period_start`
        assert.deepStrictEqual(JSON.parse(JSON.stringify(usage)), former.usageRows)

        const issued = yield* there.service.platform("POST", `/platform/organizations/${organizationId}/tokens`, {
          token: there.service.operator,
          body: { name: "After the move" },
        })
        const token = String(issued.body.token)
        const get = (path: string) => there.service.core("GET", path, { token })
        for (const { body, path } of former.answers) {
          const answer = yield* get(path)
          assert.deepStrictEqual([path, answer.status, comparable(answer.body)], [path, 200, comparable(body)])
        }

        // Events keep their order, and a client goes on from its cursor: only the new token's event comes after it.
        const all = yield* get("/events?limit=100")
        const events = all.body.items.slice(0, former.events.length)
        assert.isTrue(events.every(({ credential }: { credential: unknown }) => credential === null))
        assert.deepStrictEqual(
          events.map(({ credential: _, ...event }: { credential: null }) => event),
          former.events,
        )
        const later = yield* get(`/events?cursor=${encodeURIComponent(former.cursor)}`)
        assert.deepStrictEqual(
          later.body.items.map(({ type }: { type: string }) => type),
          ["SYSTEM_ORGANIZATION_TOKEN_ISSUED"],
        )

        // The log goes on from its last checkpoint, which was saved elsewhere.
        const saved = join(yield* temporaryDirectory, "checkpoint")
        writeFileSync(saved, former.checkpoint)
        assert.strictEqual((yield* get("/events/checkpoint")).status, 200)
        const proof = yield* get(`/events/${former.events[3]?.id}/proof`)
        assert.match(proof.text, /^c2sp\.org\/tlog-proof@v1\nindex 3\n/)
        const verified = yield* shell(`keyshelf audit verify --organization ${slug} --checkpoint ${saved}`, {
          SERVICE_DATABASE_URL: Redacted.value(there.url),
          SERVICE_SECRET_KEY: KEY,
        })
        assert.strictEqual(verified.code, 0, verified.stdout)
        assert.match(verified.stdout, /no findings/)
      }).pipe(Effect.scoped),
    240_000,
  )
})
