/**
 * A small product with a license: it exports jobs, and checks with Keyshelf what its instance may do.
 *
 *   npm install ./keyshelf-client-0.1.0.tgz
 *   KEYSHELF_URL=http://127.0.0.1:8080 KEYSHELF_TOKEN=ksh_... KEYSHELF_INSTANCE=globex-prod node product.ts anna job-1 job-2
 *
 * The token is a license key of the instance. Its license grants `sso` (BOOLEAN), `exports` and `rows` (NUMBER) and `editors`
 * (CONCURRENT). Run it again with the same jobs: they are charged once.
 */
import { createProductClient, FlushFailed, isProblem } from "@keyshelf/client/product"

const setting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`Set ${name}.`)
  return value
}

const instance = setting("KEYSHELF_INSTANCE")
const client = createProductClient({
  baseUrl: setting("KEYSHELF_URL"),
  token: setting("KEYSHELF_TOKEN"),
  timeoutMs: 5_000,
  // What the product decides by is stored here: it works on without the service, and starts without it.
  directory: process.env["KEYSHELF_DIRECTORY"] ?? "keyshelf",
})

const signInPage = async (): Promise<string> => {
  const sso = await client.check(instance, "sso")
  return sso.allowed ? "single sign-on" : "password"
}

const search = async (): Promise<string> => {
  const flags = await client.flags({ targetingKey: instance })
  return flags.boolean("new-search", false) ? "new" : "old"
}

const exportJob = async (job: string): Promise<string> => {
  // The job's id is the key: a job that is repeated, after a crash too, is charged once.
  const answer = await client.consume(instance, "exports", { idempotencyKey: job })
  if (!answer.allowed) return `not exported: ${answer.reason}`
  if (answer.source === "policy") return "exported; whether it was charged is not known yet"
  return `exported, ${answer.remaining} left`
}

const [user = "anna", ...jobs] = process.argv.slice(2)
console.log(`sign-in: ${await signInPage()}`)
console.log(`search: ${await search()}`)
const seat = await client.acquireSeat(instance, "editors", { holder: user, ttlSeconds: 60 }).catch((error: unknown) => {
  if (!isProblem(error, "AcquireLease.LimitReached")) throw error
  console.log(`no seat: ${error.detail}`)
  process.exit(1)
})
// Reports wait in a file: they survive a restart, and outages of the service.
const usage = await client.usageBuffer({ path: process.env["KEYSHELF_BUFFER"] ?? "usage.jsonl" })
try {
  for (const job of jobs) {
    console.log(`${job}: ${await exportJob(job)}`)
    await usage.report(instance, "rows", 250, { id: `${job}-rows` })
  }
  const { accepted, rejected } = await usage.flush()
  console.log(`reported: ${accepted} new, ${rejected.length} rejected`)
} catch (error) {
  if (!(error instanceof FlushFailed)) throw error
  console.log(`reported later: ${usage.size} wait (${error.message})`)
} finally {
  await usage.close()
  await seat.release()
  await client.close()
}
