/** Runs scripts on this Node.js. */
import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"

/** The result of a script. */
export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Where a script runs, with which environment, and for how long at most. */
interface RunOptions {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMillis?: number
}

/** Runs a script with arguments until it ends. */
export const runNode = async (
  args: ReadonlyArray<string>,
  { cwd, env, timeoutMillis }: RunOptions,
): Promise<Outcome> => {
  const child = spawn(process.execPath, args, { cwd, env, timeout: timeoutMillis, stdio: ["ignore", "pipe", "pipe"] })
  const exit = new Promise<number | null>((done) => child.on("close", done))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await exit, stdout, stderr }
}
