import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { LogReader } from "../../src/domains/audit/log/LogReader.ts"
import { LogRestart } from "../../src/domains/audit/log/LogRestart.ts"
import { openCheckpoint } from "../../src/domains/audit/rules/Notes.ts"
import { isIncluded, readProof } from "../../src/domains/audit/rules/Proofs.ts"
import { leafHash } from "../../src/domains/audit/rules/Tree.ts"
import { shell } from "../cli/shell.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { request } from "../support/http.ts"
import { installation } from "../support/Nodes.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { TestService } from "../support/TestService.ts"
import { openLog } from "./support.ts"
import { deliveredText } from "./delivered.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

allowInventedEvents()

const kindsOf = (organizationId: OrganizationId, savedNotes: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { verification } = yield* (yield* LogReader).verify({ organizationId, keys: [], savedNotes })
    return Array.from(verification.findings(), ({ kind }) => kind)
  })

layer(TestService.separate, { excludeTestServices: true })("a restarted event log", (it) => {
  it.effect("has a name of its own, goes on behind what was lost, and carries the last checkpoint", () =>
    Effect.gen(function* () {
      const { addMany, get, note, organizationId, origin, positions, publicKey, size, sql, stream } = yield* openLog
      yield* addMany(20)
      yield* note
      const before = yield* note
      // What a damaged table leaves.
      yield* sql`DELETE FROM events WHERE organization_id = ${organizationId} AND id IN (
        SELECT event_id FROM event_positions WHERE organization_id = ${organizationId} AND position IN (3, 9))`
      yield* sql`DELETE FROM event_positions WHERE organization_id = ${organizationId} AND position = 3`
      yield* sql`UPDATE event_positions SET leaf = NULL WHERE organization_id = ${organizationId} AND position = 13`
      assert.strictEqual((yield* get("/events/checkpoint")).status, 409)
      const { first, last } = yield* (yield* LogRestart).restart(organizationId)
      assert.strictEqual(last, before)
      assert.strictEqual(yield* note, first)
      const key = yield* publicKey
      assert.isUndefined(openCheckpoint(first, origin, [key]))
      const checkpoint = openCheckpoint(first, `${origin}/2`, [key], origin)
      assert.strictEqual(checkpoint?.size, yield* size)
      assert.strictEqual((yield* stream).base, 9)
      assert.strictEqual(yield* size, (yield* positions).filter((position) => position > 9).length)
      const event = (yield* get("/events?type=EVENT_LOG_RESTARTED")).body.items[0]
      assert.deepStrictEqual(event.data, { log: 2, note: before })
      const proof = readProof((yield* get(`/events/${event.id}/proof`)).text)
      assert.isTrue(isIncluded(leafHash(deliveredText(event)), proof?.index ?? -1, checkpoint!, proof?.hashes ?? []))
      assert.deepStrictEqual(yield* kindsOf(organizationId, [first]), [])
      // The old checkpoint does not pass for one of the new log.
      assert.deepStrictEqual(yield* kindsOf(organizationId, [before]), ["CHECKPOINT_INVALID"])
      yield* addMany(5)
      yield* note
      assert.deepStrictEqual(yield* kindsOf(organizationId, [first]), [])
      yield* (yield* LogRestart).restart(organizationId)
      assert.match(yield* note, new RegExp(`^${origin}/3\n`))
    }),
  )
})

describe("keyshelf audit restart", { timeout: 120_000 }, () => {
  it.live("begins a new log, which is exported and verified like the first one", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { node, settings, tenant } = installation((yield* TestDatabase).url)
      const serving = yield* node({ SERVICE_ROLES: "core,platform,internal" })
      const token = yield* tenant(serving)
      const directory = yield* temporaryDirectory
      const get = (path: string) => Effect.promise(() => request("GET", `${serving.core}/api${path}`, { token }))
      yield* get("/events/checkpoint")
      const [organization] = yield* sql<{ slug: string }>`SELECT slug FROM organizations`
      const restarted = yield* shell(`keyshelf audit restart --organization ${organization?.slug}`, settings)
      assert.strictEqual(restarted.code, 0, restarted.stderr)
      const { text } = yield* get("/events/checkpoint")
      assert.include(restarted.stdout, text)
      const saved = join(directory, "saved.txt")
      writeFileSync(saved, text)
      const [key] = (yield* get("/signing-keys")).body.items
      const file = join(directory, "log.ndjson")
      const both = yield* shell(
        `keyshelf audit verify --checkpoint ${saved} --key '${key.verifierKey}' && keyshelf audit export --organization ${organization?.slug} > ${file}`,
        settings,
      )
      assert.strictEqual(both.code, 0, both.stdout + both.stderr)
      const verified = yield* shell(
        `keyshelf audit verify --export ${file} --key '${key.verifierKey}' --checkpoint ${saved}`,
        {},
      )
      assert.strictEqual(verified.code, 0, verified.stdout + verified.stderr)
      assert.match(verified.stdout, /no findings/)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
