/** Whether an installation can import the file of an organization, by its header. Pure. */
import { Result } from "effect"
import type { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { isFormer } from "./FormerFiles.ts"
import { FORMAT_VERSION, keyFaults } from "./MoveRules.ts"
import type { Header } from "./MoveRules.ts"

/** What the header is compared with. */
interface Destination {
  /** The migrations of the database, by name. */
  readonly migrations: ReadonlyArray<string>
  readonly secrets: Secrets["Service"]
  readonly connectors: ReadonlySet<string>
}

/** Why this installation cannot import the file: a sentence with the way on. `undefined` if it can. */
export const headerFault = (header: Header, { connectors, migrations, secrets }: Destination): string | undefined => {
  if (header.version !== FORMAT_VERSION) {
    return `The file has version ${header.version} of the format; this Keyshelf reads ${FORMAT_VERSION}. Bring both installations to the same version, and export again.`
  }
  const [here, there] = [new Set(migrations), new Set(header.migrations)]
  const missing = header.migrations.filter((name) => !here.has(name))
  const surplus = migrations.filter((name) => !there.has(name))
  if (missing.length + surplus.length > 0 && !isFormer(header.migrations)) {
    return `The schemas differ: ${[...missing.map((name) => `${name} is missing here`), ...surplus.map((name) => `${name} is missing at the source`)].join(", ")}. Bring both installations to the same version, and export again.`
  }
  const own = secrets.keysFor("check-value").map(({ bytes, id }) => [id, Buffer.from(bytes).toString("hex")] as const)
  const { keys, sealedWith = "" } = header
  const faults = keyFaults([...keys, { id: sealedWith, check: null }], new Map(own))
  if (Result.isFailure(faults)) return faults.failure
  const unknown = header.connectors.filter((name) => !connectors.has(name))
  return unknown.length > 0
    ? `The organization uses connectors that this installation does not have: ${unknown.join(", ")}. Create them first.`
    : undefined
}
