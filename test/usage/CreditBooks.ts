/**
 * A plain reference of what credits pay: lists of what happened, from which each answer is added up anew. It shares no rule with the service.
 * Amounts are halves, as integers.
 */

/** What a credit paid for an event, or with a negative quantity what was returned to it. */
interface Entry {
  readonly credit: number
  quantity: number
  /** What it returns a part of. */
  readonly of?: Entry
}

interface Happening {
  readonly at: number
  readonly isSet: boolean
  readonly value: number
  readonly entries: Array<Entry>
  isVoided: boolean
}

interface Bought {
  readonly amount: number
  readonly priority: number
  readonly startsAt: number
  readonly expiresAt: number
  voided: boolean
}

interface Hold {
  readonly quantity: number
  readonly aside: ReadonlyArray<Entry>
  readonly createdAt: number
  readonly expiresAt: number
  isEnded: boolean
}

interface Granted {
  readonly limit: number
  readonly overagePercent: number
}

const DAY = 86_400_000

const startOf = (at: number): number => Math.floor(at / DAY) * DAY

const total = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0)

interface Figures {
  readonly limit: number | null
  readonly usage: number
  readonly remaining: number | null
  readonly overage: number | null
  readonly credits?: number
}

export class CreditBooks {
  grant: Granted | null = null
  readonly credits: Array<Bought> = []
  readonly happenings: Array<Happening> = []
  readonly holds: Array<Hold> = []

  /** The usage of a day: in the order of time, a `set` replaces what is before it. */
  usage(day: number): number {
    const own = this.happenings.filter(({ at, isVoided }) => !isVoided && startOf(at) === day)
    return own
      .toSorted((one, other) => one.at - other.at)
      .reduce((sum, { isSet, value }) => (isSet ? value : sum + value), 0)
  }

  /** What credits have paid of the events of some times. What a voided correction returned stays returned. */
  #paid(isIn: (at: number) => boolean, credit?: number): number {
    return total(
      this.happenings
        .filter(({ at }) => isIn(at))
        .flatMap(({ entries }) => entries)
        .filter((entry) => credit === undefined || entry.credit === credit)
        .map(({ quantity }) => quantity),
    )
  }

  burned(day: number): number {
    return this.#paid((at) => startOf(at) === day)
  }

  used(credit: number): number {
    return this.#paid(() => true, credit)
  }

  /** The most that a credit had paid at this time or at a later one. */
  #mostUsed(credit: number, from: number): number {
    const instants = [from, ...this.happenings.map(({ at }) => at).filter((at) => at > from)]
    return Math.max(...instants.map((instant) => this.#paid((at) => at <= instant, credit)))
  }

  #held(now: number): ReadonlyArray<Hold> {
    return this.holds.filter(({ expiresAt, isEnded }) => !isEnded && expiresAt > now)
  }

  held(day: number, now: number): number {
    return total(
      this.#held(now)
        .filter(({ createdAt, expiresAt }) => createdAt < day + DAY && expiresAt > day)
        .map(({ aside, quantity }) => quantity - total(aside.map((entry) => entry.quantity))),
    )
  }

  /** What is left of the credits that pay for a time, in burn order. */
  left(at: number, now: number): ReadonlyArray<{ readonly credit: number; readonly left: number }> {
    const aside = this.#held(now).flatMap((hold) => hold.aside)
    return this.credits
      .map((credit, number) => ({ ...credit, number }))
      .filter(({ expiresAt, startsAt, voided }) => !voided && startsAt <= at && at < expiresAt)
      .toSorted(
        (one, other) => one.priority - other.priority || one.expiresAt - other.expiresAt || one.number - other.number,
      )
      .map(({ amount, number }) => ({
        credit: number,
        left: Math.max(
          0,
          amount -
            this.#mostUsed(number, at) -
            total(aside.filter(({ credit }) => credit === number).map(({ quantity }) => quantity)),
        ),
      }))
  }

  /** How a quantity is paid at a time, by what is known now. */
  split(quantity: number, at: number, now: number) {
    const day = startOf(at)
    const credits = this.left(at, now)
    const limit = this.grant?.limit ?? (credits.length > 0 ? 0 : undefined)
    if (limit === undefined) return { allowed: false, entries: [] }
    if (limit === -1) return { allowed: true, entries: [] }
    const taken = this.usage(day) - this.burned(day) + this.held(day, now)
    const included = Math.min(quantity, Math.max(0, limit - taken))
    let rest = quantity - included
    const entries: Array<Entry> = []
    for (const { credit, left } of credits) {
      const part = Math.min(rest, left)
      if (part > 0) entries.push({ credit, quantity: part })
      rest -= part
    }
    const cap = (limit * (100 + (this.grant?.overagePercent ?? 0))) / 100
    const isCovered = quantity === 0 ? taken <= limit || credits.some(({ left }) => left > 0) : rest === 0
    const allowed = isCovered || taken + included + rest <= cap
    return { allowed, entries: allowed ? entries : [] }
  }

  /** Counts a value: an amount, a correction, or a `set`. Returns the status of the answer. */
  count(value: number, at: number, now: number, isSet = false): number {
    const day = startOf(at)
    const happening: Happening = { at, isSet, value, entries: [], isVoided: false }
    const before = this.usage(day)
    const standing = { net: before - this.burned(day) }
    this.happenings.push(happening)
    const change = this.usage(day) - before
    const isNegative = this.usage(day) < 0
    this.happenings.pop()
    if (isNegative) return 422
    if (change < 0) {
      const limit = this.grant?.limit ?? 0
      const overage = limit === -1 ? 0 : Math.max(0, standing.net - limit)
      this.#giveBack(happening, day, Math.max(0, -change - overage))
    } else if (change > 0) {
      const { allowed, entries } = this.split(change, at, now)
      if (!allowed) return 409
      happening.entries.push(...entries)
    } else if (this.grant === null && this.left(at, now).length === 0) {
      return 409
    }
    this.happenings.push(happening)
    return 200
  }

  #giveBack(correction: Happening, day: number, quantity: number): void {
    let rest = quantity
    const paid = this.happenings
      .filter(({ at }) => startOf(at) === day && at <= correction.at)
      .toSorted((one, other) => one.at - other.at)
      .flatMap(({ entries }) => entries.filter(({ of }) => of === undefined))
    for (const entry of paid.toReversed()) {
      const part = Math.min(rest, this.#outstanding(entry))
      if (part > 0) correction.entries.push({ credit: entry.credit, quantity: -part, of: entry })
      rest -= part
    }
  }

  #outstanding(entry: Entry): number {
    const returned = this.happenings.flatMap(({ entries }) => entries).filter(({ of }) => of === entry)
    return entry.quantity + total(returned.map(({ quantity }) => quantity))
  }

  /** Voids what happened: what it burned is as if it had never been, and so is what was returned of that. */
  void(number: number): void {
    const happening = this.happenings[number] as Happening
    happening.isVoided = true
    const own = happening.entries.filter(({ of }) => of === undefined)
    for (const other of this.happenings) {
      const kept = other.entries.filter(
        (entry) => !own.includes(entry) && (entry.of === undefined || !own.includes(entry.of)),
      )
      other.entries.splice(0, other.entries.length, ...kept)
    }
  }

  reserve(quantity: number, now: number, seconds: number): number {
    const expiresAt = now + seconds * 1000
    const { allowed, entries } = this.split(quantity, now, now)
    if (!allowed) return 409
    const rest = quantity - total(entries.map((entry) => entry.quantity))
    for (let day = startOf(now) + DAY; day < expiresAt; day += DAY) {
      if (rest === 0) break
      if (this.grant === null) return 409
      if (this.grant.limit === -1) continue
      const cap = (this.grant.limit * (100 + this.grant.overagePercent)) / 100
      if (this.usage(day) - this.burned(day) + this.held(day, now) + rest > cap) return 409
    }
    this.holds.push({ quantity, aside: entries, createdAt: now, expiresAt, isEnded: false })
    return 201
  }

  /** Ends a reservation, with usage or without. Returns whether it was held. */
  end(number: number, now: number, used: number): boolean {
    const hold = this.holds[number] as Hold
    if (hold.isEnded || hold.expiresAt <= now) return false
    hold.isEnded = true
    if (used === 0) return true
    const day = startOf(now)
    const limit = this.grant?.limit ?? 0
    const taken = this.usage(day) - this.burned(day) + this.held(day, now)
    let rest = limit === -1 ? 0 : used - Math.min(used, Math.max(0, limit - taken))
    const entries: Array<Entry> = []
    const take = (credit: number, most: number) => {
      const part = Math.min(rest, most)
      const own = entries.find((entry) => entry.credit === credit)
      if (own !== undefined) own.quantity += part
      else if (part > 0) entries.push({ credit, quantity: part })
      rest -= part
    }
    for (const { credit, quantity } of hold.aside) if (this.credits[credit]?.voided === false) take(credit, quantity)
    for (const { credit, left } of this.left(now, now)) {
      take(credit, left - (entries.find((entry) => entry.credit === credit)?.quantity ?? 0))
    }
    this.happenings.push({ at: now, isSet: false, value: used, entries, isVoided: false })
    return true
  }

  /** The figures of a check of the present. */
  figures(now: number): Figures {
    const day = startOf(now)
    const credits = this.left(now, now)
    const limit = this.grant?.limit ?? (credits.length > 0 ? 0 : null)
    const usage = this.usage(day)
    const own = credits.length === 0 ? {} : { credits: total(credits.map(({ left }) => left)) }
    if (limit === null) return { limit, usage, remaining: null, overage: null }
    if (limit === -1) return { limit, usage, remaining: -1, overage: 0, ...own }
    const net = usage - this.burned(day)
    const remaining = Math.max(0, limit - net - this.held(day, now)) + (own.credits ?? 0)
    return { limit, usage, remaining, overage: Math.max(0, net - limit), ...own }
  }
}
