/** Provides the database server of a test run with a migrated template, and inspects the databases that files shared. */
import { Effect, Exit, Redacted, Scope } from "effect"
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { onEachServer, ownSession } from "./Cluster.ts"
import { databaseUrl } from "./databaseUrl.ts"
import { inspect } from "./inspections.ts"
import { readRecord, RECORD_ENDING } from "./recorded.ts"
import { testServer } from "./testServer.ts"
import type { TestServer } from "./testServer.ts"

declare module "vitest" {
  interface ProvidedContext extends TestServer {
    /** A folder that test files share, and that is removed after the run. */
    readonly directory: string
  }
}

const inspectShared = async ({ serverUrl, serverUrls }: TestServer, directory: string) => {
  for (const file of (await readdir(directory)).filter((name) => name.endsWith(RECORD_ENDING))) {
    const recorded = readRecord(join(directory, file))
    for (const name of recorded.databases) {
      await Effect.runPromise(
        inspect(Redacted.make(databaseUrl(serverUrl, name)), recorded, ownSession).pipe(
          Effect.ensuring(Effect.orDie(onEachServer(serverUrls, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))),
        ),
      )
    }
  }
}

export default async function setup(project: TestProject) {
  const scope = Scope.makeUnsafe()
  const directory = await mkdtemp(join(tmpdir(), "keyshelf-test-"))
  // PostgreSQL runs as another user when the tests run as root.
  await chmod(directory, 0o755)
  const server = await Effect.runPromise(testServer(directory).pipe(Scope.provide(scope)))
  project.provide("serverUrl", server.serverUrl)
  project.provide("serverUrls", server.serverUrls)
  project.provide("template", server.template)
  project.provide("directory", directory)
  return async () => {
    try {
      await inspectShared(server, directory)
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await rm(directory, { recursive: true, force: true })
    }
  }
}
