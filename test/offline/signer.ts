/** Signs tokens with the test keys of the vectors. The service signs with the same library. */
import { CompactSign, importJWK } from "jose"
import type { CompactJWSHeaderParameters } from "jose"
import { createHash } from "node:crypto"
import type { Claims } from "../../src/offline/index.ts"
import { bundles, decisions, issuing } from "./vectors.ts"

/** A key that signs, and its public half. */
interface Signer {
  readonly kid: string
  readonly x: string
  readonly sign: (payload: unknown, typ?: string) => Promise<string>
  /** Signs bytes, which need not be JSON, under any header. */
  readonly signBytes: (payload: Uint8Array, header: CompactJWSHeaderParameters) => Promise<string>
}

const thumbprint = (x: string) =>
  createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest("base64url")

/** A signer with a private key as in RFC 8037. */
export const makeSigner = (d: string, x: string): Signer => {
  const kid = thumbprint(x)
  const key = importJWK({ kty: "OKP", crv: "Ed25519", x, d }, "EdDSA")
  const signBytes = async (payload: Uint8Array, header: CompactJWSHeaderParameters) =>
    new CompactSign(payload).setProtectedHeader(header).sign(await key)
  return {
    kid,
    x,
    sign: (payload, typ = "keyshelf-bundle+jwt") =>
      signBytes(new TextEncoder().encode(JSON.stringify(payload)), { typ, alg: "EdDSA", kid }),
    signBytes,
  }
}

const { seed, x } = issuing.cases[0] ?? { seed: "", x: "" }

/** The current key of the vectors. */
export const current = makeSigner(seed, x)

/** A key that only this run knows. */
export const newSigner = async (): Promise<Signer> => {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])
  const { d = "", x = "" } = await crypto.subtle.exportKey("jwk", "privateKey" in pair ? pair.privateKey : pair)
  return makeSigner(d, x)
}

/** The claims of the vectors. */
export const claims: Claims = decisions.claims

export const issuer = claims.iss

/** Inside the life of the claims. */
export const now = claims.iat + 3600

/** The options under which the claims, signed by the current key, are valid. */
export const options = { keys: { [current.kid]: current.x }, issuer, now }

/** The first vector, a valid bundle of 3 kB. */
export const goodToken = bundles.cases[0]?.token ?? ""
