/**
 * What the tests of a process did that inspections of a database need to know. A database that several files share is inspected
 * after its worker has ended, so the record is then also written to a file.
 */
import { appendFileSync, readFileSync } from "node:fs"
import { basename } from "node:path"

interface Entry {
  readonly database?: string
  /** Text that looks like a secret and is none. */
  readonly exempt?: string
  /** A file that invents events. */
  readonly inventing?: string
  /** An organization, and the test that created it. */
  readonly organization?: string
  readonly file?: string
  readonly test?: string
}

/** The test that created an organization. */
interface Origin {
  readonly file: string
  readonly test: string
}

/** A record of tests. */
export interface Recorded {
  readonly databases: Set<string>
  readonly exempt: Set<string>
  readonly inventing: Set<string>
  readonly organizations: Map<string, Origin>
}

const empty = (): Recorded => ({
  databases: new Set(),
  exempt: new Set(),
  inventing: new Set(),
  organizations: new Map(),
})

const add = (recorded: Recorded, { database, exempt, file = "", inventing, organization, test = "" }: Entry): void => {
  if (database !== undefined) recorded.databases.add(database)
  if (exempt !== undefined) recorded.exempt.add(exempt)
  if (inventing !== undefined) recorded.inventing.add(inventing)
  if (organization !== undefined && !recorded.organizations.has(organization))
    recorded.organizations.set(organization, { file, test })
}

/** The record of this process. */
export const recorded = empty()

/** The end of the name of a file with a record, in the directory that test files share. */
export const RECORD_ENDING = ".record.jsonl"

let sharedFile: string | undefined

/** Adds to the record of this process. */
export const record = (entry: Entry): void => {
  add(recorded, entry)
  if (sharedFile !== undefined) appendFileSync(sharedFile, `${JSON.stringify(entry)}\n`)
}

const noTest: Origin = { file: "", test: "" }
let runningTest = () => noTest

/** Sets how the running test is known. Without it, as outside of Vitest, nothing names one. */
export const nameTestsBy = (running: () => Origin): void => {
  runningTest = running
}

/** Records an organization as created by the running test. */
export const recordOrganization = (organization: string): void => record({ organization, ...runningTest() })

/** Exempts the events of this test file: it invents what no service emits. */
export const allowInventedEvents = (): void => record({ inventing: runningTest().file })

/** Writes the record of this process to a file from now on, what was recorded before included. */
export const share = (file: string, database: string): void => {
  sharedFile = file
  record({ database })
  for (const exempt of recorded.exempt) record({ exempt })
  for (const inventing of recorded.inventing) record({ inventing })
}

/** Reads a record from its file. */
export const readRecord = (file: string): Recorded => {
  const read = empty()
  for (const line of readFileSync(file, "utf8").split("\n")) if (line !== "") add(read, JSON.parse(line) as Entry)
  return read
}

/** Names the test that created an organization. */
export const originOf = ({ organizations }: Recorded, organization: string | null): string => {
  const origin = organization === null ? undefined : organizations.get(organization)
  return origin === undefined ? "" : ` of the test "${origin.test}" in ${basename(origin.file)}`
}
