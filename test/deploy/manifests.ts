/** Reads the files that operators deploy. */
import { parse } from "effect/encoding/Yaml"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../..")
export const text = (file: string): string => readFileSync(join(root, file), "utf8")

/** JSON that can be read at any depth. */
export type Json = { readonly [key: string]: Json } & ReadonlyArray<Json>

/** The documents of a YAML file, which `---` separates. */
export const documents = (file: string): ReadonlyArray<Json> =>
  text(file)
    .split(/^---$/m)
    .map((part) => parse(part) as Json)
