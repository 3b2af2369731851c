/** A day of 100 products that consume, crash and lose their network, in a time of its own. */
import { createHash } from "node:crypto"
import { makeNetwork } from "./network.ts"
import { makeProduct, slugs } from "./product.ts"
import type { Counts, Product } from "./product.ts"
import { makeSchedule, randomOf, withFastCrypto } from "./schedule.ts"
import { makeModel } from "./service.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

interface Options {
  readonly seed: number
  readonly products: number
  readonly hours: number
  /** Whether directories are copied and restored. */
  readonly copies: boolean
}

/** From the first to the last, each as likely in its logarithm. */
const between = (random: () => number, least: number, greatest: number): number =>
  least * Math.exp(random() * Math.log(greatest / least))

const run = async ({ copies, hours, products: number, seed }: Options) => {
  const random = randomOf(seed)
  const schedule = makeSchedule()
  const { after, now } = schedule
  const model = makeModel(now)
  const trace = createHash("sha256")
  let events = 0
  const note = (text: string) => {
    events++
    trace.update(`${now().toFixed(3)} ${text}\n`)
  }
  const counts: Counts = { acknowledged: new Map(), faults: [], reasons: new Map(), consumed: 0, denied: 0 }
  const network = makeNetwork(schedule, random, model, note)
  let isOver = false
  let rejected = 0
  let copied = 0
  let lateChanges = 0
  let changes = 0
  const errors: Array<string> = []
  const world = {
    schedule,
    random,
    network,
    model,
    counts,
    note,
    onEvent: (event: { readonly type: string; readonly error?: unknown }) => {
      if (event.type === "rejected") rejected++
      const text = event.type === "error" ? String(event.error) : ""
      if (text !== "" && !/lost|refused|away|Request.Invalid/.test(text)) errors.push(`${text} at ${now()}`)
    },
  }
  const products: Array<Product> = Array.from({ length: number }, () =>
    makeProduct(
      world,
      { snapshot: undefined, ledger: "" },
      random() < 0.1 ? 3 * HOUR * (random() - 0.5) : 6_000 * (random() - 0.5),
    ),
  )

  const repeat = (least: number, greatest: number, work: () => void) => {
    const next = () =>
      after(between(random, least, greatest), () => {
        if (isOver) return
        work()
        next()
      })
    next()
  }

  const burst = (product: Product, left: number): void => {
    if (left <= 0 || isOver) return
    // Most crashes are those of work.
    if (product.isRunning() && random() < 0.01) {
      product.kill()
      after(between(random, 100, MINUTE), product.start)
    }
    const slug = slugs[Math.floor((1 - random() ** 2) * slugs.length)] ?? "large"
    const amount = slug === "small" ? 1 : Math.ceil(between(random, 1, slug === "medium" ? 20 : 500))
    if (random() < 0.05) {
      void product.reserve(slug, amount, Math.floor(amount * random()), between(random, 100, 20_000))
    } else {
      const both = random() < 0.2 ? [...new Set([slug, "large"])] : [slug]
      void product.consume(both, amount, random() < 0.3 ? `key-${random()}` : undefined)
    }
    after(between(random, 100, 5_000), () => burst(product, left - 1))
  }

  for (const product of products) {
    after(between(random, 10, 10 * MINUTE), () => {
      product.start()
      repeat(10 * MINUTE, 3 * HOUR, () => burst(product, Math.ceil(between(random, 2, 40))))
      repeat(HOUR, 12 * HOUR, () => {
        const pause = between(random, 100, HOUR)
        if (random() < 0.7) {
          product.kill()
          after(pause, product.start)
        } else void product.close().then(() => after(pause, product.start))
      })
    })
  }
  repeat(10 * MINUTE, 4 * HOUR, () => {
    if (!network.isUp()) return
    network.stop()
    note("down")
    after(between(random, 1_000, 6 * HOUR), () => {
      network.start()
      note("up")
    })
  })
  repeat(5 * MINUTE, 2 * HOUR, () => {
    if (!network.isUp()) return
    const since = now()
    changes++
    network.change()
    const connected = products.filter(
      (one) => one.local()?.view().state === "LIVE" && one.connection()?.openedAt() !== undefined,
    )
    const connections = connected.map((one) => one.connection())
    after(1_000, () => {
      for (const [place, product] of connected.entries()) {
        const connection = product.connection()
        const isSame = connection === connections[place] && connection?.openedAt() !== undefined
        if (!isSame || !network.isUp() || network.upSince() > since - 20_000 || connection.troubleAt() > since - 15_000)
          continue
        const [sso] = product.local()?.answers([{ entitlement: "sso" }], "closed").checks ?? []
        if (sso !== undefined && sso.allowed !== model.isOn()) lateChanges++
      }
    })
  })
  if (copies) {
    // A machine is restored a moment after something was left to spend.
    repeat(2_000, 20_000, () => {
      if (random() < 0.97) return
      const isLoaded = (one: Product) =>
        one
          .local()
          ?.ledger.status()
          .tranches.some(({ unspent }) => unspent !== "0")
      const product = products.find(isLoaded)
      if (product === undefined) return
      const disk = { ...product.disk }
      after(between(random, 500, MINUTE), () => {
        copied++
        product.kill()
        Object.assign(product.disk, disk)
        product.start()
        burst(product, 10)
      })
    })
  }

  await schedule.runUntil(hours * HOUR)
  isOver = true
  network.mend()
  network.start()
  await schedule.runUntil((hours + 1) * HOUR + 10 * MINUTE)
  for (const product of products) if (!product.isRunning()) product.start()
  await schedule.runUntil((hours + 1) * HOUR + 20 * MINUTE)
  for (const product of products) void product.close()
  await schedule.runUntil((hours + 1) * HOUR + 30 * MINUTE)

  return { counts, model, errors, rejected, copied, changes, lateChanges, events, trace: trace.digest("hex") }
}

/** Plays a run. */
export const play = (options: Options) => withFastCrypto(() => run(options))
