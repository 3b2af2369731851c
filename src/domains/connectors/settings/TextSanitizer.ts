/** Removes secrets and control characters from messages of third-party systems. Pure. */
import { MASK } from "./Redaction.ts"

const MAX_CHARACTERS = 200

// A multi-line key may be quoted line by line. Shorter lines are too common to be masked.
const MIN_LINE_LENGTH = 8

const plain = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()

/** The encodings in which a secret may be quoted. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const lines = secret.split(/\r?\n/)
  const parts = lines.length === 1 ? [secret] : [secret, ...lines.filter((line) => line.length >= MIN_LINE_LENGTH)]
  return parts.flatMap((part) => [
    part,
    plain(part),
    JSON.stringify(part).slice(1, -1),
    encodeURIComponent(part.toWellFormed()),
    Buffer.from(part).toString("base64"),
    Buffer.from(part).toString("base64url"),
    Buffer.from(`${part}:`).toString("base64"),
  ])
}

/** Removes control characters and all secrets from a text and truncates it to 200 characters. */
export const sanitize = (text: string, secrets: ReadonlyArray<string>): string => {
  const forms = [...new Set(secrets.flatMap(formsOf))].filter((form) => form !== "" && form !== MASK)
  // Longest first, so that a secret containing another one is masked whole; before truncation, which could split one.
  const scrubbed = forms
    .sort((left, right) => right.length - left.length)
    .reduce((rest, form) => rest.replaceAll(form, () => MASK), plain(text))
  const characters = Array.from(scrubbed)
  return characters.length <= MAX_CHARACTERS ? scrubbed : `${characters.slice(0, MAX_CHARACTERS - 1).join("")}…`
}
