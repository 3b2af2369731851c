/** A user of the command line, with a token of an organization of its own. */
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { TestService } from "../../support/TestService.ts"
import { shell } from "../shell.ts"

export const commandLine = Effect.gen(function* () {
  const { core, origins, tenant } = yield* TestService
  const owner = yield* tenant()
  const directory = yield* temporaryDirectory
  const user: Record<string, string> = {
    XDG_CONFIG_HOME: join(directory, "config"),
    KEYSHELF_URL: origins.core,
    KEYSHELF_TOKEN: owner.token,
  }
  return {
    directory,
    origins,
    token: owner.token,
    user,
    /** Runs a command line in the directory. */
    run: (line: string, env: Record<string, string> = {}) => shell(`cd ${directory}; ${line}`, { ...user, ...env }),
    write: (name: string, content: string | Uint8Array) => writeFileSync(join(directory, name), content),
    get: (path: string) => core("GET", path, { token: owner.token }),
    post: (path: string, body: unknown) => core("POST", path, { token: owner.token, body }),
  }
})
