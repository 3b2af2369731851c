/** `keyshelf platform-credential`: manages the operator's credentials from the command line. */
import { Console, Effect, Layer, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AccessToken } from "../domains/access/Model.ts"
import { allScopes, PlatformCredentials } from "../domains/access/PlatformCredentials.ts"
import { bySystem, Operator, platformIdentity } from "../kernel/contract/Caller.ts"
import type { Page, PageRequest } from "../kernel/contract/Page.ts"
import { PlatformScope } from "../kernel/contract/Scope.ts"
import { now } from "../kernel/values/Timestamp.ts"
import { backend } from "../app/Process.ts"
import * as Logging from "../infra/telemetry/Logging.ts"
import { CommandFailed } from "./Failure.ts"
import { table } from "./Table.ts"
import { commandLine } from "../infra/PackageFiles.ts"

// A user who can run this command has the database and the keys, so no credential is required.
const asOperator = Effect.provideService(Operator, {
  credentialId: platformIdentity.id,
  ...bySystem,
  scopes: allScopes,
})

const all = Effect.fn(function* () {
  const credentials = yield* PlatformCredentials
  const items: Array<AccessToken> = []
  let request: PageRequest | undefined = { limit: 200 }
  while (request !== undefined) {
    const page: Page<AccessToken> = yield* Effect.orDie(credentials.list(request))
    items.push(...page.items)
    request = page.hasMore ? { limit: 200, cursor: page.nextCursor } : undefined
  }
  return items
})

const dated = (date: Date | null, otherwise: string) => date?.toISOString() ?? otherwise

/** The state of a credential, as the table shows it. */
const stateOf = (record: AccessToken, at: Date): string => {
  if (record.revokedAt !== null) return `revoked ${record.revokedAt.toISOString()}`
  return record.expiresAt !== null && record.expiresAt <= at ? "expired" : "works"
}

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(
      Flag.withDescription("Name of the credential, such as the system that uses it"),
      Flag.withDefault("operator"),
    ),
    scope: Flag.Literals("scope", PlatformScope.literals).pipe(
      Flag.withDescription("A scope; can be repeated. Default: all scopes"),
      Flag.withMetavar("scope"),
      Flag.between(0, 50),
    ),
  },
  Effect.fn(function* ({ name, scope }) {
    const credentials = yield* PlatformCredentials
    const issued = yield* credentials.createLocally({ name, scopes: scope.length === 0 ? allScopes : scope })
    // Only the token goes to standard output, so that a script can read it.
    yield* Console.error(`Platform credential "${issued.record.slug}", shown this once:`)
    yield* Console.log(Redacted.value(issued.token))
  }),
).pipe(
  Command.withDescription("Create a platform credential and print it once; standard output contains nothing else"),
  Command.withExamples([
    { command: "keyshelf platform-credential create --name terraform --scope write:organizations" },
  ]),
)

const list = Command.make(
  "list",
  {
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print the records as JSON"), Flag.withDefault(false)),
  },
  Effect.fn(function* ({ json }) {
    const records = yield* all()
    if (json) return yield* Console.log(JSON.stringify(records, null, 2))
    if (records.length === 0) {
      return yield* Console.log(
        `There is no platform credential. Create one with \`${commandLine("platform-credential create")}\`.`,
      )
    }
    const at = yield* now
    yield* Console.log(
      table(
        ["slug", "name", "scopes", "last four", "last used", "expires", "state"],
        records.map((record) => [
          record.slug,
          record.name,
          record.scopes.join(","),
          record.lastFour,
          dated(record.lastUsedAt, "never"),
          dated(record.expiresAt, "never"),
          stateOf(record, at),
        ]),
      ),
    )
  }),
).pipe(
  Command.withDescription(
    "List the platform credentials, newest first, including revoked ones. Secrets are not stored and cannot be listed",
  ),
)

const revoke = Command.make(
  "revoke",
  { slug: Argument.String("slug").pipe(Argument.withDescription("The slug, as shown by `platform-credential list`")) },
  Effect.fn(function* ({ slug }) {
    const credentials = yield* PlatformCredentials
    const before = (yield* all()).find((record) => record.slug === slug)
    yield* credentials.revoke(slug).pipe(
      asOperator,
      Effect.catchTag("PlatformCredential.NotFound", () =>
        Effect.fail(
          new CommandFailed({
            message: `No platform credential has the slug "${slug}". List them with \`${commandLine("platform-credential list")}\`.`,
          }),
        ),
      ),
    )
    if (before !== undefined && before.revokedAt !== null) {
      return yield* Console.log(`"${slug}" was already revoked at ${before.revokedAt.toISOString()}. Nothing changed.`)
    }
    yield* Console.log(`Revoked "${slug}" and every organization token that it issued.`)
    const at = yield* now
    if (!(yield* all()).some((record) => stateOf(record, at) === "works")) {
      yield* Console.error(
        `No valid platform credential is left. Create one with \`${commandLine("platform-credential create")}\`.`,
      )
    }
  }),
).pipe(
  Command.withDescription(
    "Revoke a platform credential and every organization token that it issued. Their next request fails, on every node",
  ),
)

export const credentialCommand = Command.make("platform-credential").pipe(
  Command.withDescription("Create, list and revoke the operator's credentials"),
  Command.withSubcommands([create, list, revoke]),
  Command.provide(Layer.merge(backend("attach"), Logging.layer)),
)
