/**
 * Moves an organization to another installation: exports all its rows with their ids, and imports them in one transaction.
 * Both installations have the same secret keys under the same ids, so tokens, secrets and cursors stay valid.
 */
import { Context, Effect, Layer } from "effect"
import type { Stream } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { MoveRefused } from "./Errors.ts"
import { MoveRepo } from "./MoveRepo.ts"
import type { Counts, Digests } from "./ArchiveDigests.ts"
import { makeExport, snapshotReader, withoutLive } from "./ArchiveExport.ts"
import type { ExportOptions } from "./ArchiveExport.ts"
import { makeImport } from "./ArchiveImport.ts"
import { CHANGED_FILE, isSealedBy } from "./ArchiveSeal.ts"
import { readFrame } from "./ArchiveFrame.ts"
import { convertedTables, isFormer } from "./FormerFiles.ts"
import { differences } from "./MoveRules.ts"
import type { Header } from "./MoveRules.ts"

const withoutConverted = (digests: Readonly<Digests>): Digests =>
  Object.fromEntries(Object.entries(digests).filter(([table]) => !convertedTables.includes(table)))

/** Moves organizations between installations. */
export class OrganizationMove extends Context.Service<
  OrganizationMove,
  {
    /** Exports an organization, and returns how many rows each table has. */
    readonly exportTo: (options: ExportOptions) => Effect.Effect<Counts, MoveRefused | SqlError>
    /** Imports the lines of a file in one transaction: all of them, or none. */
    readonly importFrom: <E>(
      lines: Stream.Stream<string, E>,
      migrations: ReadonlyArray<string>,
    ) => Effect.Effect<
      { readonly organization: Header["organization"]; readonly counts: Counts },
      SqlError | MoveRefused | E
    >
    /**
     * The organization of a file, and the tables of this database that differ from it, without those that change by
     * themselves.
     */
    readonly compare: <E>(
      lines: Stream.Stream<string, E>,
    ) => Effect.Effect<
      { readonly organization: Header["organization"]; readonly changed: ReadonlyArray<string> },
      SqlError | MoveRefused | E
    >
  }
>()("keyshelf/maintenance/OrganizationMove") {
  static readonly layer = Layer.suspend(() => Layer.effect(OrganizationMove, make)).pipe(Layer.provide(MoveRepo.layer))
}

const make = Effect.gen(function* () {
  const secrets = yield* Secrets
  const snapshots = yield* snapshotReader

  const compare = Effect.fn("OrganizationMove.compare")(function* <E>(lines: Stream.Stream<string, E>) {
    const { end, header, seal } = yield* readFrame(lines, secrets)
    if (seal === undefined || !isSealedBy(seal, end)) return yield* new MoveRefused({ message: CHANGED_FILE })
    const found = yield* snapshots.digests(header.organization.id)
    const compared = (digests: Readonly<Digests>) =>
      isFormer(header.migrations) ? withoutConverted(withoutLive(digests)) : withoutLive(digests)
    return { organization: header.organization, changed: differences(compared(end.digests), compared(found)) }
  })

  return { exportTo: yield* makeExport, importFrom: yield* makeImport, compare }
})
