// Runs before anything else: an old Node cannot read the TypeScript sources and would fail with a riddle.
import module from "node:module"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `Keyshelf needs Node.js 22.19 or newer, this is ${process.versions.node}. Run it with "npm start", which brings its own Node.js, or install a newer one.`,
  )
  process.exit(1)
}

// The second start reads compiled code from the disk instead of compiling the sources again.
module.enableCompileCache?.()
