/**
 * Finds files of the package, from the sources and from the bundle alike: this file and `dist/server/*.mjs` are both two folders
 * below the package's root. Moving this file deeper breaks one of the two.
 */

import { existsSync } from "node:fs"

/** The URL of a file by its path in the package, such as `openapi/core.json`. */
export const packageFile = (path: string): URL => new URL(`../../${path}`, import.meta.url)

const program = (): string => {
  // A package contains no sources.
  if (existsSync(packageFile("src/cli.ts"))) return "npm run keyshelf --"
  return process.env["npm_lifecycle_event"] === "npx" ? "npx keyshelf" : "keyshelf"
}

/** How the user of this installation runs a command, such as `demo --keep`. Messages that name the next command say it so. */
export const commandLine = (command: string): string => `${program()} ${command}`
