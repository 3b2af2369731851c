/**
 * Builds the console into `dist/console`, where the service finds it. `npm ci` runs this script after `bundle.mjs`. Without the sources
 * of the console or the packages that build it (`npm ci --omit=dev`) it builds nothing, and `/console` is 404.
 */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { listPackages } from "./packages.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const configFile = join(root, "console/vite.config.ts")

/** The packages that the console's configuration imports. All are there, or none: they are development dependencies. */
const builder = async () => {
  if (!existsSync(configFile)) throw new Error("there is no console/vite.config.ts")
  // Vitest installs Vite too, so the plugins decide.
  import.meta.resolve("@vitejs/plugin-react")
  return import("vite")
}

const vite = await builder().catch((error) => {
  console.error(`Skipped the console: ${error.message.split("\n")[0]}`)
})
if (vite !== undefined) listPackages("console", [await vite.build({ configFile, logLevel: "warn" })].flat())
