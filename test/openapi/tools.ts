/** Generators and a linter of OpenAPI documents. They are installed when their tests run, because nothing else needs them. */
import { spawnSync } from "node:child_process"
import { join, resolve } from "node:path"
import { runNode } from "../support/runNode.ts"
import type { Outcome } from "../support/runNode.ts"
import { withReason } from "../support/skipped.ts"

const folder = resolve(import.meta.dirname, "generators")

const root = resolve(import.meta.dirname, "../..")

/** The committed documents. */
export const documentFiles = ["core", "platform", "webhooks"].map((name) => ({
  name,
  file: join(root, `openapi/${name}.json`),
}))

/** Installs the tools. Returns why that is not possible, or `undefined`. */
const install = (): string | undefined => {
  const { status, stderr } = spawnSync("npm", ["ci", "--prefix", folder, "--no-audit", "--no-fund"], {
    encoding: "utf8",
    timeout: 120_000,
  })
  return status === 0 ? undefined : `the generators cannot be installed: ${(stderr ?? "").trim().split("\n")[0]}`
}

/** Why tests with the tools are skipped, or `undefined` if they are installed. */
export const whyNoTools = install()

/** The name of a suite, with the reason if it is skipped. */
export const withTools = (name: string): string => withReason(name, whyNoTools)

const scripts = {
  "openapi-typescript": "openapi-typescript/bin/cli.js",
  "openapi-ts": "@hey-api/openapi-ts/bin/run.js",
  redocly: "@redocly/cli/bin/cli.js",
  tsc: "typescript/bin/tsc",
} as const

const MAX_MILLIS = 120_000

/** Runs a tool in a folder. */
export const runTool = (name: keyof typeof scripts, args: ReadonlyArray<string>, cwd: string): Promise<Outcome> =>
  runNode([join(folder, "node_modules", scripts[name]), ...args], {
    cwd,
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", NO_COLOR: "1" },
    timeoutMillis: MAX_MILLIS,
  })
