/**
 * Starts a temporary PostgreSQL for the test run, or uses `TEST_DATABASE_URL` or the Citus coordinator in `TEST_CITUS_URL`, and
 * creates a migrated template.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Redacted, Scope } from "effect"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { distribute } from "../../src/infra/database/Distribution.ts"
import { migrate } from "../../src/infra/database/Migrations.ts"
import * as EmbeddedPostgres from "../../src/infra/embedded/EmbeddedPostgres.ts"
import { closeDatabase, joinNodes, onEachServer, serversOf } from "./Cluster.ts"
import { databaseUrl } from "./databaseUrl.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of the server, with superuser credentials. On Citus it is the coordinator. */
    serverUrl: string
    /** `serverUrl`, and on Citus the workers. */
    serverUrls: ReadonlyArray<string>
    /** The migrated database that each test file copies. */
    template: string
    /** A folder that test files share, and that is removed after the run. */
    directory: string
  }
}

export default async function setup(project: TestProject) {
  const scope = Scope.makeUnsafe()
  const cluster = process.env["TEST_CITUS_URL"]
  const given = cluster ?? process.env["TEST_DATABASE_URL"]
  const directory = await mkdtemp(join(tmpdir(), "keyshelf-test-"))
  // PostgreSQL runs as another user when the tests run as root.
  await chmod(directory, 0o755)
  const serverUrl =
    given ??
    Redacted.value(
      (
        await Effect.runPromise(
          EmbeddedPostgres.run({ dataDir: join(directory, "postgres"), whenRunning: "fail", durable: false }).pipe(
            Scope.provide(scope),
          ),
        )
      ).url,
    )
  const template = `keyshelf_template_${process.pid}`
  const serverUrls = cluster === undefined ? [serverUrl] : await Effect.runPromise(serversOf(cluster))
  const onServers = (statement: string) => Effect.runPromise(onEachServer(serverUrls, statement))
  await onServers(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`)
  await onServers(`CREATE DATABASE ${template}`)
  if (cluster !== undefined) await Effect.runPromise(joinNodes(serverUrls, template))
  await Effect.runPromise(
    Effect.andThen(migrate, distribute).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(databaseUrl(serverUrl, template)), maxConnections: 1 })),
    ),
  )
  if (cluster !== undefined) await Effect.runPromise(closeDatabase(serverUrls, template))
  project.provide("serverUrl", serverUrl)
  project.provide("serverUrls", serverUrls)
  project.provide("template", template)
  project.provide("directory", directory)
  return async () => {
    await onServers(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`)
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await rm(directory, { recursive: true, force: true })
  }
}
