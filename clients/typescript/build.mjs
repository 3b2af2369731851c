/**
 * Builds the package: types and a table of operations from the OpenAPI documents, the Promise client and the client of a product, the
 * verifier of the service, and the Effect client from its API definitions. It runs when the package is packed; nothing that it writes is
 * committed.
 */
import openapiTS, { astToString } from "openapi-typescript"
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, "../..")
const generated = join(here, "src/generated")
const require = createRequire(import.meta.url)

/** Compiles a project with a compiler, or ends the build with its errors. */
const compile = (compiler, ...args) => {
  const { status } = spawnSync(process.execPath, [compiler, ...args], { cwd: here, stdio: "inherit" })
  if (status !== 0) process.exit(1)
}

/** What an operation promises, unless that is JSON alone: `|` separates media types, and `none` is a response without a body. */
const promisedBy = (responses) => {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"))
  const promised = successes.flatMap(([, { content }]) => (content === undefined ? ["none"] : Object.keys(content)))
  const text = [...new Set(promised)].join("|")
  return text === "application/json" ? "" : ` ${text}`
}

/** Method, path and what is promised by operation id. */
const tableOf = ({ paths }) =>
  Object.fromEntries(
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId, responses }]) => [
        operationId,
        `${method.toUpperCase()} ${path}${promisedBy(responses)}`,
      ]),
    ),
  )

rmSync(generated, { recursive: true, force: true })
rmSync(join(here, "dist"), { recursive: true, force: true })
mkdirSync(generated, { recursive: true })
for (const name of ["core", "platform", "webhooks"]) {
  const document = JSON.parse(readFileSync(join(root, `openapi/${name}.json`), "utf8"))
  const types = astToString(await openapiTS(document))
  const table = `\n/** Method, path and what is promised by operation. */\nexport const table = ${JSON.stringify(tableOf(document), null, 2)} as const\n`
  // Editors show the description of an operation; its example is in the reference.
  writeFileSync(
    join(generated, `${name}.ts`),
    types.replaceAll(/\n *\* @example (?:(?!\*\/)[^])*?(?=\n *\*\/)/g, "") + table,
  )
}
// npm packs a license that is next to the manifest.
copyFileSync(join(root, "LICENSE"), join(here, "LICENSE"))
// The second one checks alone that what decides needs nothing of Node.js.
for (const project of ["tsconfig.json", "tsconfig.pure.json"]) {
  compile(require.resolve("typescript/bin/tsc"), "--project", project)
}
// With the same compiler: the declarations of TypeScript 7.0 are not the same in each run.
compile(
  require.resolve("typescript/bin/tsc"),
  "--project",
  join(root, "tsconfig.client.json"),
  "--outDir",
  join(here, "dist/effect"),
)
