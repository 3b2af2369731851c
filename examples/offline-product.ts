/**
 * A product behind an air gap: it verifies a bundle, decides by it for a month of simulated time, keeps a ledger of
 * what it used, and uploads it.
 *
 * Run it on a new organization, because it creates a catalogue and a customer:
 *
 *   KEYSHELF_URL=http://127.0.0.1:8080 KEYSHELF_TOKEN=ksh_... node examples/offline-product.ts
 */
import { randomUUID } from "node:crypto"
import { appendFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decide, openLedger, periodAt, verifyBundle } from "keyshelf/offline"
import type { Claims, Ledger, PinnedKeys, State } from "keyshelf/offline"

const HOUR = 3_600
const DAY = 24 * HOUR

/** What the product does in an hour, if it may. A day of it is more than it is allowed. */
const EXPORTS_PER_HOUR = 6
const ALLOWED_PER_DAY = 100

// ---------------------------------------------------------------------------------------------------------------------
// The vendor's back office. It is online.

const setting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`Set ${name}.`)
  return value
}
const url = setting("KEYSHELF_URL")
const token = setting("KEYSHELF_TOKEN")

const call = async <Answer>(method: string, path: string, body?: object): Promise<Answer> => {
  const response = await fetch(`${url}/api${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text) as Answer
}

const sell = async (): Promise<void> => {
  await call("POST", "/entitlements", { name: "Exports", slug: "exports", type: "NUMBER", resetPeriod: "DAY" })
  await call("POST", "/licenses", { name: "Site", slug: "site", type: "PAID" })
  await call("POST", "/licenses/site/entitlements", { entitlementSlug: "exports", value: 500 })
  await call("POST", "/customers", { name: "Globex", slug: "globex" })
  await call("POST", "/instances", {
    name: "Globex mine",
    slug: "globex-mine",
    customerSlug: "globex",
    licenseSlug: "site",
    startLicenseDate: new Date(Date.now() - DAY * 1000),
    endLicenseDate: new Date(Date.now() + 365 * DAY * 1000),
  })
}

/** The files that a USB stick carries to the site. */
interface Stick {
  readonly bundle: string
}

const issue = (): Promise<Stick> =>
  call("POST", "/instances/globex-mine/offline-bundles", {
    ttlSeconds: 30 * DAY,
    graceSeconds: 2 * DAY,
    allowances: [{ entitlement: "exports", quantity: ALLOWED_PER_DAY }],
  })

// ---------------------------------------------------------------------------------------------------------------------
// The product. It has no network: a directory, a clock, and the vendor's keys in its build.

/** What is part of the product's build. */
interface Build {
  readonly keys: PinnedKeys
  readonly issuer: string
}

const writeWhole = (file: string, text: string): void => {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

class Product {
  readonly #build: Build
  readonly #directory: string
  #ledger: Ledger | undefined

  constructor(build: Build, directory: string) {
    this.#build = build
    this.#directory = directory
  }

  #file(name: string): string {
    return join(this.#directory, name)
  }

  #stored(name: string): string | undefined {
    return existsSync(this.#file(name)) ? readFileSync(this.#file(name), "utf8") : undefined
  }

  /** The lines of the ledger. Each was stored before the work that it counts was done. */
  get lines(): ReadonlyArray<string> {
    return this.#stored("ledger.ndjson")?.split("\n").slice(0, -1) ?? []
  }

  get source(): string {
    const stored = this.#stored("source.txt")
    if (stored !== undefined) return stored
    const source = `urn:keyshelf:ledger:${randomUUID()}`
    writeWhole(this.#file("source.txt"), source)
    return source
  }

  install({ bundle }: Stick): void {
    writeWhole(this.#file("bundle.txt"), bundle)
  }

  /**
   * The status of the bundle at a time, and its claims if it is valid. The new state is stored for the next
   * verification.
   */
  async verify(now: number): Promise<{ status: string; renewDue: boolean; claims?: Claims }> {
    const state = JSON.parse(this.#stored("state.json") ?? "null") as State | null
    const bundle = this.#stored("bundle.txt") ?? ""
    const verified = await verifyBundle(bundle, {
      ...this.#build,
      state,
      now,
      instance: "globex-mine",
      families: ["site"],
    })
    if (verified.status !== "VALID") return { status: verified.status, renewDue: true }
    writeWhole(this.#file("state.json"), JSON.stringify(verified.state))
    return { status: verified.status, renewDue: verified.renewDue, claims: verified.claims }
  }

  /** What the ledger has of the period of an instant. */
  #usedInPeriod(claims: Claims, at: Date): number {
    const period = periodAt(claims, "DAY/CALENDAR", at)
    if (period === null) throw new Error("The bundle has no period of this instant.")
    const start = Date.parse(period.start)
    const end = period.end === null ? Infinity : Date.parse(period.end)
    return this.lines
      .map((line) => JSON.parse(line) as { time: string; data: { value: number } })
      .filter(({ time }) => Date.parse(time) >= start && Date.parse(time) < end)
      .reduce((sum, { data }) => sum + data.value, 0)
  }

  /** Works for an hour, as far as that is allowed. Returns how many exports were made. */
  async work(claims: Claims, now: number): Promise<number> {
    const at = new Date(now * 1000)
    const used = this.#usedInPeriod(claims, at)
    const { remaining } = decide(claims, { entitlement: "exports", used: String(used), at })
    const made = Math.min(EXPORTS_PER_HOUR, Number(remaining ?? "0"))
    if (made === 0) return 0
    this.#ledger ??= await this.#openLedger()
    const event = { subject: "globex-mine", type: "exports", bundleId: claims.jti, value: made, time: at }
    const appended = await this.#ledger.append(event)
    if (appended.status !== "APPENDED") throw new Error(`The ledger answers ${appended.status}.`)
    appendFileSync(this.#file("ledger.ndjson"), `${appended.line}\n`)
    return made
  }

  async #openLedger(): Promise<Ledger> {
    const opened = await openLedger(this.source, { lines: this.lines })
    if (opened.status !== "OPEN") throw new Error(`The ledger answers ${opened.status}.`)
    return opened
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The story.

interface Upload {
  readonly accepted: number
  readonly duplicates: number
  readonly lines: number
  readonly overAllowance: ReadonlyArray<unknown>
}

/** Uploads the ledger, up to 1,000 lines at a time. */
const bringBack = async ({
  lines,
  source,
}: Product): Promise<{ accepted: number; duplicates: number; over: number }> => {
  const sum = { accepted: 0, duplicates: 0, over: 0 }
  for (let start = 0; start < lines.length; start += 500) {
    const part = { source, lines: lines.slice(start, start + 500) }
    const answer = await call<Upload>("POST", "/instances/globex-mine/offline-usage", part)
    sum.accepted += answer.accepted
    sum.duplicates += answer.duplicates
    sum.over += answer.overAllowance.length
  }
  return sum
}

await sell()
const stick = await issue()
const me = await call<{ organization: { id: string } }>("GET", "/me")
const build: Build = {
  issuer: `urn:keyshelf:organization:${me.organization.id}`,
  keys: await call<PinnedKeys>("GET", `/offline/${me.organization.id}/keys`),
}

const directory = mkdtempSync(join(tmpdir(), "keyshelf-site-"))
let product = new Product(build, directory)
product.install(stick)

const start = Math.floor(Date.now() / 1000)
let made = 0
let wanted = 0
let renewal: number | undefined
for (let hour = 0; hour < 31 * 24; hour++) {
  const now = start + hour * HOUR
  // On the tenth day the machine is switched off and on: all that it knows is in its directory.
  if (hour === 10 * 24) product = new Product(build, directory)
  const { claims, renewDue, status } = await product.verify(now)
  if (claims === undefined) throw new Error(`Hour ${hour}: ${status}`)
  if (renewDue) renewal ??= Math.floor(hour / 24)
  wanted += EXPORTS_PER_HOUR
  made += await product.work(claims, now)
}
console.log(`31 days: ${made} of ${wanted} exports made, ${product.lines.length} lines in the ledger`)
console.log(`From day ${renewal} on, the product asked for a new bundle`)
console.log(
  `With the clock turned back by three days, the bundle is ${(await product.verify(start + 28 * DAY)).status}`,
)
console.log(`After two more days, it is ${(await product.verify(start + 33 * DAY)).status}`)

// The stick comes back with the ledger. The first response gets lost, so everything is sent again.
const uploaded = await bringBack(product)
const repeated = await bringBack(product)
console.log(`Uploaded: ${uploaded.accepted} lines counted, ${uploaded.over} periods above the allowance`)
console.log(`Uploaded again: ${repeated.accepted} lines counted, ${repeated.duplicates} duplicates`)
const { items } = await call<{ items: ReadonlyArray<{ value: number }> }>(
  "GET",
  `/instances/globex-mine/entitlements/exports/usage/history?bucket=MONTH&from=${new Date((start - 31 * DAY) * 1000).toISOString()}&to=${new Date((start + 62 * DAY) * 1000).toISOString()}`,
)
console.log(`The service has counted ${items.reduce((sum, { value }) => sum + value, 0)} exports`)

// The next bundle goes to the site. It is newer, so the time remembered from the simulated month no longer counts.
product.install(await issue())
console.log(`The next bundle is ${(await product.verify(start)).status}`)
rmSync(directory, { recursive: true })
