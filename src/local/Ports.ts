/** What a local client needs of its surroundings. It has no clock, network, disk or random numbers of its own, so a test can replace them. */
import type { Journal, JournalRecord } from "./ledger/Journal.ts"
import type { PinnedKeys, State } from "../offline/Model.ts"

export interface Clock {
  /** The clock of the machine, in milliseconds since 1970. It may be set at any time. */
  readonly wall: () => number
  /** Milliseconds that never go back. */
  readonly monotonic: () => number
  /** From 0 to 1. */
  readonly random: () => number
  /** Runs work once, after a time. Returns what cancels it. The timer must keep no process alive. */
  readonly after: (millis: number, work: () => void) => () => void
}

/** What a request failed with. */
export interface Failure {
  /** `away`: the service said nothing about the request. `problem`: it rejected the request, or nothing could be sent. */
  readonly type: "away" | "problem"
  /** Code of the problem document; empty if there is none. */
  readonly code: string
  /** What a call fails with. */
  readonly error: unknown
  /** How long the service wants to be left alone. */
  readonly retryAfterMs?: number
}

/** The answer to a request for a snapshot. */
export type Reply =
  | Failure
  | {
      readonly type: "snapshot"
      readonly token: string
      readonly etag: string | null
      /** How soon to ask again without a stream. */
      readonly maxAgeMs?: number | undefined
      /** When the service sent it, by its own clock. */
      readonly dateMs?: number | undefined
    }
  | {
      /** The snapshot with the `etag` of the request is still right. */
      readonly type: "unchanged"
      readonly maxAgeMs?: number | undefined
      readonly dateMs?: number | undefined
    }

/** The key set of an organization. */
export type KeysReply = Failure | { readonly type: "keys"; readonly keys: PinnedKeys }

/** Receives a stream of changes. */
export interface StreamListener {
  /** The stream is open. It reports all later changes. */
  readonly opened: () => void
  readonly text: (chunk: string) => void
  /** The stream could not be opened, or has ended. */
  readonly ended: (failure?: Failure) => void
}

/** The response to a refill: a value of JSON, which is not trusted. Its snapshot is signed. */
export type RefillReply =
  | Failure
  | { readonly type: "refilled"; readonly body: unknown; readonly dateMs?: number | undefined }

/** What a ledger of tranches needs. */
export interface LedgerOptions {
  /** `POST /instances/{slug}/tranches`, once. */
  readonly refill: (instance: string, body: string) => Promise<RefillReply>
  /** A random UUID. */
  readonly id: () => string
  /** Opens what is stored of an instance. Without it, a ledger is in memory. */
  readonly open?: ((instanceId: string) => Promise<LedgerStore>) | undefined
  /** Whether something may be stored of an instance: then its ledger is opened without a call. By default it may be. */
  readonly isStored?: ((instanceId: string) => boolean) | undefined
  /** Whether a consumption waits for the disk. */
  readonly flushAlways?: boolean | undefined
}

export interface Service {
  /** `GET /instances/{slug}/snapshot`, once: the client repeats requests itself. */
  readonly snapshot: (instance: string, etag: string | null) => Promise<Reply>
  /** `GET /offline/{organization}/keys`, once. */
  readonly keys: (organization: string) => Promise<KeysReply>
  /** `GET /changes?instance=`. Returns what closes the stream; a closed stream calls nothing. */
  readonly changes: (instance: string, listener: StreamListener) => () => void
}

/** What is stored of an instance. */
export interface StoredSnapshot {
  /** The slug by which the product names the instance. */
  readonly instance: string
  /** `null` where access was ended. */
  readonly token: string | null
  readonly etag: string | null
  /** When the service last confirmed the snapshot, in milliseconds since 1970. */
  readonly confirmedAt: number
  readonly issuer: string | null
  /** The keys that the service published; none if the product has its own. */
  readonly keys: PinnedKeys
  readonly state: State | null
  /** When the service ended the access: no restart revives the snapshot. `null`: it did not. */
  readonly revokedAt: number | null
}

/** Where a ledger survives a restart. `ledger/Stored.ts` makes one of a file. */
export interface LedgerStore {
  /** What was stored, if anything usable was. */
  readonly journal: Journal | undefined
  /** Adds records to a journal. They have reached the operating system when this returns; if it throws, nothing was added. */
  readonly append: (records: ReadonlyArray<JournalRecord>, journal: Journal) => void
  /** Resolves when all that was added is on the disk. */
  readonly sync: () => Promise<void>
  /** Replaces what is stored, and keeps what is added meanwhile. */
  readonly replace: (journal: Journal, time: number) => Promise<void>
  /** Whether it should be replaced. */
  readonly isLarge: () => boolean
  readonly close: () => Promise<void>
}

/** Where snapshots survive a restart. `Stored.ts` makes one of files. */
export interface Store {
  /** What was stored last of an instance. */
  readonly read: (instance: string) => Promise<StoredSnapshot | undefined>
  /** Replaces what is stored of an instance, which is complete at any time. */
  readonly write: (instanceId: string, record: StoredSnapshot) => Promise<void>
}

/** What a client reports about itself. It has no token, no key, and no amount. */
export type LocalEvent =
  | { readonly type: "state"; readonly instance: string; readonly state: string; readonly previous: string }
  /** A snapshot came. Only those of the statuses `VALID`, `LICENSE_NOT_STARTED` and `LICENSE_EXPIRED` are taken. */
  | { readonly type: "snapshot"; readonly instance: string; readonly status: string; readonly taken: boolean }
  /** Tranches were refilled. */
  | { readonly type: "refill"; readonly instance: string; readonly satisfied: boolean }
  /** The service counted what was spent. */
  | { readonly type: "settled"; readonly instance: string; readonly lines: number }
  /** The service rejected a line, or the ledger: what is not settled goes on in a new one. */
  | { readonly type: "rejected"; readonly instance: string; readonly code: string }
  | { readonly type: "error"; readonly instance: string; readonly error: unknown }

/** What a local client is made of. */
export interface LocalOptions {
  readonly clock: Clock
  readonly service: Service
  readonly store?: Store | undefined
  /** Keys that are part of the product. Without them, those that the service publishes at the first fetch. */
  readonly keys?: PinnedKeys | undefined
  readonly issuer?: string | undefined
  readonly families?: ReadonlyArray<string> | undefined
  /** A bundle that is shipped with the product, for a start without anything stored. */
  readonly bundle?: string | undefined
  readonly startTimeoutMs: number
  /** Without it, nothing can be consumed without a request. */
  readonly ledger?: LedgerOptions | undefined
  readonly onEvent?: ((event: LocalEvent) => void) | undefined
  /** Whether to keep little in memory, at the cost of reading claims again. For processes with thousands of instances. */
  readonly savesMemory?: boolean | undefined
}
