/** Reads the files that operators deploy. */
import { parse } from "effect/encoding/Yaml"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../..")
export const text = (file: string): string => readFileSync(join(root, file), "utf8")

/** JSON that can be read at any depth. */
export type Json = { readonly [key: string]: Json } & ReadonlyArray<Json>

/** The documents of a text in YAML, which `---` separates. */
export const documentsIn = (yaml: string): ReadonlyArray<Json> =>
  yaml
    .split(/^---$/m)
    .filter((part) => part.trim() !== "")
    .map((part) => parse(part) as Json)

/** The documents of a file in YAML. */
export const documents = (file: string): ReadonlyArray<Json> => documentsIn(text(file))

/** What the chart makes of its default values. `Chart.process.test.ts` compares it with the templates. */
export const RENDERED = "test/deploy/rendered.yaml"

/** What it makes of `test/deploy/render/values-all.yaml`, which turn on everything, as release "acme". */
export const RENDERED_ALL = "test/deploy/render/rendered-all.yaml"

const nameOf = (document: Json | undefined): string => String(document?.["metadata"]?.["name"])

/** The objects of a rendered chart, by kind. */
export const objectsIn = (file: string) => {
  const all = documents(file)
  const ofKind = (kind: string): ReadonlyArray<Json> => all.filter((document) => String(document["kind"]) === kind)
  const named = (kind: string, name: string): Json => {
    const found = ofKind(kind).find((document) => nameOf(document) === name)
    if (found === undefined) throw new Error(`${file} has no ${kind} "${name}"`)
    return found
  }
  return { all, ofKind, named }
}
