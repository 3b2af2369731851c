/**
 * The version of the release, and the places that hold it. `package.json` decides; `npm run release:version -- <version>` writes all of
 * them, and a test requires that they agree.
 */
import { readText } from "./Files.ts"

/** A place that holds the version: the first group of the expression. */
export interface Place {
  readonly file: string
  readonly pattern: RegExp
}

const firstVersion = /"version": "([^"]+)"/
const packageVersion = /"": \{\n {6}"name": "[^"]+",\n {6}"version": "([^"]+)"/

/** The OpenAPI documents. A released version keeps a copy of each. */
const documents = ["core", "platform", "webhooks"].map((name) => `${name}.json`)

export const places: ReadonlyArray<Place> = [
  { file: "package.json", pattern: firstVersion },
  { file: "package-lock.json", pattern: firstVersion },
  { file: "package-lock.json", pattern: packageVersion },
  { file: "clients/typescript/package.json", pattern: firstVersion },
  { file: "clients/typescript/package-lock.json", pattern: firstVersion },
  { file: "clients/typescript/package-lock.json", pattern: packageVersion },
  { file: "clients/python/pyproject.toml", pattern: /^version = "([^"]+)"$/m },
  { file: "clients/python/src/keyshelf/transport.py", pattern: /^VERSION = "([^"]+)"$/m },
  { file: "clients/go/internal/wire/transport.go", pattern: /^const Version = "([^"]+)"$/m },
  { file: "flake.nix", pattern: /^ {12}version = "([^"]+)";$/m },
  ...documents.map((name) => ({ file: `openapi/${name}`, pattern: firstVersion })),
]

/** The version of the checkout. */
export const version = (): string => {
  const [, found = ""] = firstVersion.exec(readText("package.json")) ?? []
  return found
}

/** The places whose version is another one, or that have none. */
export const differing = (
  expected: string,
): ReadonlyArray<{ readonly place: Place; readonly found: string | undefined }> =>
  places
    .map((place) => ({ place, found: place.pattern.exec(readText(place.file))?.[1] }))
    .filter(({ found }) => found !== expected)

/** Replaces the version of a place in the text of its file. */
export const replaced = (text: string, { file, pattern }: Place, next: string): string => {
  const match = pattern.exec(text)
  if (match?.[1] === undefined) throw new Error(`${file} has no version where ${pattern} looks for it`)
  const start = match.index + match[0].indexOf(match[1])
  return text.slice(0, start) + next + text.slice(start + match[1].length)
}

/**
 * The documents with which later versions are compared, by their paths: copies of those that hold the version. A version that is tried
 * before a release, such as 0.2.0-rc.1, has none.
 */
export const releasedDocuments = (next: string): Readonly<Record<string, string>> =>
  next.includes("-")
    ? {}
    : Object.fromEntries(
        documents.map((name) => {
          const place = { file: `openapi/${name}`, pattern: firstVersion }
          return [`openapi/released/${next}/${name}`, replaced(readText(place.file), place, next)]
        }),
      )

const UNRELEASED = "## Unreleased"

/** The changelog with its unreleased part under the version. `day` is a date such as `2026-12-01`. */
export const released = (changelog: string, next: string, day: string): string => {
  if (!changelog.includes(`${UNRELEASED}\n`)) throw new Error(`CHANGELOG.md has no heading "${UNRELEASED}"`)
  return changelog.replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## ${next} (${day})\n`)
}

/** The changelog's part of a version, or of what is not released; empty if there is none. */
export const notesOf = (changelog: string, wanted: string): string => {
  const parts = changelog.split(/^(?=## )/m)
  const part =
    parts.find((text) => text.startsWith(`## ${wanted} `)) ?? parts.find((text) => text.startsWith(UNRELEASED))
  return part === undefined ? "" : `${part.slice(part.indexOf("\n")).trim()}\n`
}
