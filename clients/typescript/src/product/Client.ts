/** The client of a product: it checks, consumes and reports usage, holds seats and reads flags. */
import { own } from "../../../../src/offline/values/Unknown.ts"
import type { LocalAnswers, LocalEvent, LocalOptions } from "../../../../src/local/index.ts"
import type { ClientOptions } from "../Client.ts"
import { ConfigurationError, isServiceAway } from "../Errors.ts"
import { jsonOf, keyOf, labelOf } from "../RequestRules.ts"
import { answerOfPolicy, policyOf } from "./Away.ts"
import type { Answer, CheckResult, WhenAway } from "./Away.ts"
import { askService, onlyOf, partsOf } from "./Checks.ts"
import type { Asking, Check, Parts } from "./Checks.ts"
import { amountOf, parseExactly } from "./Decimal.ts"
import type { Amount } from "./Decimal.ts"
import { flagSetOf, makeFlags } from "./Flags.ts"
import type { FlagSet } from "./Flags.ts"
import type { OpenJournal } from "./Journal.ts"
import { makeLocals } from "./local/Locals.ts"
import type { Locals, Platform, Status } from "./local/Locals.ts"
import { whileAlive } from "./local/WhileAlive.ts"
import { acquireSeat } from "./Seats.ts"
import type { Reservation } from "./Reservations.ts"
import type { Seat, SeatRequest } from "./Seats.ts"
import { openBuffer } from "./UsageBuffer.ts"
import type { BufferOptions, UsageBuffer } from "./UsageBuffer.ts"
import { makeSend, pathOf, randomId, readAs, timeText } from "./Wire.ts"

/** How a product decides, and where it keeps what it decides by. */
export interface ProductClientOptions extends ClientOptions {
  /** `local` (default): by a snapshot of the terms, without a request. `remote`: by a request each time. */
  readonly mode?: "local" | "remote"
  /** A folder in which the snapshot survives a restart. It needs Node.js 22.13 or newer. Without it, all is in memory. */
  readonly directory?: string
  /** Public keys of your organization, as part of the product. Default: those that the service publishes. */
  readonly keys?: LocalOptions["keys"]
  /** `urn:keyshelf:organization:<id>`. Default: that of the first snapshot. */
  readonly issuer?: string
  /** Families of licenses that this product is sold with. A snapshot of another one ends the access. Default: any. */
  readonly families?: ReadonlyArray<string>
  /** A bundle that is shipped with the product, for a start without the service. It needs `keys`. */
  readonly bundle?: string
  /** What answers while nothing is known; `"closed"` by default in local mode, `"fail"` in remote mode. */
  readonly whenAway?: WhenAway
  /** How long a first call waits for the first snapshot, in milliseconds; 2,000 by default. */
  readonly startTimeoutMs?: number
  /** Receives what the client does, for metrics. */
  readonly onEvent?: (event: LocalEvent) => void
  /** When a consumption is on the disk: within 100 ms after it (default), or before its answer. The directory survives the end of a process either way. */
  readonly flush?: "100ms" | "always"
}

interface CallOptions {
  /** Replaces the `whenAway` of the client. */
  readonly whenAway?: WhenAway
  /** Asks the service, as in remote mode. */
  readonly remote?: boolean
  /** Cancels the requests of the call. */
  readonly signal?: AbortSignal
}

/** Options of a check. */
export interface CheckOptions extends CallOptions {
  /** Another time than now. The service answers. */
  readonly at?: Date | string
}

/** Options of a consumption. */
export interface ConsumeOptions extends CallOptions {
  /**
   * The id of what you do, such as a job's. The same key charges once within 24 hours: at the service in remote mode, which needs it; in local
   * mode by this process and its directory. Without it, repeating the call charges again.
   */
  readonly idempotencyKey?: string
}

/** Options of a reservation. */
export interface ReserveOptions extends CallOptions {
  /** After how many seconds it ends: 1 to 86,400; 300 by default. */
  readonly ttlSeconds?: number
}

/** Options of flags. */
export interface FlagOptions extends CallOptions {
  /** In local mode: the instance whose flags they are. The only instance in use may be left out. */
  readonly instance?: string
}

/** Options of a report. */
export interface ReportOptions {
  /** The same id counts once within 35 days. Default: a random one. */
  readonly transactionId?: string
  readonly uniqueKey?: string
  /** `append` (default) adds to the period; `set` replaces everything before it in the period. */
  readonly behavior?: "append" | "set"
  readonly timestamp?: Date | string
  readonly signal?: AbortSignal
}

/** Decides for a product with one credential, such as a license key. */
export interface ProductClient {
  /** Follows an instance from now on, and resolves when checks can be answered. Without it, the first call does so. */
  readonly start: (instance: string) => Promise<void>
  /** Whether an instance may use an entitlement, by default one more. Changes nothing. */
  readonly check: (
    instance: string,
    entitlement: string,
    options?: CheckOptions & { readonly requested?: Amount },
  ) => Promise<Answer>
  /** Like `check`, for up to 100 entitlements at once. */
  readonly checkAll: (instance: string, checks: ReadonlyArray<Check>, options?: CheckOptions) => Promise<CheckResult>
  /**
   * Consumes if that is allowed. In local mode from a tranche that the client holds, without a request; otherwise it waits for a refill, at
   * most 2 s. If the service is away and the tranche is spent, the license decides (`SERVICE_AWAY`, source `policy`). In remote mode the
   * service is asked, and if it is away, it is not known whether usage was consumed: call again with the same key.
   */
  readonly consume: (
    instance: string,
    entitlement: string,
    options?: ConsumeOptions & { readonly requested?: Amount },
  ) => Promise<Answer>
  /** Like `consume`, for several entitlements: all are consumed, or none. */
  readonly consumeAll: (
    instance: string,
    checks: ReadonlyArray<Check>,
    options?: ConsumeOptions,
  ) => Promise<CheckResult>
  /** Sets an amount aside for work whose cost is known only afterwards. Commit what was used. */
  readonly reserve: (
    instance: string,
    entitlement: string,
    quantity?: Amount,
    options?: ReserveOptions,
  ) => Promise<Reservation>
  /** Reports usage that has happened, and returns the usage of the period as the service describes it, with amounts as texts. */
  readonly report: (
    instance: string,
    entitlement: string,
    value?: Amount,
    options?: ReportOptions,
  ) => Promise<Readonly<Record<string, unknown>>>
  /** Opens a local buffer of reports. With a `path` they survive a restart. */
  readonly usageBuffer: (options?: BufferOptions) => Promise<UsageBuffer>
  /** Takes a seat of a `CONCURRENT` entitlement. Fails with the code `AcquireLease.LimitReached` if all are taken. */
  readonly acquireSeat: (instance: string, entitlement: string, request: SeatRequest) => Promise<Seat>
  /** Evaluates all flags for a context. */
  readonly flags: (context: Readonly<Record<string, unknown>>, options?: FlagOptions) => Promise<FlagSet>
  /** What the client knows of an instance, and how old it is. Local mode only. */
  readonly status: (instance: string) => Status
  /** Fetches the snapshot of an instance now. Fails if none came. Local mode only. */
  readonly refresh: (instance: string) => Promise<void>
  /** Ends streams and timers, and stores what was seen. Calls fail from then on. */
  readonly close: () => Promise<void>
}

const usageIn = (text: string): Readonly<Record<string, unknown>> | undefined => {
  const usage = parseExactly(text)
  return typeof own(usage, "usageValue") === "object" ? { ...(usage as object) } : undefined
}

const checkOf = (entitlement: string, requested: Amount | undefined): Check =>
  requested === undefined ? entitlement : { entitlement, requested }

/** Programs without types may forget the key, and would be charged twice. */
const keyed = (options: ConsumeOptions | undefined): ConsumeOptions & { readonly idempotencyKey: string } => ({
  ...options,
  idempotencyKey: keyOf(options?.idempotencyKey),
})

/** The result of answers by a snapshot, or by what replaces it. */
const resultOf = (instance: string, { ageMs, checks, source, ...rest }: LocalAnswers): CheckResult => {
  const answers = checks.map((one) => ({ ...one, source, ageMs }))
  const allowed = answers.every((one) => one.allowed)
  return { instance, ...rest, checks: answers, allowed, isConfirmed: source !== "policy" }
}

/** What a client is made of. */
interface Made {
  readonly send: ReturnType<typeof makeSend>
  /** `undefined` in remote mode. */
  readonly locals: Locals | undefined
  readonly whenAway: WhenAway
}

type Ask = (instance: string, parts: ReadonlyArray<Parts>, options: CallOptions & Asking) => Promise<CheckResult>

const makeChecks = ({ locals, send, whenAway: usual }: Made) => {
  const remotely: Ask = async (instance, parts, { whenAway = usual, ...asking }) => {
    const policy = policyOf(whenAway)
    return askService(send, instance, parts, asking).catch((error: unknown) => {
      if (policy === "fail" || !isServiceAway(error)) throw error
      return answerOfPolicy(
        instance,
        parts.map(({ entitlement }) => entitlement),
        policy === "open",
      )
    })
  }

  const consumeLocally = async (
    of: Locals,
    instance: string,
    parts: ReadonlyArray<Parts>,
    { idempotencyKey, signal, whenAway = usual }: ConsumeOptions,
  ): Promise<CheckResult> => {
    const policy = policyOf(whenAway)
    const key = idempotencyKey === undefined ? undefined : keyOf(idempotencyKey)
    const used = of.use(instance)
    const local = used instanceof Promise ? await used : used
    const answers = local.ledger.consume({ checks: parts, policy, key }, signal)
    return resultOf(instance, answers instanceof Promise ? await whileAlive(answers) : answers)
  }

  return {
    check: async (instance: string, checks: ReadonlyArray<Check>, options: CheckOptions): Promise<CheckResult> => {
      const parts = partsOf(checks)
      if (locals === undefined || options.remote === true || options.at !== undefined) {
        return remotely(instance, parts, options)
      }
      const policy = policyOf(options.whenAway ?? usual)
      const used = locals.use(instance)
      return resultOf(instance, (used instanceof Promise ? await used : used).answers(parts, policy))
    },
    consume: async (
      instance: string,
      checks: ReadonlyArray<Check>,
      options: ConsumeOptions | undefined,
    ): Promise<CheckResult> => {
      const parts = partsOf(checks)
      if (options !== undefined && "at" in options) {
        throw new TypeError("A consumption is now: it has no `at`")
      }
      if (locals === undefined || options?.remote === true) return remotely(instance, parts, keyed(options))
      return consumeLocally(locals, instance, parts, options ?? {})
    },
  }
}

const makeReserve =
  ({ locals, send, whenAway: usual }: Made): ProductClient["reserve"] =>
  async (instance, entitlement, quantity = 1, { remote, signal, ttlSeconds = 300, whenAway = usual } = {}) => {
    const policy = policyOf(whenAway)
    const [check = { entitlement, requested: undefined }] = partsOf([{ entitlement, requested: quantity }])
    if (!(Number.isInteger(ttlSeconds) && ttlSeconds >= 1 && ttlSeconds <= 86_400)) {
      throw new RangeError("ttlSeconds is a whole number from 1 to 86400")
    }
    const { localReservation, reserveRemotely } = await import("./Reservations.ts")
    if (locals === undefined || remote === true) {
      return reserveRemotely(send, instance, entitlement, check.requested ?? "1", ttlSeconds)
    }
    const local = await locals.use(instance)
    const held = await whileAlive(local.ledger.reserve({ checks: [check], policy }, ttlSeconds * 1000, signal))
    return localReservation(onlyOf(resultOf(instance, held.answers)), held)
  }

const makeEvaluate = ({ locals, send, whenAway: usual }: Made): ProductClient["flags"] => {
  const remotely = makeFlags(send)
  return async (context, { instance, remote, signal, whenAway = usual } = {}) => {
    const policy = policyOf(whenAway)
    if (locals === undefined || remote === true) return remotely(context, policy, signal)
    const named = instance ?? locals.only()
    if (named === undefined) throw new TypeError("Name the instance whose flags these are: { instance }")
    // As it is sent: what is no JSON is an error of the program, and later changes of the object change nothing.
    const sent = JSON.parse(jsonOf(context)) as typeof context
    const known = (await locals.use(named)).flags(sent, policy)
    // A credential that must not read flags, or more of them than a snapshot holds.
    return known === undefined ? remotely(context, policy, signal) : flagSetOf(known, known.source, known.ageMs)
  }
}

const needsLocal = (locals: Locals | undefined): Locals => {
  if (locals !== undefined) return locals
  throw new TypeError('In mode "remote" a client knows nothing: it has no status, and nothing to refresh')
}

const madeOf = (options: ProductClientOptions, platform: Platform): Made => {
  const { mode = "local" } = options
  if (mode !== "local" && mode !== "remote") throw new ConfigurationError("mode", 'must be "local" or "remote"')
  const whenAway = policyOf(options.whenAway ?? (mode === "local" ? "closed" : "fail"))
  const locals = mode === "local" ? makeLocals(options, platform) : undefined
  return { send: makeSend(options), locals, whenAway }
}

/** Makes a client on what a runtime can do. Throws `ConfigurationError`. */
export const makeProductClient = (
  options: ProductClientOptions,
  platform: Platform & { readonly openJournal: OpenJournal },
): ProductClient => {
  const made = madeOf(options, platform)
  const { locals, send } = made
  const { check, consume } = makeChecks(made)
  return {
    start: async (instance) => {
      const { failure, snapshot } = (await locals?.use(instance))?.view() ?? {}
      if (snapshot === undefined && failure?.type === "problem") throw failure.error
    },
    check: async (instance, entitlement, { requested, ...rest } = {}) =>
      onlyOf(await check(instance, [checkOf(entitlement, requested)], rest)),
    checkAll: (instance, checks, rest = {}) => check(instance, checks, rest),
    consume: async (instance, entitlement, { requested, ...rest } = {}) =>
      onlyOf(await consume(instance, [checkOf(entitlement, requested)], rest)),
    consumeAll: (instance, checks, rest) => consume(instance, checks, rest),
    report: async (
      instance,
      entitlement,
      value = 1,
      { signal, timestamp, transactionId = randomId(), ...rest } = {},
    ) => {
      const more = jsonOf({
        transactionId: labelOf("transactionId", transactionId),
        ...rest,
        ...(timestamp === undefined ? {} : { timestamp: timeText(timestamp) }),
      })
      const response = await send({
        method: "POST",
        path: pathOf("instances", instance, "entitlements", entitlement, "usage"),
        body: `{"value":${amountOf(value)},${more.slice(1)}`,
        // The service counts a transaction once.
        isIdempotent: true,
        ...(signal === undefined ? {} : { signal }),
      })
      return readAs(response, "the usage of a period", usageIn)
    },
    usageBuffer: async (rest = {}) => openBuffer(send, platform.openJournal, rest),
    acquireSeat: (instance, entitlement, request) => acquireSeat(send, instance, entitlement, request),
    reserve: makeReserve(made),
    flags: makeEvaluate(made),
    status: (instance) => needsLocal(locals).statusOf(instance),
    refresh: async (instance) => {
      const outcome = await whileAlive((await needsLocal(locals).use(instance)).refresh())
      if ("error" in outcome) throw outcome.error
    },
    close: async () => locals?.close(),
  }
}
