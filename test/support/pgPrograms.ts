/** The programs of PostgreSQL that back up and restore. */
import { Effect, Redacted } from "effect"
import { spawnSync } from "node:child_process"
import { inject } from "vitest"
import { query } from "../cli/database.ts"

/** The reason why they cannot be used on the server of the tests, if there is one. */
export const missingPgPrograms = Effect.gen(function* () {
  const version = spawnSync("pg_dump", ["--version"], { encoding: "utf8" })
  if (version.status !== 0) return "pg_dump is not installed"
  const client = Number(/(\d+)/.exec(version.stdout)?.[1])
  const rows = yield* query(
    Redacted.make(inject("serverUrl")),
    "SELECT current_setting('server_version_num')::int AS v",
  )
  const server = Math.floor((rows[0] as { v: number }).v / 10_000)
  return client < server ? `pg_dump ${client} is older than the server, ${server}` : undefined
})

/** Writes a backup as `deploy/backup/backup.sh` does, without reading it back. */
export const dump = (url: Redacted.Redacted, file: string) =>
  Effect.sync(() => {
    const options = ["--format=custom", "--no-owner", "--no-privileges", `--file=${file}`]
    const { status, stderr } = spawnSync("pg_dump", [...options, `--dbname=${Redacted.value(url)}`], {
      encoding: "utf8",
    })
    if (status !== 0) throw new Error(stderr)
    return file
  })
