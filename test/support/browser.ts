/** Opens pages in a Chromium of this machine, if there is one. */
import { spawn, spawnSync } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The command of the browser, or `undefined` without one. */
export const browser = ["chromium", "chromium-browser", "google-chrome"].find(
  (command) => spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0,
)

/** Why tests in a browser are skipped, if they are. */
export const whyNoBrowser = browser === undefined ? "no Chromium is installed" : undefined

/** The document of a page after its scripts ran, and what the browser logged, among it the page's console. */
export interface Opened {
  readonly document: string
  readonly log: string
}

/** Opens a page with an empty profile, and closes the browser. */
export const open = async (command: string, url: string): Promise<Opened> => {
  const profile = await mkdtemp(join(tmpdir(), "keyshelf-browser-"))
  const child = spawn(
    command,
    [
      "--headless --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run".split(" "),
      "--disable-background-networking --disable-component-update --disable-sync".split(" "),
      "--enable-logging=stderr --v=0 --virtual-time-budget=8000 --dump-dom".split(" "),
      [`--user-data-dir=${profile}`, url],
    ].flat(),
    { stdio: ["ignore", "pipe", "pipe"] },
  )
  const opened = { document: "", log: "" }
  child.stdout.on("data", (chunk: Buffer) => (opened.document += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (opened.log += chunk.toString()))
  await new Promise((resolve) => child.once("close", resolve))
  await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  return opened
}
