/** Loads NATS' client. Its packages are optional: only the bridge needs them. */
import { Effect } from "effect"
import manifest from "../../../../../package.json" with { type: "json" }
import { CommandFailed } from "../../../Failure.ts"

const packages = Object.entries(manifest.peerDependencies)

const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  error.code === "ERR_MODULE_NOT_FOUND" &&
  packages.some(([name]) => error.message.includes(`'${name}'`))

const missing = new CommandFailed({
  message: `The bridge needs NATS' client, which is not installed here. Install it in the folder of Keyshelf: npm install --no-save ${packages.map((one) => one.join("@")).join(" ")}`,
})

/** What opens NATS JetStream. */
export const loadJetStream = Effect.tryPromise({
  try: async () => (await import("./JetStream.ts")).open,
  catch: (error) => error,
}).pipe(Effect.catch((error) => (isMissing(error) ? Effect.fail(missing) : Effect.die(error))))
