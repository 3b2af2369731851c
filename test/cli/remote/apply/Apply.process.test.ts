import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { entitlements, flags, versions } from "../../../../src/demo/Names.ts"
import { shell } from "../../shell.ts"
import { temporaryDirectory } from "../../../support/temporaryDirectory.ts"
import { TestService } from "../../../support/TestService.ts"

const root = resolve(import.meta.dirname, "../../../..")
const example = join(root, "examples/catalog.yaml")

const Exported = Schema.fromJsonString(
  Schema.Record(Schema.String, Schema.Array(Schema.Record(Schema.String, Schema.Unknown))),
)

/** The catalogue of the demo, as its commands create it. */
const demo = {
  entitlements,
  licenseFamilies: [...new Set(versions.map(({ family }) => family))].map((family) => ({
    slug: family,
    versions: versions
      .filter((version) => version.family === family)
      .map(({ grants, isDefault, name, slug }) => ({
        slug,
        name,
        type: "PAID",
        ...(isDefault ? { isDefault } : {}),
        grants: Object.entries(grants).map(([entitlementSlug, value]) => ({
          entitlementSlug,
          value,
          ...(typeof value === "number" && value > 0 ? { overagePercent: 20 } : {}),
        })),
      })),
  })),
}

const MAX_TEST_MS = 240_000

/** A user with a token of an organization of its own, who can apply a text. */
const catalogueWorld = Effect.gen(function* () {
  const { origins, tenant } = yield* TestService
  const { token } = yield* tenant()
  const directory = yield* temporaryDirectory
  const user = { XDG_CONFIG_HOME: join(directory, "config"), KEYSHELF_URL: origins.core, KEYSHELF_TOKEN: token }
  const file = join(directory, "catalog.yaml")
  const apply = (text: string, flags = "", env: Record<string, string> = {}) => {
    writeFileSync(file, text)
    return shell(`keyshelf apply ${file} ${flags}`, { ...user, ...env })
  }
  /** Runs a command line that must succeed. */
  const done = Effect.fnUntraced(function* (line: string) {
    const { code, stderr, stdout } = yield* shell(line, user)
    assert.strictEqual(code, 0, `${line}\n${stderr}`)
    return stdout
  })
  return { directory, user, file, apply, done }
})

const license = (value: number, more = "") => `
entitlements:
  - { slug: seats, name: Seats, type: NUMBER }
licenseFamilies:
  - slug: pro
    versions:
      - slug: pro
        name: Pro
        type: PAID
        isDefault: true
        grants: [{ entitlementSlug: seats, value: ${value} }]
${more}`

/** Line and column of the last occurrence of a part of a text. */
const placeOf = (text: string, part: string): string => {
  const lines = text.slice(0, text.lastIndexOf(part)).split("\n")
  return `${lines.length}:${(lines.at(-1) ?? "").length + 1}`
}

layer(TestService.separate, { excludeTestServices: true })("a catalogue as code", (it) => {
  it.effect(
    "the demo's catalogue is applied to an empty organization, changes nothing again, and is exported as it was",
    () =>
      Effect.gen(function* () {
        const { done, user } = yield* catalogueWorld
        const planned = yield* shell(`keyshelf apply ${example} --dry-run`, user)
        assert.strictEqual(planned.code, 7, planned.stderr)
        assert.include(planned.stdout, "+ license version team-2: create\n")
        assert.include(planned.stdout, '    lifecycleState: "DRAFT" -> "PUBLISHED"\n')
        const unconfirmed = yield* shell(`keyshelf apply ${example}`, user)
        assert.strictEqual(unconfirmed.code, 1)
        assert.include(unconfirmed.stderr, "Add --yes")
        assert.strictEqual(yield* done("keyshelf entitlements list"), "")

        const applied = yield* shell(`keyshelf apply ${example} --yes`, user)
        assert.strictEqual(applied.code, 0, applied.stderr)
        assert.match(applied.stderr, /\n(\d+)\/\1 webhook endpoint .*: created\nMade \1 changes\.\n$/)
        assert.notInclude(applied.stdout + applied.stderr, "whsec_")
        const again = yield* shell(`keyshelf apply ${example} --prune --dry-run`, user)
        assert.deepStrictEqual([again.code, again.stdout, again.stderr], [0, "", "Nothing to change.\n"])

        const exported = yield* Schema.decodeUnknownEffect(Exported)(yield* done("keyshelf export --json"))
        assert.deepStrictEqual(
          exported["entitlements"],
          demo.entitlements.map((entitlement) => {
            // What is the default is not written.
            const { aggregationMethod, ...rest } = { aggregationMethod: undefined, ...entitlement }
            return aggregationMethod === undefined || aggregationMethod === "SUM"
              ? rest
              : { aggregationMethod, ...rest }
          }),
        )
        assert.deepStrictEqual(exported["licenseFamilies"], demo.licenseFamilies)
        assert.deepStrictEqual(
          exported["featureFlags"]?.map(({ key }) => key),
          [...flags],
        )
        const text = yield* done("keyshelf export")
        assert.match(text, /^# yaml-language-server: \$schema=http:\S+\/openapi\/catalog\.json\n/)
        const schema = yield* Effect.promise(async () => (await fetch(/\$schema=(\S+)/.exec(text)?.[1] ?? "")).text())
        assert.strictEqual(schema, readFileSync(join(root, "openapi/catalog.json"), "utf8"))
        const piped = yield* shell("keyshelf export | keyshelf apply - --prune --yes", user)
        assert.deepStrictEqual([piped.code, piped.stderr], [0, "Nothing to change.\n"])
      }).pipe(Effect.scoped),
    MAX_TEST_MS,
  )

  it.effect(
    "what others changed is shown and set back; what the file does not list is kept, or pruned",
    () =>
      Effect.gen(function* () {
        const { apply, done, user } = yield* catalogueWorld
        const file = license(5, "featureFlags: []\nmetadataFields: []\n")
        assert.strictEqual((yield* apply(file, "--yes")).code, 0)
        yield* done(`
        set -e
        keyshelf entitlements update seats --name Chairs
        keyshelf entitlements create --name Extra --slug extra --type BOOLEAN
        keyshelf flags create --key beta --type boolean
        keyshelf metadata-fields create --key site --label Site --resource-type INSTANCE --json-schema '{"type": "string"}'
        keyshelf licenses create --name "Pro 2" --slug pro-2 --family-slug pro --type PAID
        keyshelf grants add pro-2 --entitlement-slug extra --value true
        keyshelf licenses create --name "Draft" --slug pro-3 --family-slug pro --type PAID --lifecycle-state DRAFT`)

        const drift = yield* apply(file, "--dry-run")
        assert.strictEqual(drift.code, 7, drift.stderr)
        assert.match(
          drift.stdout,
          /~ entitlement seats: update {2}\(last changed by .* at 20.*\)\n {4}name: "Chairs" -> "Seats"/,
        )
        assert.match(
          drift.stdout,
          /Not in the file, and kept \(--prune removes them\):\n {2}metadata field INSTANCE site/,
        )
        assert.strictEqual(drift.stderr, "Would make 1 change.\n")

        const pruned = yield* apply(file, "--prune --yes")
        assert.strictEqual(pruned.code, 0, pruned.stderr)
        // An archived version still grants it, so the service keeps it.
        assert.include(pruned.stdout, "Kept: entitlement extra. 409 DeleteEntitlement.InUse")
        assert.deepStrictEqual(
          pruned.stderr.split("\n").map((line) => line.replace(/^\d+\/\d+ /, "")),
          [
            "entitlement seats: updated",
            "feature flag beta: deleted",
            "license version pro-2: archived",
            "license version pro-3: deleted",
            "metadata field INSTANCE site: archived",
            "Made 5 changes.",
            "",
          ],
        )
        assert.strictEqual((yield* apply(file, "--prune --dry-run")).code, 0)
        assert.match(yield* done("keyshelf licenses get pro-2"), /lifecycleState +ARCHIVED/)
        // The changed record shows who changed it if that was another identity.
        const other = yield* shell("keyshelf service-accounts create --name Other --slug other --json", user)
        assert.strictEqual(other.code, 0, other.stderr)
        const token = yield* done(
          'keyshelf tokens issue other --name t --scopes write:entitlements --json | sed -n \'s/.*"token": "\\(.*\\)".*/\\1/p\'',
        )
        const changed = yield* shell("keyshelf entitlements update seats --name Stools", {
          ...user,
          KEYSHELF_TOKEN: token.trim(),
        })
        assert.strictEqual(changed.code, 0, changed.stderr)
        assert.match((yield* apply(file, "--dry-run")).stdout, /\(last changed outside, by Other at 20/)
      }).pipe(Effect.scoped),
    MAX_TEST_MS,
  )

  it.effect(
    "the terms of a published version are refused with the fix, or become the draft that the file names",
    () =>
      Effect.gen(function* () {
        const { apply, done, file } = yield* catalogueWorld
        assert.strictEqual((yield* apply(license(5), "--yes")).code, 0)
        const refused = yield* apply(license(6), "--yes")
        assert.strictEqual(refused.code, 2)
        assert.include(
          refused.stderr,
          `${file}:7:9: license version pro: The version is published, so its terms are not changed`,
        )
        assert.include(refused.stderr, "add a new version with the new terms")
        assert.include(refused.stderr, "Nothing was changed: 1 difference cannot be applied.")
        assert.match(yield* done("keyshelf grants list pro"), /seats +5 /)

        const named = license(6).replace("isDefault: true", "isDefault: true\n        changesAsDraft: pro-2")
        const drafted = yield* apply(named, "--yes")
        assert.strictEqual(drafted.code, 0, drafted.stderr)
        assert.match(yield* done("keyshelf grants list pro && keyshelf grants list pro-2"), /seats +5 [\s\S]*seats +6 /)
        assert.match(yield* done("keyshelf licenses get pro-2"), /lifecycleState +DRAFT/)
        assert.strictEqual((yield* apply(named, "--dry-run --prune")).code, 0)
        const more = yield* apply(named.replace("value: 6", "value: 7"), "--yes")
        assert.include(more.stdout, 'grants.seats: {"value":6,"overagePercent":0} -> {"value":7,"overagePercent":0}')

        const retyped = license(5).replace("NUMBER", "BOOLEAN")
        const type = yield* apply(retyped, "--yes")
        assert.strictEqual(type.code, 2)
        assert.include(type.stderr, `${file}:${placeOf(retyped, "BOOLEAN")}: entitlement seats: type cannot be changed`)
      }).pipe(Effect.scoped),
    MAX_TEST_MS,
  )

  it.effect(
    "an apply that fails halfway says where, and the next one makes the rest",
    () =>
      Effect.gen(function* () {
        const { apply, done, file } = yield* catalogueWorld
        const flag = (value: string) =>
          license(5, `featureFlags:\n  - { key: beta, type: boolean, variants: [{ name: "on", value: ${value} }] }\n`)
        const failed = yield* apply(flag("yes-please"), "--yes")
        assert.strictEqual(failed.code, 2)
        assert.include(
          failed.stderr,
          `${file}:${placeOf(flag("yes-please"), "{ key: beta")}: Cannot create: feature flag beta. 422 Request.ValidationFailed`,
        )
        assert.include(failed.stderr, "Made 5 of 6 changes. Correct the cause, and run the same command again")
        const rest = yield* apply(flag("true"), "--yes")
        assert.strictEqual(rest.code, 0, rest.stderr)
        assert.include(rest.stderr, "1/1 feature flag beta: created")
        assert.match(yield* done("keyshelf licenses get pro"), /isDefault +true[\s\S]*lifecycleState +PUBLISHED/)
      }).pipe(Effect.scoped),
    MAX_TEST_MS,
  )

  it.effect(
    "a file that is wrong names line and column, before anything is asked",
    () =>
      Effect.gen(function* () {
        const { apply, file, user } = yield* catalogueWorld
        const offline = { KEYSHELF_URL: "http://127.0.0.1:9" }
        for (const [text, place, message] of [
          ["entitlements: [", "1:16", "Correct the YAML."],
          ["entitlements:\n  - slug: a\n", "2:11", "entitlements[0].slug: must be 2 to 100 characters"],
          ["entitlements:\n  - slug: seats\n    nam: Seats\n", "3:10", "entitlements[0].nam: unknown property"],
          ["licences: []\n", "1:11", "licences: unknown property"],
          ["- a\n", "1:1", "must be a mapping of sections"],
        ] as const) {
          const { code, stderr } = yield* apply(text, "", offline)
          assert.strictEqual(code, 1, stderr)
          assert.include(stderr, `${file}:${place}: `, text)
          assert.include(stderr, message, text)
        }
        const twice = `${license(5)}\nfeatureFlags: [{ key: beta, type: boolean }, { key: beta, type: boolean }]\n`
        const refused = yield* apply(twice.replace("entitlementSlug: seats", "entitlementSlug: chairs"), "--dry-run")
        assert.strictEqual(refused.code, 2)
        assert.include(
          refused.stderr,
          `${file}:${placeOf(twice, "beta")}: feature flag beta: The file lists this twice.`,
        )
        assert.include(
          refused.stderr,
          `${file}:${placeOf(twice, "seats, value")}: license version pro: There is no entitlement chairs`,
        )
        const missing = yield* shell("keyshelf apply nowhere.yaml", user)
        assert.deepStrictEqual([missing.code, missing.stderr.includes("nowhere.yaml")], [1, true])
        const away = yield* apply(license(5), "--dry-run", offline)
        assert.strictEqual(away.code, 6)
      }).pipe(Effect.scoped),
    MAX_TEST_MS,
  )

  it.effect(
    "secrets are read from the environment, and are never printed or exported",
    () =>
      Effect.gen(function* () {
        const { apply, done, user } = yield* catalogueWorld
        const SECRET = "pat-eu1-catalogue-secret"
        const name = "service.integration.crm.hubspot"
        const connector = (token: string, user = "") => `
connectors:
  - connectorName: ${name}
    settings: { accessToken: ${token} }
webhooks:
  - { url: "https://${user}example.com/hook", eventNames: ["*"] }
`
        const outputs: Array<string> = []
        const run = Effect.fnUntraced(function* (text: string, flags: string, env: Record<string, string> = {}) {
          const result = yield* apply(text, flags, env)
          outputs.push(result.stdout, result.stderr)
          return result
        })
        const plain = yield* run(connector(SECRET), "--yes")
        assert.strictEqual(plain.code, 2)
        assert.include(plain.stderr, "This is a secret, which the file must not contain.")
        const unset = yield* run(connector('"${HUBSPOT_TOKEN}"'), "--yes")
        assert.strictEqual(unset.code, 2)
        assert.include(unset.stderr, "The environment variable HUBSPOT_TOKEN is not set.")
        // The service refuses such a URL.
        const password = yield* run(connector('"${HUBSPOT_TOKEN}"', "user:p4ssw0rd@"), "--yes", {
          HUBSPOT_TOKEN: SECRET,
        })
        assert.strictEqual(password.code, 2)
        assert.include(password.stderr, "https://user:***@example.com/hook. 422")
        const applied = yield* run(connector('"${HUBSPOT_TOKEN}"'), "--yes", { HUBSPOT_TOKEN: SECRET })
        assert.strictEqual(applied.code, 0, applied.stderr)
        const again = yield* run(connector('"${HUBSPOT_TOKEN}"'), "--dry-run --json", { HUBSPOT_TOKEN: SECRET })
        assert.strictEqual(again.code, 0, again.stdout)
        assert.strictEqual((yield* run("connectors: []\nwebhooks: []\n", "--prune --dry-run --json")).code, 7)
        const exported = yield* done("keyshelf export --section connectors")
        assert.include(exported, name)
        assert.notInclude(exported, "accessToken")
        outputs.push(exported)
        const unchanged = yield* shell(
          "keyshelf export --section connectors | keyshelf apply - --prune --dry-run",
          user,
        )
        assert.strictEqual(unchanged.code, 0, unchanged.stdout)
        for (const output of outputs) {
          assert.notInclude(output, SECRET)
          assert.notInclude(output, "p4ssw0rd")
          assert.notInclude(output, "whsec_")
        }
      }).pipe(Effect.scoped),
    MAX_TEST_MS,
  )
})
