// Checks the Node.js version first: an old Node.js fails on the TypeScript sources with a misleading syntax error.
import module from "node:module"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `Keyshelf needs Node.js 22.19 or newer, but this is ${process.versions.node}. Use "npm start", which includes its own Node.js, or upgrade Node.js.`,
  )
  process.exit(1)
}

// Caches compiled code on disk, so that later starts do not compile the sources again.
module.enableCompileCache?.()
