/** Random settings schemas with matching values, reproducible from a seed. */

/** A random generator with a seed (mulberry32). */
const randomFrom = (seed: number) => {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    below: (count: number) => Math.floor(next() * count),
    chance: (probability: number) => next() < probability,
  }
}

interface Sample {
  readonly schema: object
  readonly value: unknown
}

/** A schema, a matching value, and the secret texts in it. */
interface Case {
  readonly schema: { readonly [name: string]: unknown }
  readonly value: { readonly [name: string]: unknown }
  readonly secrets: ReadonlyArray<string>
}

/** Creates a case. With `arraysOfSecrets: false` every secret has a path by identity, so that `***` can keep it. */
export const randomCase = (seed: number, options: { readonly arraysOfSecrets: boolean }): Case => {
  const random = randomFrom(seed)
  const secrets: Array<string> = []
  const definitions: Record<string, object> = {}
  let serial = 0

  const wrap = (schema: object): object => {
    switch (random.below(8)) {
      case 0: {
        const name = `d${serial++}`
        definitions[name] = schema
        return { $ref: `#/$defs/${name}` }
      }
      case 1:
        return { allOf: [{ description: "one" }, schema] }
      case 2:
        return { oneOf: [{ type: "null" }, schema] }
      case 3:
        return { anyOf: [schema, { type: "boolean" }] }
      case 4:
        return { if: { type: "null" }, else: schema }
      default:
        return schema
    }
  }

  const leaf = (canBeSecret: boolean): Sample => {
    const serialNumber = serial++
    if (canBeSecret && random.chance(0.5)) {
      const secret = `secret-${seed}-${serialNumber}-${random.below(1e9)}`
      secrets.push(secret)
      const whole = random.below(4)
      if (whole === 0) return { schema: { type: "object", writeOnly: true }, value: { inner: [secret] } }
      return { schema: wrap({ type: "string", writeOnly: true }), value: secret }
    }
    return { schema: wrap({ type: "string" }), value: `plain-${serialNumber}` }
  }

  const node = (depth: number, canBeSecret: boolean): Sample => {
    const kind = depth === 0 ? 3 : random.below(5)
    if (kind === 0) return object(depth - 1, canBeSecret)
    if (kind === 1) {
      const item = random.chance(0.7) ? object(depth - 1, canBeSecret) : leaf(canBeSecret && options.arraysOfSecrets)
      return identified(item)
    }
    if (kind === 2) {
      const property = leaf(canBeSecret)
      const keyword = random.chance(0.5)
        ? { additionalProperties: property.schema }
        : { patternProperties: { "^k": property.schema } }
      return { schema: wrap({ type: "object", ...keyword }), value: { k1: property.value } }
    }
    return leaf(canBeSecret)
  }

  const identified = (item: Sample): Sample => {
    const name = ["id", "key", "name"][random.below(3)] ?? "id"
    if (typeof item.value !== "object" || item.value === null) {
      const prefix = random.chance(0.3) ? { prefixItems: [item.schema] } : { items: item.schema }
      return { schema: wrap({ type: "array", ...prefix }), value: [item.value] }
    }
    const named = { allOf: [{ properties: { [name]: { type: "string" } } }, item.schema] }
    return {
      schema: wrap({ type: "array", items: named }),
      value: [{ ...item.value, [name]: `item-${serial++}` }],
    }
  }

  const object = (depth: number, canBeSecret: boolean): Sample => {
    const entries = Array.from(
      { length: 1 + random.below(3) },
      () => [`m${serial++}`, node(depth, canBeSecret)] as const,
    )
    const later = random.chance(0.3) ? entries.slice(1) : []
    const first = entries.filter((entry) => !later.includes(entry))
    const properties = (list: typeof entries) => Object.fromEntries(list.map(([key, { schema }]) => [key, schema]))
    return {
      schema: wrap({
        type: "object",
        properties: properties(first),
        ...(later.length === 0 ? {} : { dependentSchemas: { never: { properties: properties(later) } } }),
      }),
      value: Object.fromEntries(entries.map(([key, { value }]) => [key, value])),
    }
  }

  const root = object(3, true)
  return {
    schema: { type: "object", ...root.schema, $defs: definitions },
    value: root.value as Case["value"],
    secrets,
  }
}
