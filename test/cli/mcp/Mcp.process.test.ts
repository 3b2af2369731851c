/** `keyshelf mcp` as an assistant uses it: the command itself, over standard input and output, with a service. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../../support/TestService.ts"
import { shell } from "../shell.ts"
import { startAssistant } from "./assistant.ts"

const world = Effect.gen(function* () {
  const { core, origins, tenant, tokenWith } = yield* TestService
  const owner = yield* tenant()
  const post = (path: string, body: unknown) => core("POST", path, { token: owner.token, body })
  yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* post("/entitlements", { name: "Exports", slug: "exports", type: "NUMBER" })
  yield* post("/licenses/pro/entitlements", { entitlementSlug: "exports", value: 10 })
  yield* post("/customers", { name: "Globex", slug: "globex" })
  yield* post("/instances", {
    name: "Globex production",
    slug: "globex-prod",
    customerSlug: "globex",
    licenseSlug: "pro",
    startLicenseDate: "2026-01-01T00:00:00Z",
    endLicenseDate: "2099-01-01T00:00:00Z",
  })
  const start = (args: ReadonlyArray<string>, token: string) =>
    startAssistant(args, {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "",
      KEYSHELF_URL: origins.core,
      KEYSHELF_TOKEN: token,
    })
  const get = (path: string) => core("GET", path, { token: owner.token })
  return { get, owner, start, tokenWith: (scopes: ReadonlyArray<string>) => tokenWith(owner, scopes) }
})

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("keyshelf mcp", (it) => {
  it.effect(
    "a token that may only read has no tools that change something, also with --write, and output is protocol",
    () =>
      Effect.gen(function* () {
        const { start, tokenWith } = yield* world
        const token = yield* tokenWith(["read:customers", "read:instances"])
        const assistant = yield* start(["--write"], token)
        assert.strictEqual(assistant.protocolVersion, "2025-11-25")
        assert.include(assistant.instructions, "confirmation")
        const tools = yield* assistant.tools
        const names = tools.map(({ name }) => name)
        assert.includeMembers(names, ["getMe", "listCustomers", "getInstance", "checkInstance"])
        assert.notInclude(names, "createCustomer")
        assert.notInclude(names, "listLicenses")
        for (const { annotations, name } of tools) assert.isTrue(annotations.readOnlyHint, name)

        const listed = yield* assistant.call("listCustomers", { limit: 1 })
        assert.deepStrictEqual([listed.isError, listed.value.items[0].slug], [false, "globex"])
        const body = { checks: [{ entitlement: "exports", requested: 11 }], explain: true }
        const checked = yield* assistant.call("checkInstance", { instanceSlug: "globex-prod", body })
        assert.deepInclude(checked.value.checks[0], { allowed: false, reason: "LIMIT_REACHED", remaining: 10 })
        const consumed = yield* assistant.call("checkInstance", {
          instanceSlug: "globex-prod",
          body: { ...body, consume: true },
        })
        assert.deepStrictEqual([consumed.isError, consumed.value.errors[0].location], [true, "body.consume"])

        assert.strictEqual(yield* assistant.end, 0)
        assert.match(assistant.errors(), /^Keyshelf: \d+ tools for /)
        for (const line of assistant.output().trim().split("\n")) assert.strictEqual(JSON.parse(line).jsonrpc, "2.0")
        assert.notInclude(assistant.output() + assistant.errors(), token)
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect(
    "problems are errors of the tool, with their code, what to do, and the places",
    () =>
      Effect.gen(function* () {
        const { owner, start } = yield* world
        const assistant = yield* start([], owner.token)
        const missing = yield* assistant.call("getCustomer", { customerSlug: "nobody" })
        assert.isTrue(missing.isError)
        assert.deepInclude(missing.value, {
          code: "Customer.NotFound",
          status: 404,
          detail: 'There is no customer "nobody".',
        })
        const wrong = yield* assistant.call("listCustomers", { limit: 0 })
        assert.deepStrictEqual([wrong.isError, wrong.value.errors[0].location], [true, "query.limit"])
        const path = yield* assistant.call("getCustomer", { customerSlug: ".." })
        assert.deepStrictEqual([path.isError, path.value.code], [true, "Tool.InvalidArguments"])
        const unknown = yield* assistant.call("getCustomer", { slug: "globex" })
        assert.deepStrictEqual(
          unknown.value.errors.map(({ location, message }: Record<string, string>) => `${location}: ${message}`),
          ["slug: unknown argument", "customerSlug: required"],
        )
        assert.notInclude(
          (yield* assistant.tools).map(({ name }) => name),
          "deleteCustomer",
        )
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect(
    "a change is shown by a dry run first, and carried out once by its confirmation",
    () =>
      Effect.gen(function* () {
        const { get, owner, start } = yield* world
        const assistant = yield* start(["--write"], owner.token)
        const tool = (yield* assistant.tools).find(({ name }) => name === "updateLicenseEntitlement")
        assert.property(tool?.inputSchema.properties, "confirmation")
        assert.isFalse(tool?.annotations.readOnlyHint)

        const change = { licenseSlug: "pro", entitlementSlug: "exports", body: { value: 5 } }
        const shown = yield* assistant.call("updateLicenseEntitlement", change)
        assert.isFalse(shown.isError, JSON.stringify(shown.value))
        assert.property(shown.value.dryRun.impact, "turning")
        const granted = Effect.map(get("/licenses/pro/entitlements"), ({ body }) => body.items[0].value)
        assert.strictEqual(yield* granted, 10)

        const { confirmation } = shown.value
        const other = yield* assistant.call("updateLicenseEntitlement", { ...change, body: { value: 1 }, confirmation })
        assert.deepStrictEqual([other.isError, other.value.code], [true, "Confirmation.Refused"])
        const moved = yield* assistant.call("deleteCustomer", { customerSlug: "globex", confirmation })
        assert.strictEqual(moved.value.code, "Confirmation.Refused")
        assert.strictEqual(yield* granted, 10)

        const done = yield* assistant.call("updateLicenseEntitlement", { ...change, confirmation })
        assert.isFalse(done.isError, JSON.stringify(done.value))
        assert.strictEqual(yield* granted, 5)
        const again = yield* assistant.call("updateLicenseEntitlement", { ...change, confirmation })
        assert.strictEqual(again.value.code, "Confirmation.Refused")
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect(
    "a change without a dry run says so, and needs its confirmation too; a refused dry run gives none",
    () =>
      Effect.gen(function* () {
        const { get, owner, start } = yield* world
        const assistant = yield* start(["--write"], owner.token)
        const change = { body: { name: "Initech", slug: "initech" } }
        const shown = yield* assistant.call("createCustomer", change)
        assert.isNull(shown.value.dryRun)
        assert.include(shown.value.note, "no dry run")
        assert.deepStrictEqual(shown.value.request, { method: "POST", path: "/api/customers", ...change })
        assert.strictEqual((yield* get("/customers/initech")).status, 404)
        const done = yield* assistant.call("createCustomer", { ...change, confirmation: shown.value.confirmation })
        assert.strictEqual(done.value.slug, "initech")
        assert.strictEqual((yield* get("/customers/initech")).status, 200)

        const missing = yield* assistant.call("deleteCustomer", { customerSlug: "nobody" })
        assert.deepStrictEqual([missing.isError, missing.value.code], [true, "Customer.NotFound"])
        assert.notProperty(missing.value, "confirmation")
        assert.notInclude(assistant.output() + assistant.errors(), owner.token)
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect(
    "a wrong token, a platform credential and a stopped service end the command with a sentence and no output",
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const outcomes = [
          { url: origins.core, token: "ksh_wrong", code: 4, says: /Auth\.InvalidCredential/ },
          { url: origins.core, token: "ksm_wrong", code: 1, says: /needs a token of an organization/ },
          { url: "http://127.0.0.1:1", token: "ksh_any", code: 6, says: /No Keyshelf responds/ },
        ]
        for (const { code, says, token, url } of outcomes) {
          const env = { KEYSHELF_URL: url, KEYSHELF_TOKEN: token }
          const { stderr, stdout, ...ended } = yield* shell("keyshelf mcp", env)
          assert.deepStrictEqual([ended.code, stdout], [code, ""], stderr)
          assert.match(stderr, says)
          assert.notInclude(stderr, token)
        }
      }),
    120_000,
  )
})
