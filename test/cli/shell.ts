/** Runs command lines with `keyshelf` as the command of this checkout. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { join, resolve } from "node:path"
import { text } from "node:stream/consumers"

/** The program of this checkout, for `node`. */
export const program = join(resolve(import.meta.dirname, "../.."), "bin/keyshelf.mjs")

/** Runs a command line of a shell, in which `keyshelf` is a command. */
export const shell = (line: string, env: Record<string, string>) =>
  Effect.promise(async () => {
    const child = spawn("sh", ["-c", `keyshelf() { "${process.execPath}" "${program}" "$@"; }; ${line}`], {
      env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const exit = new Promise<number | null>((done) => child.on("close", done))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await exit, stdout, stderr }
  })
