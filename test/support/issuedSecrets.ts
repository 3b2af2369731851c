/**
 * Records the secrets that the service issues during a run, and finds leaks of them in process output and in test
 * databases. A leak fails the run and is reported by location, never by value.
 */
import { SECRET_TEXT } from "../../src/infra/telemetry/SecretMasking.ts"
import { record, recorded } from "./recorded.ts"
import type { Recorded } from "./recorded.ts"

const issued = new Set<string>()

// Signed documents look like signed tokens, but nobody can authenticate with them.
const documents = ["keyshelf-bundle+jwt", "keyshelf-revocations+jwt"].map((type) => {
  const header = `{"typ":"${type}`
  return Buffer.from(header.slice(0, header.length - (header.length % 3))).toString("base64url")
})
const isDocument = (text: string): boolean => documents.some((beginning) => text.startsWith(beginning))

const secretsIn = (text: string): ReadonlyArray<string> =>
  (text.match(new RegExp(SECRET_TEXT, "g")) ?? []).filter((found) => !isDocument(found))

/** Records the secrets in a response. */
export const recordIssued = (text: string): void => {
  for (const secret of secretsIn(text)) issued.add(secret)
}

/** Begins a test file: what was issued to others is not its concern. */
export const forgetIssued = (): void => issued.clear()

/** All secrets issued to this test file so far. */
export const issuedSecrets = (): ReadonlySet<string> => issued

/**
 * Exempts text that looks like a secret and is stored on purpose, such as a name chosen by a test. It must not be a
 * credential of the service under test.
 */
export const exempt = (text: string): string => {
  for (const found of secretsIn(text)) record({ exempt: found })
  return text
}

/** Finds leaked secrets in a text: issued ones, and any other text that looks like one and is not exempt. */
export const leakedIn = (text: string, { exempt }: Pick<Recorded, "exempt"> = recorded): ReadonlyArray<string> => {
  const found = new Set(secretsIn(text).filter((secret) => !exempt.has(secret)))
  for (const secret of issued) if (text.includes(secret)) found.add(secret)
  return [...found]
}
