/** An upgrade as `docs/upgrading.md` describes it: a process of the previous release and one of this version, on one database. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { emptyDatabase, query } from "../cli/database.ts"
import { shell } from "../cli/shell.ts"
import { request } from "../support/http.ts"
import { dump, missingPgPrograms } from "../support/pgPrograms.ts"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { withReason } from "../support/skipped.ts"
import { previousRelease, release, whyNoRelease } from "./previousRelease.ts"

const whyNot = await Effect.runPromise(whyNoRelease)

/** Two processes' settings for one database. */
const world = Effect.gen(function* () {
  const url = yield* emptyDatabase
  const credential = randomCredential()
  const shared = {
    SERVICE_DATABASE_URL: Redacted.value(url),
    SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
  }
  const own = Effect.gen(function* () {
    return { ...(yield* settings(yield* temporaryDirectory, credential)), ...shared }
  })
  return { credential, older: yield* own, newer: yield* own, entry: yield* previousRelease, url }
})

const startReady = Effect.fnUntraced(function* (env: Record<string, string>, entry?: string) {
  const service = yield* start(["serve"], env, entry)
  yield* service.ready
  return service
})

/** Sends requests that must succeed. */
const caller = (origin: string, token: string) =>
  Effect.fnUntraced(function* (method: string, path: string, body?: unknown) {
    const options = { token, ...(body === undefined ? {} : { body }) }
    const response = yield* Effect.promise(() => request(method, `${origin}/api${path}`, options))
    assert.isBelow(response.status, 300, `${method} ${origin}${path}: ${response.text}`)
    return response.body
  })

/** Creates a customer with an idempotency key through a gateway, which forwards its own name as `Host`. Returns the response. */
const orderAt = (origin: string, token: string) =>
  Effect.promise(
    () =>
      new Promise<string>((done, fail) => {
        const headers = {
          host: "keyshelf.example",
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": "order-1",
        }
        const sent = httpRequest(`${origin}/api/customers`, { method: "POST", headers }, (response) => {
          text(response).then((body) => done(`${response.statusCode} ${body}`), fail)
        })
        sent.once("error", fail).end(JSON.stringify({ name: "Initech", slug: "initech" }))
      }),
  )

/** A process of the previous release, with an organization that sells seats. */
const shopOfOld = Effect.gen(function* () {
  const { credential, entry, newer, older, url } = yield* world
  const first = yield* startReady(older, entry)
  const operate = caller(first.platform, credential)
  const organization = yield* operate("POST", "/platform/organizations", { name: "Acme" })
  const { token } = yield* operate("POST", `/platform/organizations/${organization.id}/tokens`, { name: "first" })
  const old = caller(first.core, token)
  yield* old("POST", "/entitlements", { name: "Seats", slug: "seats", type: "NUMBER" })
  const family = yield* old("POST", "/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* old("POST", "/licenses/pro/entitlements", { entitlementSlug: "seats", value: 100 })
  const customer = yield* old("POST", "/customers", { name: "Globex", slug: "globex" })
  yield* old("POST", "/instances", {
    name: "Prod",
    slug: "prod",
    customerId: customer.id,
    licenseId: family.id,
    startLicenseDate: "2026-01-01T00:00:00Z",
    endLicenseDate: "2099-01-01T00:00:00Z",
  })
  return { entry, first, newer, old, older, token, url }
})

const whyNoDump = await Effect.runPromise(missingPgPrograms)

/** What the old process answers to checks as of a time, as the file of answers that a version with `upgrade record` writes. */
const recordedBy = Effect.fnUntraced(function* (old: ReturnType<typeof caller>, backup: string, at: string) {
  const digest = createHash("sha256").update(readFileSync(backup)).digest("hex")
  const lines: Array<object> = [{ version: release?.version, backup: digest, at }]
  for (const requested of [0, 1, 60, 61]) {
    const body = { at, checks: [{ entitlement: "seats", requested }] }
    const { checks: answers, graceEndsAt, license } = yield* old("POST", "/instances/prod/check", body)
    const [{ entitlement, ...answer }] = answers
    lines.push({
      organization: "acme",
      instance: "prod",
      entitlement,
      requested,
      answer: { license, graceEndsAt, ...answer },
    })
  }
  return lines.map((line) => JSON.stringify(line)).join("\n")
})

const checks = (requested: number) => ({ checks: [{ entitlement: "seats", requested }] })

describe.skipIf(whyNot !== undefined)(
  withReason("a process of the previous release", whyNot),
  { timeout: 180_000 },
  () => {
    it.live("serves beside one of this version, and alone again after it", () =>
      Effect.gen(function* () {
        const { entry, first, newer, old, older, token } = yield* shopOfOld
        const order = yield* orderAt(first.core, token)

        // The new version migrates the database while the old process serves.
        const second = yield* startReady(newer)
        const young = caller(second.core, token)
        for (const send of [old, young, old]) {
          const { checks: answers } = yield* send("POST", "/instances/prod/check", { ...checks(1), consume: true })
          assert.isTrue(answers[0].allowed)
        }
        assert.deepStrictEqual(yield* orderAt(second.core, token), order)

        // Each works on what the other wrote.
        const changed = yield* young("PATCH", "/instances/prod", { endLicenseDate: null, graceDays: 7 })
        assert.deepStrictEqual([changed.endLicenseDate, changed.graceDays], [null, 7])
        assert.isNull((yield* old("GET", "/instances/prod")).endLicenseDate)
        yield* old("PATCH", "/instances/prod", { description: "By the old process" })
        const kept = yield* young("GET", "/instances/prod")
        assert.deepStrictEqual([kept.description, kept.graceDays], ["By the old process", 7])
        yield* young("PUT", "/licenses/pro", { graceDays: 3 })
        yield* old("PUT", "/licenses/pro", { name: "Pro 2" })
        assert.strictEqual((yield* young("GET", "/licenses/pro")).graceDays, 3)
        yield* old("POST", "/licenses", { name: "Team", slug: "team", type: "PAID" })
        assert.strictEqual((yield* young("GET", "/licenses/team")).graceDays, 0)

        // Both see the same events, with the values before them.
        const types = (items: ReadonlyArray<{ readonly type: string }>) => items.map(({ type }) => type)
        const { items } = yield* young("GET", "/events?limit=200")
        assert.deepStrictEqual(types((yield* old("GET", "/events?limit=200")).items), types(items))
        assert.deepStrictEqual(
          items
            .filter(({ type }: { type: string }) => type === "INSTANCE_UPDATED")
            .map(({ previous }: { previous?: object }) => Object.keys(previous ?? {})),
          [["endLicenseDate", "graceDays"], ["description"]],
        )

        // Both count towards one limit: of 97 that are left, one at a time, 97 are allowed.
        const take = (send: typeof old) => send("POST", "/instances/prod/check", { ...checks(1), consume: true })
        const answers = yield* Effect.forEach(
          Array.from({ length: 120 }, (_, number) => (number % 2 === 0 ? old : young)),
          take,
          { concurrency: 16 },
        )
        assert.strictEqual(answers.filter(({ checks: [answer] }) => answer.allowed).length, 97)

        // The way back: the old process alone, on the schema of this version.
        second.process.kill("SIGTERM")
        yield* second.ended
        first.process.kill("SIGTERM")
        yield* first.ended
        yield* startReady(older, entry)
        const [answer] = (yield* old("POST", "/instances/prod/check", checks(0))).checks
        assert.deepStrictEqual([answer.allowed, answer.usage], [true, 100])
      }).pipe(Effect.scoped),
    )

    it.live("changes what this version wrote, and the other way round", () =>
      Effect.gen(function* () {
        const { first, newer, old, token } = yield* shopOfOld
        yield* old("POST", "/instances/prod/entitlements/seats/usage", { value: 5, transactionId: "by-old" })
        const second = yield* startReady(newer)
        const young = caller(second.core, token)

        // A license key is a token for both.
        const key = yield* young("POST", "/instances/prod/keys", { name: "Prod" })
        const withKey = (origin: string) =>
          Effect.promise(() =>
            request("POST", `${origin}/api/instances/prod/check`, { token: key.token, body: checks(1) }),
          )
        assert.strictEqual((yield* withKey(first.core)).status, 200)
        assert.strictEqual((yield* withKey(second.core)).status, 200)

        // Changes of the old process keep overrides, and an end date that it sets emits its event.
        const override = "/instances/prod/entitlements/seats/override"
        yield* young("PUT", override, { mode: "ADD", value: 10, reason: "A gift" })
        const soon = new Date(Date.now() + 3_600_000).toISOString()
        yield* old("PATCH", "/instances/prod", { endLicenseDate: soon })
        assert.strictEqual((yield* young("GET", override)).value, 10)
        const [limited] = (yield* young("POST", "/instances/prod/check", checks(1))).checks
        assert.deepStrictEqual([limited.limit, limited.usage], [110, 5])
        const told = yield* Effect.repeat(young("GET", "/events?type=INSTANCE_TERM_ENDING"), {
          until: ({ items }) => items.length > 0,
          schedule: Schedule.spaced("200 millis"),
        })
        assert.strictEqual(told.items[0].data.slug, "prod")

        // Usage that the old process counted can be seen and voided, and goes on there.
        const usage = "/instances/prod/entitlements/seats/usage"
        const [event] = (yield* young("GET", `${usage}/events`)).items
        assert.deepStrictEqual([event.value, event.transactionId], [5, "by-old"])
        yield* young("DELETE", `${usage}/events/${event.id}`)
        const { usageValue } = yield* old("POST", usage, { value: 2 })
        assert.deepStrictEqual(usageValue, { type: "number", value: 2, event_count: 1 })
        assert.deepStrictEqual((yield* young("GET", usage)).usageValue, { type: "number", value: 2, event_count: 1 })

        // The old process works with an instance that was moved.
        const pro2 = yield* young("POST", "/licenses", { name: "Team", slug: "team", type: "PAID" })
        const moved = yield* young("POST", "/licenses/pro/migrations", { toLicenseSlug: "team" })
        yield* Effect.repeat(young("GET", `/license-migrations/${moved.id}`), {
          until: ({ state }) => state === "DONE",
          schedule: Schedule.spaced("100 millis"),
        })
        assert.strictEqual((yield* old("GET", "/instances/prod")).licenseId, pro2.id)
      }).pipe(Effect.scoped),
    )

    it.live("leaves room for tranches of this version: both allow what is left, and settle what was spent", () =>
      Effect.gen(function* () {
        const { first, newer, old, token } = yield* shopOfOld
        const second = yield* startReady(newer)
        const young = caller(second.core, token)
        const source = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"
        const tranches = [{ entitlement: "seats", need: "60" }]
        const refilled = yield* young("POST", "/instances/prod/tranches", { source, tranches })
        assert.deepStrictEqual([refilled.tranches[0].satisfied, refilled.tranches[0].unspent], [true, "60"])

        const take = (send: typeof old) => send("POST", "/instances/prod/check", { ...checks(1), consume: true })
        const answers = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, number) => (number % 2 === 0 ? old : young)),
          take,
          { concurrency: 8 },
        )
        assert.strictEqual(answers.filter(({ checks: [answer] }) => answer.allowed).length, 40)
        // A need that does not fit is not granted, by what the old process counted.
        const more = { source, tranches: [{ entitlement: "seats", keep: "60", need: "61" }] }
        assert.isFalse((yield* young("POST", "/instances/prod/tranches", more)).tranches[0].satisfied)
        yield* young("POST", "/instances/prod/tranches", { source, tranches: [{ entitlement: "seats", keep: "10" }] })
        const [answer] = (yield* take(old)).checks
        assert.deepStrictEqual([answer.allowed, answer.usage, answer.remaining], [true, 41, 49])
        const seen = yield* Effect.promise(() => request("GET", `${first.core}/api/instances/prod/tranches`, { token }))
        assert.strictEqual(seen.status, 404)
      }).pipe(Effect.scoped),
    )

    it.live.skipIf(whyNoDump !== undefined)(
      withReason(
        "is followed by this version with the same decisions: an upgrade of its backup is rehearsed",
        whyNoDump,
      ),
      () =>
        Effect.gen(function* () {
          const { old, url } = yield* shopOfOld
          yield* old("POST", "/instances/prod/entitlements/seats/usage", { value: 40 })
          const directory = yield* temporaryDirectory
          const backup = yield* dump(url, join(directory, "old.dump"))
          const [row] = yield* query(
            url,
            "SELECT to_json(greatest((SELECT max(occurred_at) FROM events), (SELECT max(reported_at) FROM usage_events))) AS at",
          )
          const at = new Date((row as { readonly at: string }).at).toISOString()
          const answers = join(directory, "answers.jsonl")
          const recorded = yield* recordedBy(old, backup, at)
          writeFileSync(answers, recorded)
          const rehearse = Effect.fnUntraced(function* () {
            const copy = Redacted.value(yield* emptyDatabase)
            return yield* shell(
              `keyshelf upgrade rehearse --backup ${backup} --into ${copy} --answers ${answers} --json`,
              {},
            )
          })
          const { code, stderr, stdout } = yield* rehearse()
          assert.strictEqual(code, 0, stdout + stderr)
          const { checks: decided, from, migrations } = JSON.parse(stdout)
          assert.deepStrictEqual([from, decided.compared, decided.differing], [release?.version, 4, []])
          assert.isNotEmpty(migrations)

          writeFileSync(answers, recorded.replace('"LIMIT_REACHED"', '"GRANTED"'))
          assert.strictEqual((yield* rehearse()).code, 1)
        }).pipe(Effect.scoped),
    )
  },
)
