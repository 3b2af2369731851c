// Checks the Node.js version first: an old Node.js fails on the TypeScript sources with a misleading syntax error.
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import module from "node:module"
import { constants } from "node:os"
import { dirname, join } from "node:path"

const require = module.createRequire(import.meta.url)

/** The Node.js that is installed as a package of the product, for this platform. */
const packagedNode = () => {
  const { optionalDependencies = {} } = JSON.parse(readFileSync(require.resolve("../package.json"), "utf8"))
  const platform = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
  const name = [`node-${platform}`, `node-bin-${platform}`].find((dependency) => dependency in optionalDependencies)
  if (name === undefined) return undefined
  try {
    const manifest = require.resolve(`${name}/package.json`)
    const program = join(dirname(manifest), process.platform === "win32" ? "bin/node.exe" : "bin/node")
    return existsSync(program) ? program : undefined
  } catch {
    return undefined
  }
}

// The exit code of a program whose libraries are missing.
const NOT_STARTED = 127

/** Runs this command on another Node.js, and ends with its exit code. */
const runOn = async (program) => {
  // First, because a signal that ended this process alone would leave the other one running.
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  // A terminal sends Ctrl-C to both, and a second one would end the service without finishing its requests.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"))
  const child = spawn(program, [...process.execArgv, ...process.argv.slice(1)], { stdio: "inherit" })
  const code = await new Promise((ended) => {
    child.on("error", ({ message }) => {
      console.error(message)
      ended(NOT_STARTED)
    })
    child.on("exit", (status, signal) => ended(status ?? 128 + constants.signals[signal]))
  })
  if (code === NOT_STARTED) {
    console.error(
      "The Node.js in the packages of Keyshelf does not start here. On Debian and Ubuntu, install libatomic1: apt-get install libatomic1",
    )
  }
  process.exit(code)
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  const program = packagedNode()
  if (program !== undefined && program !== process.execPath) await runOn(program)
  console.error(
    `Keyshelf needs Node.js 22.19 or newer, but this is ${process.versions.node}, and the package with a newer one is not installed. Install optional dependencies too (npm without --omit=optional), or upgrade Node.js.`,
  )
  process.exit(1)
}

// Caches compiled code on disk, so that later starts do not compile the sources again.
module.enableCompileCache?.()
