/**
 * Runs a file of what is sold through the rules of the service: `npm run vectors:selling -- FILE`. It ends with 0 only if each case
 * that the service has rules for gives the result that the file expects; with 1 if one differs; with 2 without a file.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { runSelling } from "./selling.ts"

const [file] = process.argv.slice(2)
if (file === undefined || file === "") {
  console.error("Name a file: npm run vectors:selling -- test/fixtures/selling.json")
  process.exit(2)
}
// npm runs scripts in the folder of the package.
const path = resolve(process.env["INIT_CWD"] ?? process.cwd(), file)

const results = runSelling(JSON.parse(readFileSync(path, "utf8")))
for (const result of results) if ("skipped" in result) console.log(`skipped ${result.id}: ${result.skipped}`)
const compared = results.flatMap((result) => ("matches" in result ? [result] : []))
const wrong = compared.filter(({ matches }) => !matches)
for (const { actual, expected, id } of wrong) {
  console.log(`wrong ${id}\n  actual   ${JSON.stringify(actual)}\n  expected ${JSON.stringify(expected)}`)
}
console.log(`${compared.length - wrong.length} of ${compared.length} match`)
if (wrong.length > 0 || compared.length === 0) process.exit(1)
