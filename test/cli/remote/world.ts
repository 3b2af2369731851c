/** What the tests of remote commands begin with. */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { join } from "node:path"
import { randomCredential, settings, start, temporaryDirectory } from "../../support/ServiceProcess.ts"
import { shell } from "../shell.ts"

const Issued = Schema.fromJsonString(Schema.Struct({ token: Schema.String }))
const Created = Schema.fromJsonString(Schema.Struct({ id: Schema.String }))

/** A running service, and a user with a token of an organization of his own. */
export const world = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const operator = randomCredential()
  const env = yield* settings(directory, operator)
  const service = yield* start(["serve"], env)
  yield* service.ready
  const home = { XDG_CONFIG_HOME: join(directory, "config") }
  const asOperator = { ...home, KEYSHELF_URL: service.platform, KEYSHELF_TOKEN: operator }
  const created = yield* shell("keyshelf organizations create --name Acme --json", asOperator)
  const { id } = yield* Schema.decodeUnknownEffect(Created)(created.stdout)
  const minted = yield* shell(`keyshelf organization-tokens mint ${id} --name first --json`, asOperator)
  const { token } = yield* Schema.decodeUnknownEffect(Issued)(minted.stdout)
  const user = { ...home, KEYSHELF_URL: `${service.core}/api`, KEYSHELF_TOKEN: token }
  /** Runs a command line that must succeed. */
  const done = Effect.fnUntraced(function* (line: string) {
    const { code, stderr, stdout } = yield* shell(line, user)
    assert.strictEqual(code, 0, `${line}\n${stderr}`)
    return stdout
  })
  return { directory, env, home, operator, service, token, user, done }
})
