/**
 * Bundles the service into `dist/server`: a few JavaScript files instead of a thousand modules. The bundle starts in
 * half the time, uses less memory when idle, and needs no `node_modules`. `npm ci` runs this script. Without the
 * bundler (`npm ci --omit=dev`) the service runs from its sources.
 */
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const options = {
  cwd: dirname(dirname(fileURLToPath(import.meta.url))),
  input: "src/cli.ts",
  platform: "node",
  output: {
    dir: "dist/server",
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name].mjs",
    cleanDir: true,
    // No minification: stack traces stay readable.
    comments: { legal: true, jsdoc: false, annotation: false },
  },
}

const bundler = await import("rolldown").catch((error) => {
  console.error(`Skipped the bundle; the service runs from its sources: ${error.message.split("\n")[0]}`)
})
await bundler?.build(options)
