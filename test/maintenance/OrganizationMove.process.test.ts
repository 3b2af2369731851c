import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { MoveRepo } from "../../src/domains/maintenance/moving/MoveRepo.ts"
import { makeSeal, sealingKey } from "../../src/domains/maintenance/moving/ArchiveSeal.ts"
import { hasCitus } from "../../src/kernel/database/Statements.ts"
import { Secrets } from "../../src/kernel/ports/KeyRing.ts"
import { shell } from "../cli/shell.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import { questions } from "./answers.ts"
import { countsOf, crowdedOrganization, tables } from "./crowded.ts"
import { KEY, linesIn, moving, write } from "./installations.ts"

allowInventedEvents()

layer(TestService.separate, { excludeTestServices: true })("keyshelf organization", (it) => {
  it.effect(
    "export and import: the organization answers at the destination as it did at the source",
    () =>
      Effect.gen(function* () {
        const source = yield* TestService
        const { atDestination, atSource, file, there } = yield* moving
        const organization = yield* crowdedOrganization
        const { fixture, organizationId, slug, token } = organization
        // Positions and hashes are assigned before the requests stop.
        yield* source.core("GET", "/events/checkpoint", { token })
        const answersOf = yield* questions(source, organization)
        const before = yield* answersOf(source)
        assert.deepStrictEqual(
          before.filter(([, status]) => status >= 300),
          [],
        )
        const exported = yield* atSource(`export --organization ${slug} --file ${file} --watch 1s`)
        assert.strictEqual(exported.code, 0, exported.stderr)
        assert.match(exported.stdout, /^Exported \d+ rows of \d+ tables of /)
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        assert.notInclude(linesIn(file).join("\n"), token)

        const imported = yield* atDestination(`import --file ${file}`)
        assert.strictEqual(imported.code, 0, imported.stderr)
        assert.deepStrictEqual(
          yield* countsOf(organizationId).pipe(Effect.provideService(PgClient.PgClient, there.sql)),
          yield* countsOf(organizationId),
        )
        assert.deepStrictEqual(yield* answersOf(there.service), before)
        const [queue] = yield* there.sql<{ leased: number }>`
          SELECT count(*)::int AS leased FROM webhook_queue WHERE lease IS NOT NULL OR owner IS NOT NULL`
        assert.strictEqual(queue?.leased, 0)

        // Deliveries are signed by the same secrets, and bundles and checkpoints by the same keys.
        const openings = yield* there.openings
        assert.deepStrictEqual(openings.map(({ what }) => what).toSorted(), [
          "connector settings",
          "signing keys",
          "webhook secrets",
        ])
        for (const { opened, tried } of openings) assert.strictEqual(opened, tried)

        // A request that the source answered is not executed again.
        const repeated = { token, body: { name: "Initech" }, headers: { "idempotency-key": "once" } }
        const replayed = yield* there.service.core("POST", "/customers", repeated)
        assert.strictEqual(replayed.headers.get("idempotent-replayed"), "true", replayed.text)
        assert.strictEqual((yield* atDestination(`compare --file ${file}`)).code, 0)
        const verified = yield* shell(`keyshelf audit verify --organization ${slug}`, {
          SERVICE_DATABASE_URL: Redacted.value(there.url),
          SERVICE_SECRET_KEY: KEY,
        })
        assert.strictEqual(verified.code, 0, verified.stdout)
        assert.match(verified.stdout, /no findings/)

        // Work goes on, at one place only.
        const usage = `/instances/${fixture.instance}/entitlements/api-calls/usage`
        const reported = yield* there.service.core("POST", usage, { token, body: { value: 1 } })
        assert.strictEqual(reported.status, 200, reported.text)
        const differing = yield* atDestination(`compare --file ${file}`)
        assert.strictEqual(differing.code, 1)
        assert.include(differing.stderr, "usage_totals")
        assert.strictEqual((yield* atSource(`compare --file ${file}`)).code, 0)
        const again = yield* atDestination(`import --file ${file}`)
        assert.strictEqual(again.code, 1)
        assert.include(again.stderr, "has an organization with this id already")
      }).pipe(Effect.scoped),
    240_000,
  )

  it.effect(
    "an import that cannot be done leaves nothing, and says why",
    () =>
      Effect.gen(function* () {
        const source = yield* TestService
        const { atDestination, atSource, file, there } = yield* moving
        const { organizationId, slug, token } = yield* crowdedOrganization
        yield* source.core("GET", "/events/checkpoint", { token })
        assert.strictEqual((yield* atSource(`export --organization ${slug} --file ${file} --watch 1s`)).code, 0)
        const secrets = yield* Secrets
        const lines = linesIn(file)
        const header = JSON.parse(lines[0] ?? "")
        const changed = (more: object) => [JSON.stringify({ ...header, ...more }), ...lines.slice(1)]
        const end = JSON.parse(lines.at(-1) ?? "")
        /** The lines with the seal that the source would have given them. */
        const sealed = (given: ReadonlyArray<string>) => {
          const seal = makeSeal(sealingKey(secrets))
          for (const line of given.slice(0, -1)) seal.add(line)
          return [...given.slice(0, -1), JSON.stringify({ ...end, seal: seal.textWith(end.digests) })]
        }
        const withUser = () => {
          const from = lines.findIndex((line) => line.startsWith('{"table":"users"'))
          const { columns } = JSON.parse(lines[from] ?? "")
          const values: Record<string, string> = {
            id: "01890000-0000-7000-8000-000000000001",
            name: "Mallory",
            created_at: "2026-01-01 00:00:00+00",
            updated_at: "2026-01-01 00:00:00+00",
          }
          const by = '{"id": "01890000-0000-7000-8000-000000000001", "name": "Mallory"}'
          const row = columns.map((name: string) => values[name] ?? (name.endsWith("_by") ? by : null))
          return [...lines.slice(0, from + 1), JSON.stringify(row), ...lines.slice(from + 1)]
        }
        const without = (table: string) => {
          const from = lines.findIndex((line) => line.startsWith(`{"table":"${table}"`))
          return [...lines.slice(0, from + 1), ...lines.slice(from + 2)]
        }
        for (const [contents, expected] of [
          [lines.slice(0, -1), "The file has no end"],
          [lines.slice(0, lines.length / 2), "The file has no end"],
          [lines.slice(1), "Line 1 does not belong"],
          [[...lines.slice(0, 9), "{}", ...lines.slice(9)], "Line 10 does not belong"],
          [without("usage_hours"), "The imported rows differ from those of the source: usage_hours"],
          [changed({ version: 3 }), "version 3 of the format"],
          [changed({ migrations: [...header.migrations, "9999_later"] }), "9999_later is missing here"],
          [changed({ keys: [{ id: "other", check: null }] }), 'needs the secret key "other"'],
          [
            changed({ keys: [{ id: "test", check: "00" }] }),
            'The secret key "test" of this installation is another one',
          ],
          [changed({ connectors: ["service.crm.unknown"] }), "service.crm.unknown"],
          [changed({ usageDroppedUntil: "2100-01-01 00:00:00+00" }), "stores events of usage before 2100-01-01"],
          [changed({ organization: { id: randomUUID(), slug: "x" } }), "belongs to another organization"],
          [changed({ organization: { id: "x", slug: "x" } }), "does not belong into a file of an organization"],
          [changed({ keys: [] }), "The file was changed after its export"],
          [changed({ exportedAt: "2020-01-01T00:00:00.000Z" }), "The file was changed after its export"],
          [withUser(), "The file was changed after its export"],
          [changed({ sealedWith: "other" }), 'needs the secret key "other"'],
          [
            [...lines.slice(0, -1), JSON.stringify({ ...end, seal: "0".repeat(64) })],
            "The file was changed after its export",
          ],
          [[...lines.slice(0, -1), JSON.stringify({ digests: end.digests })], "does not belong"],
        ] as const) {
          assert.include(yield* there.refusal(contents), expected)
        }
        yield* there.sql`INSERT INTO usage_drops (partition, until) VALUES ('usage_events_202001', '2020-02-01')`
        assert.include(yield* there.refusal(lines), "is about to drop a month of usage")
        yield* there.sql`DELETE FROM usage_drops`
        const bad = `${file}.bad`
        write(bad, changed({ version: 3 }))
        const old = yield* atDestination(`import --file ${bad}`)
        assert.deepStrictEqual([old.code, old.stderr.includes("version 3 of the format")], [1, true])
        write(bad, changed({ keys: [] }))
        assert.include((yield* atSource(`compare --file ${bad}`)).stderr, "The file was changed after its export")
        writeFileSync(bad, readFileSync(file).subarray(0, 50_000))
        assert.include((yield* atDestination(`import --file ${bad}`)).stderr, "was cut off")
        assert.include((yield* atDestination(`import --file ${file}.none`)).stderr, "cannot be read")
        yield* there.service.platform("POST", "/platform/organizations", {
          token: there.service.operator,
          body: { name: "Same", slug },
        })
        assert.include((yield* atDestination(`import --file ${file}`)).stderr, "with this slug already")
        yield* there.sql`DELETE FROM organizations WHERE slug = ${slug}`

        const counts = yield* countsOf(organizationId).pipe(Effect.provideService(PgClient.PgClient, there.sql))
        assert.deepStrictEqual(
          Object.entries(counts).filter(([, count]) => count > 0),
          [],
        )
        // After all that, the file can be imported. An installation without older usage takes over from when on there is any.
        // Its months are its own: those of the source are not made there. On Citus usage has no partitions.
        if (!(yield* hasCitus(there.sql))) yield* there.sql`DROP TABLE usage_events_first`
        write(bad, sealed(changed({ usageDroppedUntil: "2001-01-01 00:00:00+00" })))
        assert.strictEqual((yield* atDestination(`import --file ${bad}`)).code, 0)
        const [{ at } = {}] = yield* there.sql<{ at: Date }>`SELECT dropped_until AS at FROM usage_retention`
        assert.deepStrictEqual(at, new Date("2001-01-01T00:00:00Z"))
        const keyless = yield* there.sql`
          SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'usage_events'::regclass
            AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = inhrelid AND indisprimary)`
        assert.deepStrictEqual(keyless, [])
      }).pipe(Effect.scoped),
    240_000,
  )

  it.effect(
    "an export of an organization that changes meanwhile fails, and leaves no file",
    () =>
      Effect.gen(function* () {
        const { core, tenant } = yield* TestService
        const sql = yield* PgClient.PgClient
        const { atSource, file } = yield* moving
        const { organizationId, token } = yield* tenant()
        const [organization] = yield* sql<{ slug: string }>`SELECT slug FROM organizations WHERE id = ${organizationId}`
        const writing = Effect.forever(
          Effect.delay(
            core("POST", "/components", { token, body: { name: crypto.randomUUID(), version: "1" } }),
            "100 millis",
          ),
        )
        const busy = yield* Effect.raceFirst(
          atSource(`export --organization ${organization?.slug} --file ${file} --watch 3s`),
          writing,
        )
        assert.strictEqual(busy.code, 1)
        assert.match(busy.stderr, /The organization changed while it was exported: .*components.*event/)
        assert.isFalse(existsSync(file) || existsSync(`${file}.part`))
        const unknown = yield* atSource(`export --organization unknown --file ${file}`)
        assert.include(unknown.stderr, 'There is no organization with the slug "unknown".')
        assert.isFalse(existsSync(file))
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect(
    "people who are known at the destination keep their id there",
    () =>
      Effect.gen(function* () {
        const { core, operator, platform, tenant } = yield* TestService
        const sql = yield* PgClient.PgClient
        const { atDestination, atSource, file, there } = yield* moving
        const { organizationId, token } = yield* tenant()
        const [organization] = yield* sql<{ slug: string }>`SELECT slug FROM organizations WHERE id = ${organizationId}`
        for (const [name, subject] of [
          ["Ada", "ada"],
          ["Bob", "bob"],
        ]) {
          const user = yield* platform("POST", "/platform/users", { token: operator, body: { name } })
          yield* sql`UPDATE users SET issuer = 'https://id.example', subject = ${subject ?? ""} WHERE id = ${user.body.id}`
          yield* platform("POST", `/platform/organizations/${organizationId}/memberships`, {
            token: operator,
            body: { userId: user.body.id, role: "ADMIN" },
          })
        }
        const { service } = there
        const ada = yield* service.platform("POST", "/platform/users", {
          token: service.operator,
          body: { name: "Ada" },
        })
        yield* there.sql`UPDATE users SET issuer = 'https://id.example', subject = 'ada' WHERE id = ${ada.body.id}`
        yield* core("GET", "/events/checkpoint", { token })
        const exported = yield* atSource(`export --organization ${organization?.slug} --file ${file} --watch 1s`)
        assert.strictEqual(exported.code, 0, exported.stderr)
        const imported = yield* atDestination(`import --file ${file}`)
        assert.strictEqual(imported.code, 0, imported.stderr)
        const members = yield* there.sql<{ name: string; id: string }>`
        SELECT users.name, users.id FROM memberships JOIN users ON users.id = user_id WHERE organization_id = ${organizationId}`
        assert.strictEqual(members.find(({ name }) => name === "Ada")?.id, ada.body.id)
        assert.strictEqual(members.length, 2)
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect("moves every table that has rows of organizations", () =>
    Effect.gen(function* () {
      const { ordered, unknown } = yield* Effect.flatMap(MoveRepo, (repo) => repo.tables).pipe(
        Effect.provide(MoveRepo.layer),
      )
      assert.deepStrictEqual(unknown, [])
      assert.deepStrictEqual(ordered.slice(1).toSorted(), yield* tables)
      const sql = yield* PgClient.PgClient
      yield* sql`CREATE TABLE forgotten (organization_id uuid NOT NULL)`
      const found = yield* Effect.flatMap(MoveRepo, (repo) => repo.tables).pipe(Effect.provide(MoveRepo.layer))
      assert.deepStrictEqual(found.unknown, ["forgotten"])
      yield* sql`DROP TABLE forgotten`
    }),
  )
})
