/**
 * The secrets that the service issues during a run, and the search for them where they must not be: in what its processes
 * write and in the databases that the tests leave behind. What is found fails the run with its place, never with its value.
 */
import { SECRET_TEXT } from "../../src/infra/telemetry/SecretMasking.ts"

const issued = new Set<string>()
const exempt = new Set<string>()

const secretsIn = (text: string): ReadonlyArray<string> => text.match(new RegExp(SECRET_TEXT, "g")) ?? []

/** Notes the secrets of an answer. */
export const recordIssued = (text: string): void => {
  for (const secret of secretsIn(text)) issued.add(secret)
}

/** All secrets that were issued to the tests of this file so far. */
export const issuedSecrets = (): ReadonlySet<string> => issued

/**
 * Declares text that looks like a secret and is stored on purpose, such as a name that a test gives. It must be no credential
 * of the service under test.
 */
export const isData = (text: string): string => {
  for (const found of secretsIn(text)) exempt.add(found)
  return text
}

/** The secrets of a text that nobody declared as data: those that were issued here, and whatever else looks like one. */
export const leakedIn = (text: string): ReadonlyArray<string> => {
  const found = new Set(secretsIn(text).filter((secret) => !exempt.has(secret)))
  for (const secret of issued) if (text.includes(secret)) found.add(secret)
  return [...found]
}
