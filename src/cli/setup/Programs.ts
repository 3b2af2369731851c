/** The programs that `keyshelf setup` runs, each as an account of the system. */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { commandLine, packageFile } from "../../infra/PackageFiles.ts"
import { CommandFailed } from "../Failure.ts"

type Account = "root" | "postgres" | "keyshelf"

/** The result of a program. `status` is `null` if it could not be started. */
interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly reason: string
}

// Accounts of services have no shell, and PAM would ask for one.
const as = (account: Account): ReadonlyArray<string> =>
  account === "root" ? [] : ["setpriv", `--reuid=${account}`, `--regid=${account}`, "--init-groups", "--"]

/** Runs a program to its end. Its environment has nothing of this process but the path. */
export const outcomeOf = (account: Account, command: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  Effect.sync((): Outcome => {
    const [program = "", ...args] = [...as(account), ...command]
    const { error, status, stderr, stdout } = spawnSync(program, args, {
      cwd: "/",
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin", ...env },
    })
    return { status, stdout: stdout ?? "", reason: error?.message ?? stderr.trim() }
  })

/** Runs a program that must succeed, and returns its output. `hint` is what to do if it fails. */
export const run = Effect.fnUntraced(function* (
  account: Account,
  command: ReadonlyArray<string>,
  { env = {}, hint = "" }: { readonly env?: Record<string, string>; readonly hint?: string } = {},
) {
  const { reason, status, stdout } = yield* outcomeOf(account, command, env)
  if (status === 0) return stdout.trim()
  return yield* new CommandFailed({ message: `${command.join(" ")} failed: ${reason}\n${hint}`.trim() })
})

/** Runs a command of this installation as the service's account, with the service's settings. */
export const keyshelf = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  run("keyshelf", [process.execPath, fileURLToPath(packageFile("bin/keyshelf.mjs")), ...args], {
    // The account has no place to keep compiled code before the service has started.
    env: { ...env, NODE_DISABLE_COMPILE_CACHE: "1" },
    hint: `Correct it, and run \`${commandLine("setup")}\` again: it goes on where it stopped.`,
  })
