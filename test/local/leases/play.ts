/** Plays a vector of credit leases by ledgers of local clients, under a clock of its own. */
import type { Clock } from "../../../src/local/index.ts"
import type { LocalReservation } from "../../../src/local/ledger/Reserving.ts"
import { makeSlot } from "./slot.ts"
import type { Answer } from "./slot.ts"
import type { LeaseVector, Operation } from "./vectors.ts"

interface Open {
  readonly slot: Awaited<ReturnType<typeof makeSlot>>
  readonly credits: number
  readonly reservation: LocalReservation
}

/** A clock that moves only when it is moved. It counts the works whose time has come. */
const makeClock = () => {
  let now = 0
  let ended = 0
  let timers: Array<{ readonly at: number; readonly work: () => void }> = []
  const clock: Clock = {
    wall: () => now,
    monotonic: () => now,
    random: () => 0.5,
    after: (millis, work) => {
      const timer = { at: now + millis, work }
      timers.push(timer)
      return () => {
        timers = timers.filter((one) => one !== timer)
      }
    },
  }
  return {
    clock,
    now: () => now,
    ended: () => ended,
    advance: (millis: number) => {
      now += millis
      for (const timer of timers.filter(({ at }) => at <= now)) {
        ended++
        timer.work()
      }
    },
  }
}

const answerOf = ({ server }: Operation): Answer => server?.lease ?? "away"

/** Plays a vector. Returns what was seen after each of its operations. */
export const playLeases = async ({ given, operations }: LeaseVector) => {
  const time = makeClock()
  const slots = new Map<string, Awaited<ReturnType<typeof makeSlot>>>()
  const reserved = new Map<string, Open>()
  const calls = { acquires: 0, extends: 0 }
  let latest: Open | undefined
  let swept = 0

  const slotOf = async (company = "", credit = "") => {
    const name = `${company} ${credit}`
    const known = slots.get(name) ?? (await makeSlot(time.clock, time.now))
    slots.set(name, known)
    return known
  }
  const released = () =>
    [...slots.values()].flatMap(({ requests }) => requests.flatMap(({ released = [] }) => released))

  const run = async (operation: Operation, next: Operation | undefined): Promise<Readonly<Record<string, unknown>>> => {
    const { company_id, credit_type_id, credits = 0, op } = operation
    const slot = await slotOf(company_id, credit_type_id)
    switch (op) {
      case "advance_clock":
        time.advance(operation.ms ?? 0)
        return {}
      case "replace_lease":
        return { written: await slot.acquire(operation.granted_amount ?? 0, operation as never) }
      case "acquire_if_needed": {
        const before = slot.requests.length
        await slot.acquire(given?.config?.lease_size ?? 0, answerOf(operation))
        calls.acquires += slot.requests.length - before
        const requested = Number(slot.requests.at(-1)?.tranches[0]?.need)
        const seen = { lease_id: slot.leaseId(), wire_acquires: calls.acquires }
        return { ...seen, last_acquire_requested_amount: requested, released_lease_ids: released() }
      }
      case "maybe_extend": {
        const before = slot.requests.length
        await slot.extend(answerOf(operation))
        calls.extends += slot.requests.length - before
        return { wire_extends: calls.extends }
      }
      case "try_reserve": {
        if (credits < 0) return { balance: null }
        // What a lease serves ends with it, or with the time that the reservation has.
        const ends = next?.op === "add_reservation" ? (next.expires_at_ms ?? Infinity) : Infinity
        const reservation = await slot.reserve(credits, Math.min(ends, slot.expiresAt()) - time.now())
        latest = reservation === undefined ? undefined : { slot, credits, reservation }
        return { balance: reservation === undefined ? null : slot.unspent() }
      }
      case "add_reservation":
        if (latest?.credits !== operation.credits_reserved) throw new Error(`Nothing is reserved for ${operation.id}`)
        reserved.set(operation.id ?? "", latest as Open)
        return {}
      case "consume_reservation": {
        const open = reserved.get(operation.id ?? "")
        const used = Math.min(credits, open?.credits ?? 0)
        return { consumed: open?.reservation.commit(String(used)) === true ? used : null }
      }
      case "get_reservation": {
        const open = reserved.get(operation.id ?? "")
        return { exists: open !== undefined && open.slot.reserved() >= open.credits }
      }
      case "sweep_expired": {
        const before = swept
        swept = time.ended()
        return { swept: swept - before }
      }
      case "get_lease":
        return slot.lease()
      case "reserved_credits":
        return { total: slot.reserved() }
      case "release_all_local_leases":
        for (const one of slots.values()) await one.close()
        return { released_lease_ids: released() }
      case "check": {
        const { consumption_rate: rate = 1, credit_id } = operation.engine?.[0]?.entitlement ?? {}
        const own = await slotOf(operation.company?.id, credit_id)
        const amount = (operation.usage ?? 0) * rate
        const reservation = await own.reserve(amount, own.expiresAt() - time.now())
        if (reservation !== undefined) {
          reserved.set(operation.save_reservation_as ?? "", { slot: own, credits: amount, reservation })
        }
        return { allowed: reservation !== undefined, has_reservation: reservation !== undefined }
      }
      case "track": {
        const open = reserved.get(operation.handle ?? "") as Open
        const check = operations.find(({ save_reservation_as }) => save_reservation_as === operation.handle)
        const rate = check?.engine?.[0]?.entitlement?.consumption_rate ?? 1
        const settled = open.reservation.commit(String((operation.actual_quantity ?? 0) * rate))
        const track = { event: check?.event_subtype, quantity: open.slot.spent() / rate, lease_id: open.slot.leaseId() }
        return { settled_locally: settled, track }
      }
      default:
        throw new Error(`Unknown operation: ${op}`)
    }
  }

  for (const lease of given?.leases ?? []) {
    const slot = await slotOf(lease.company_id, lease.credit_type_id)
    await slot.acquire(lease.granted_amount, lease)
  }
  const seen: Array<Readonly<Record<string, unknown>>> = []
  for (const [place, operation] of operations.entries()) {
    const all = await run(operation, operations[place + 1])
    // A vector names the part that it is about.
    seen.push(Object.fromEntries(Object.keys(operation.expect ?? {}).map((name) => [name, all[name]])))
  }
  return seen
}
