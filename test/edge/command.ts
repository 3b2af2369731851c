/** Runs `keyshelf edge` as a process. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { program } from "../cli/shell.ts"
import { until } from "../support/until.ts"

/** Starts `keyshelf edge`, and stops it with the scope. */
export const startCommand = (flags: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [program, "edge", ...flags], {
        env: { PATH: process.env["PATH"] ?? "", ...env },
      })
      const started = { child, output: "", code: undefined as number | null | undefined }
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text: Buffer) => (started.output += text.toString()))
      child.on("close", (code) => (started.code = code))
      return started
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
  )

type Started = Effect.Success<ReturnType<typeof startCommand>>

/** Waits until a command has ended. */
export const ended = (started: Started) =>
  Effect.as(
    until(
      "the command ends",
      Effect.sync(() => started.code !== undefined),
    ),
    started,
  )

/** Waits until an edge is ready. */
export const isReady = (started: Started) =>
  until(
    "the edge is ready",
    Effect.sync(() => started.output.includes("is ready")),
  )
