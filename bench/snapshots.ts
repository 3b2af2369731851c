/** Signed snapshots for benchmarks that need no service. */
import { createHash, generateKeyPairSync, sign } from "node:crypto"

/** What a snapshot is of. */
interface Content {
  readonly instance: string
  readonly id: string
  readonly entitlements: number
  readonly flags: number
}

const text = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const claimsOf = (now: number, issuer: string, { entitlements, flags, id, instance }: Content) => {
  const at = (seconds: number) => new Date((now + seconds) * 1000).toISOString()
  const year = 365 * 86_400
  const named = (slug: string) => ({ slug, name: slug })
  const numbers = Array.from({ length: entitlements - 1 }, (_, index) => ({
    slug: `calls-${index}`,
    type: "NUMBER",
    limit: "1000000",
    overagePercent: "10",
    aggregation: "SUM",
    used: "4711.5",
    usedFrom: at(-86_400),
    period: "MONTH/CALENDAR",
  }))
  const starts = Array.from({ length: 5 }, (_, index) => at(-86_400 + index * 30 * 86_400))
  const rules = Array.from({ length: flags }, (_, index) => ({
    key: `flag-${index}`,
    metadata: {},
    targetings: [
      {
        name: "eu",
        conditions: [{ attribute: "country", operator: "IN", values: ["fr", "de"] }],
        percentage: 50,
        value: true,
        variant: "on",
      },
    ],
    otherwise: { value: false, variant: "off", reason: "STATIC" },
  }))
  return {
    v: 1,
    iss: issuer,
    sub: id,
    jti: "0198c2b1-1111-7000-8000-000000000007",
    seq: 1,
    iat: now,
    nbf: now,
    renew: now + 600,
    exp: now + 604_800,
    instance: named(instance),
    customer: named("globex"),
    license: {
      ...named("pro-v1"),
      family: "pro",
      version: "1",
      type: "PAID",
      start: at(-year),
      termEnd: at(year),
      end: at(year + 86_400),
    },
    complete: true,
    away: { then: "DENY" },
    entitlements: [{ slug: "sso", type: "BOOLEAN", value: true }, ...numbers],
    periods: { "MONTH/CALENDAR": { starts } },
    flags: {},
    rules,
    zone: null,
    release: null,
    binding: null,
    usage: { until: now + 604_800 },
  }
}

/** Makes what signs snapshots of now, and the key that verifies them. */
export const makeSigner = () => {
  const issuer = "urn:keyshelf:organization:0198c2b0-0a11-7d52-8a39-2f6c1e8a7054"
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const x = String(publicKey.export({ format: "jwk" }).x)
  const kid = createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest("base64url")
  const head = text({ typ: "keyshelf-bundle+jwt", alg: "EdDSA", kid })
  return {
    issuer,
    kid,
    x,
    snapshot: (content: Content): string => {
      const signed = `${head}.${text(claimsOf(Math.floor(Date.now() / 1000), issuer, content))}`
      return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`
    },
  }
}
