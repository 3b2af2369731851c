/** The documents of released versions, and the breaks that the versions after them may have. */
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Part } from "../../src/openapi/Parts.ts"
import type { Break } from "./compatibleSchemas.ts"

const openapi = resolve(import.meta.dirname, "../../openapi")

const read = (file: string) => JSON.parse(readFileSync(join(openapi, file), "utf8"))

/** The APIs, each of which has a document. */
export const apis = ["core", "platform", "webhooks"] as const

type Documents = Readonly<Record<(typeof apis)[number], Part>>

const documentsIn = (folder: string): Documents => ({
  core: read(`${folder}/core.json`),
  platform: read(`${folder}/platform.json`),
  webhooks: read(`${folder}/webhooks.json`),
})

/** The documents of this checkout. */
export const current = (): Documents => documentsIn(".")

const numbersOf = (version: string): ReadonlyArray<number> => version.split(".").map(Number)

/** Orders versions such as 0.9.1 and 0.10.0. */
export const byVersion = (left: string, right: string): number => {
  const [a, b] = [numbersOf(left), numbersOf(right)]
  const differing = a.findIndex((number, index) => number !== b[index])
  return (a[differing] ?? 0) - (b[differing] ?? 0)
}

/** The released versions, oldest first. */
export const versions = (): ReadonlyArray<string> => readdirSync(join(openapi, "released")).toSorted(byVersion)

/** The documents of a released version. */
export const released = (version: string): Documents => documentsIn(`released/${version}`)

/** A break that is meant: an entry of `openapi/changes.json`. */
interface Change {
  /** The released version after which it comes. */
  readonly after: string
  readonly path: string
  readonly reason: string
}

export const changes = (): ReadonlyArray<Change> => read("changes.json")

const majorOf = (version: string): number => numbersOf(version)[0] ?? 0

/** What is wrong with the breaks since the newest release, and with the list of those that are meant. */
export const findings = (
  breaks: ReadonlyArray<Break>,
  listed: ReadonlyArray<Change>,
  { newest, version }: { readonly newest: string; readonly version: string },
): ReadonlyArray<string> => {
  const meant = listed.filter(({ after }) => after === newest)
  const mayBreak = majorOf(newest) === 0 || majorOf(version) > majorOf(newest)
  const unlisted = breaks.filter(({ path }) => !mayBreak || !meant.some((change) => change.path === path))
  const advice = mayBreak
    ? "undo it, or list it in openapi/changes.json and under Changed"
    : "only a new major version may break the API"
  return [
    ...unlisted.map(({ path, what }) => `${path} ${what}: ${advice}`),
    ...meant
      .filter(({ path }) => !breaks.some((found) => found.path === path))
      .map(({ path }) => `openapi/changes.json lists ${path}, which does not break`),
    ...meant.filter(({ reason }) => reason.trim() === "").map(({ path }) => `${path} has no reason`),
  ]
}
