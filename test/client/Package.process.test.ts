import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { copyFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { TestService } from "../support/TestService.ts"
import { bundleIn } from "./page.ts"
import { consumer, packed, root, run, strict, tsc, whyNoPackage, withPackage } from "./packed.ts"

const MAX_ARCHIVE_BYTES = 512 * 1024
const MAX_GZIPPED_BYTES = 10 * 1024
const FOR_NODE =
  /\/(product\/(Files|FileJournal|local\/NodeStreams|local\/SnapshotFiles)|machine\/(Files|LedgerFiles|Locks|Slots))\.js$/

/** A program of a customer of the Promise client. */
const PROGRAM = `
import { createClient, createWebhookClient, isProblem, paginate } from "@keyshelf/client"
import type { Core, CoreProblem, WebhookEvent } from "@keyshelf/client"

const [baseUrl = "", token = ""] = process.argv.slice(2)
const client = createClient({ baseUrl, token: async () => token })
const webhooks = createWebhookClient({ baseUrl, token })

for (const name of ["Globex", "Initech", "Umbrella"]) await client.createCustomer({ body: { name } })
const slugs: Array<string> = []
for await (const customer of paginate(client.listCustomers, { query: { limit: 1 } })) slugs.push(customer.slug)

const once = { body: { name: "Hooli" }, idempotencyKey: "order-4711" }
const first = await client.createCustomer(once)
let replayed: string | null = null
const second = await client.createCustomer({ ...once, onResponse: ({ headers }) => (replayed = headers.get("idempotent-replayed")) })

let missing: CoreProblem<"getCustomer">["code"] | undefined
try {
  await client.getCustomer({ path: { customerSlug: "nobody" } })
} catch (error) {
  if (isProblem(error, "Customer.NotFound")) missing = error.code
}
const wrong = await client.createCustomer({ body: { name: "" } }).catch((error: unknown) => error)
const deleted: undefined = await client.deleteCustomer({ path: { customerSlug: "umbrella" } })
const customer: Core["Customer"] = first
export const slugOf = (event: WebhookEvent): string => (event.type === "CUSTOMER_DELETED" ? event.data.slug : event.type)

console.log(JSON.stringify({
  slugs,
  same: customer.id === second.id,
  replayed,
  missing,
  wrong: isProblem(wrong) ? wrong.errors.map(({ location }) => location) : wrong,
  deleted: deleted === undefined,
  webhooks: (await webhooks.listWebhookEndpoints()).items.length,
}))
`

const ONE_OPERATION = `
import { createClient } from "@keyshelf/client"
export const isAllowed = async (baseUrl, token) => {
  const { checks } = await createClient({ baseUrl, token }).checkInstance({
    path: { instanceSlug: "globex-prod" },
    body: { checks: [{ entitlement: "api-calls" }] },
  })
  return checks.every(({ allowed }) => allowed)
}
`

describe.skipIf(whyNoPackage !== undefined)(withPackage("the packed client"), () => {
  it.effect("has no dependency, no binary, no module of Node.js and nothing of the server, and weighs little", () =>
    Effect.gen(function* () {
      const { installed, manifest } = yield* consumer({ effect: false })
      assert.notProperty(manifest, "dependencies")
      assert.notProperty(manifest, "bin")
      assert.isBelow(packed.size, MAX_ARCHIVE_BYTES)
      const paths = packed.files.map(({ path }) => path)
      assert.includeMembers(paths, ["package.json", "README.md", "LICENSE", "dist/clients/typescript/src/index.js"])
      for (const path of paths) {
        assert.match(path, /^(package\.json|README\.md|LICENSE|dist\/(clients|src|effect)\/.*\.(js|d\.ts))$/)
        assert.notMatch(path, /\/(Repo|Service|Http|Layer)\.js$/)
        // Files and streams of Node.js. A bundle for browsers does not contain these modules.
        if (!path.endsWith(".js") || FOR_NODE.test(path)) continue
        assert.notMatch(readFileSync(join(installed, path), "utf8"), /from "node:|\bBuffer\.|\bprocess\.\w/, path)
      }
    }).pipe(Effect.scoped),
  )

  it.effect("a bundle that calls one operation has at most 10 KB gzipped", () =>
    Effect.gen(function* () {
      const { directory } = yield* consumer({ effect: false })
      const code = yield* bundleIn(directory, ONE_OPERATION)
      assert.isBelow(gzipSync(code).byteLength, MAX_GZIPPED_BYTES)
      assert.notInclude(code, "/api/platform")
    }).pipe(Effect.scoped),
  )
})

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })(
  withPackage("the installed client"),
  (it) => {
    const packaged = it.effect.skipIf(whyNoPackage !== undefined)

    packaged(
      "a strict program creates, lists, repeats, deletes, and tells problems apart",
      () =>
        Effect.gen(function* () {
          const { origins, tenant } = yield* TestService
          const { token } = yield* tenant()
          const { directory } = yield* consumer({ effect: false })
          writeFileSync(join(directory, "program.ts"), PROGRAM)
          writeFileSync(
            join(directory, "globals.d.ts"),
            "declare const process: { readonly argv: ReadonlyArray<string> }",
          )
          const checked = yield* run(directory, [tsc, ...strict, "--types", "", "program.ts", "globals.d.ts"])
          assert.strictEqual(checked.code, 0, checked.output)
          const played = yield* run(directory, ["program.ts", origins.core, token])
          assert.strictEqual(played.code, 0, played.output)
          assert.deepStrictEqual(JSON.parse(played.output), {
            slugs: ["umbrella", "initech", "globex"],
            same: true,
            replayed: "true",
            missing: "Customer.NotFound",
            wrong: ["body.name"],
            deleted: true,
            webhooks: 0,
          })
        }),
      180_000,
    )

    packaged(
      "a misspelt filter, a missing path and a wrong body do not compile",
      () =>
        Effect.gen(function* () {
          const { directory } = yield* consumer({ effect: false })
          const calls = [
            `client.listCustomers({ query: { domian: "globex.example" } })`,
            `client.getCustomer()`,
            `client.createCustomer({ body: { title: "Globex" } })`,
          ]
          writeFileSync(
            join(directory, "wrong.ts"),
            `import { createClient } from "@keyshelf/client"\nconst client = createClient({ baseUrl: "", token: "" })\n${calls.join("\n")}`,
          )
          const { output } = yield* run(directory, [tsc, ...strict, "wrong.ts"])
          assert.deepStrictEqual(
            [...output.matchAll(/^wrong\.ts\((\d+)/gm)].map(([, line]) => Number(line)),
            [3, 4, 5],
            output,
          )
        }),
      180_000,
    )

    packaged(
      "the Effect client runs the example, and its types include each endpoint's problems",
      () =>
        Effect.gen(function* () {
          const { origins, tenant } = yield* TestService
          const { token } = yield* tenant()
          const { directory } = yield* consumer({ effect: true })
          copyFileSync(join(root, "examples/check-usage.ts"), join(directory, "check-usage.ts"))
          const played = yield* run(directory, ["check-usage.ts"], {
            KEYSHELF_URL: origins.core,
            KEYSHELF_TOKEN: token,
          })
          assert.strictEqual(played.code, 0, played.output)
          assert.deepStrictEqual(played.output.trim().split("\n"), [
            "checked: allowed=true reason=GRANTED remaining=100",
            "consumed: remaining=60",
            "reported: used=90 of 100",
            "rejected: ReportUsage.ThresholdExceeded",
            'not found: There is no instance "unknown".',
          ])

          // The same example with a tag that reading an instance cannot fail with must not compile.
          const example = readFileSync(join(directory, "check-usage.ts"), "utf8")
          writeFileSync(join(directory, "wrong.ts"), example.replace("Instance.NotFound", "Customer.NotFound"))
          const checked = yield* run(directory, [tsc, ...strict, "--skipLibCheck", "check-usage.ts", "wrong.ts"])
          const typeErrors = checked.output.split("\n").filter((line) => line.includes("error TS"))
          assert.isNotEmpty(typeErrors, checked.output)
          for (const error of typeErrors) assert.match(error, /^wrong\.ts/)
          assert.include(checked.output, "Customer.NotFound")
        }),
      180_000,
    )
  },
)
