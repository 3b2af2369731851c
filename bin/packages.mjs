import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist/modules")

/** The folder of the package that a module is in, such as `node_modules/effect`. Bundlers name modules of their own in other ways. */
const packageOf = (module) => /[/\\](node_modules[/\\].*)$/.exec(module)?.[1].replaceAll("\\", "/")

const nameIn = (path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]

/** Writes the packages that a bundle contains a module of, for its inventory. */
export const listPackages = (bundle, outputs) => {
  const modules = outputs.flatMap(({ output }) => output.flatMap((part) => ("moduleIds" in part ? part.moduleIds : [])))
  const packages = new Set(modules.map(packageOf).flatMap((path) => nameIn(path ?? "") ?? []))
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, `${bundle}.json`),
    `${JSON.stringify(
      [...packages].toSorted((a, b) => (a < b ? -1 : 1)),
      null,
      2,
    )}\n`,
  )
}
