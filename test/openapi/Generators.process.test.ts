/** What others make of the documents (contract, part 2, section 10, "OpenAPI"): generated clients, and a linter. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { rolldown } from "rolldown"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestService } from "../support/TestService.ts"
import { documentFiles, runTool, whyNoTools, withTools } from "./tools.ts"

const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  skipLibCheck: false,
  module: "preserve",
  target: "es2023",
  lib: ["es2023", "dom", "dom.iterable"],
  types: [],
  noEmit: true,
  allowImportingTsExtensions: true,
}

const run = (...args: Parameters<typeof runTool>) =>
  Effect.promise(async () => {
    const { code, stderr, stdout } = await runTool(...args)
    assert.strictEqual(code, 0, stdout + stderr)
    return stdout + stderr
  })

/** Compiles a program against what was generated in the same folder. */
const compile = (folder: string, program: string, options: object = {}) =>
  Effect.gen(function* () {
    const write = (name: string, text: string) => Effect.promise(() => writeFile(join(folder, name), text))
    yield* write("tsconfig.json", JSON.stringify({ compilerOptions: { ...STRICT, ...options }, include: ["**/*.ts"] }))
    yield* write("program.ts", program)
    yield* run("tsc", ["--project", "."], folder)
  })

const WITH_TYPES = `
import type { components, operations } from "./core.ts"
import type { components as Platform } from "./platform.ts"
import type { components as Webhooks } from "./webhooks.ts"

type Customer = components["schemas"]["Customer"]
type Payload = Webhooks["schemas"]["CustomerCreationEvent"] | Webhooks["schemas"]["InstanceDeletedEvent"]

export const body: components["schemas"]["CreateCustomer"] = { name: "Globex" }
export const query: operations["listCustomers"]["parameters"]["query"] = { q: "glo", limit: 10 }
// @ts-expect-error -- a misspelt filter does not compile
export const misspelt: operations["listCustomers"]["parameters"]["query"] = { domian: "globex.example" }
export const nameOf = (customer: Customer): string => customer.domain ?? customer.name
export const organizationOf = ({ externalId }: Platform["schemas"]["Organization"]): string | null => externalId
export const slugOf = (event: Payload): string =>
  event.type === "CUSTOMER_CREATION" ? event.data.slug : event.data.customerSlug ?? event.actor.name
`

const WITH_CLIENT = `
import { client } from "./core/client.gen"
import { createCustomer, getCustomer, listCustomers } from "./core/sdk.gen"
import type { Customer } from "./core/types.gen"

export const use = async (baseUrl: string, token: string) => {
  client.setConfig({ baseUrl, auth: token })
  const created = await createCustomer({ body: { name: "Globex" }, throwOnError: true })
  const customer: Customer = created.data
  const list = await listCustomers({ query: { q: "glo" }, throwOnError: true })
  const missing = await getCustomer({ path: { customerSlug: "initech" } })
  return {
    created: customer.slug,
    listed: list.data.items.map((item) => item.slug),
    missing: missing.error?.code,
  }
}
`

describe.skipIf(whyNoTools !== undefined)(withTools("the committed documents"), { timeout: 240_000 }, () => {
  for (const { file, name } of documentFiles) {
    it.effect(`a linter with strict rules finds neither an error nor a warning in ${name}`, () =>
      Effect.gen(function* () {
        const output = yield* run("redocly", ["lint", "--extends", "recommended-strict", file], ".")
        assert.include(output, "valid")
        assert.notMatch(output, /warning/i)
      }),
    )
  }

  it.effect("types of openapi-typescript compile under strict rules, and name what people know", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryDirectory
      for (const { file, name } of documentFiles) {
        yield* run("openapi-typescript", [file, "--output", join(folder, `${name}.ts`)], folder)
      }
      yield* compile(folder, WITH_TYPES, { exactOptionalPropertyTypes: true })
    }).pipe(Effect.scoped),
  )
})

layer(TestService.separate, { excludeTestServices: true })(withTools("a client of @hey-api/openapi-ts"), (it) => {
  it.effect.skipIf(whyNoTools !== undefined)(
    "compiles under strict rules, and creates, lists and does not find a customer",
    () =>
      Effect.gen(function* () {
        const { origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const folder = yield* temporaryDirectory
        for (const { file, name } of documentFiles) {
          yield* run("openapi-ts", ["--input", file, "--output", join(folder, name), "--no-log-file"], folder)
        }
        yield* compile(folder, WITH_CLIENT)
        const used = yield* Effect.promise(async () => {
          const bundle = await rolldown({ input: join(folder, "program.ts") })
          await bundle.write({ file: join(folder, "program.mjs") })
          const { use } = await import(pathToFileURL(join(folder, "program.mjs")).href)
          return use(origins.core, token)
        })
        assert.deepStrictEqual(used, { created: "globex", listed: ["globex"], missing: "Customer.NotFound" })
      }).pipe(Effect.scoped),
    240_000,
  )
})
