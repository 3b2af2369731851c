/** Salesforce: accounts of the org, with the JWT bearer flow. */
import { Effect, Predicate } from "effect"
import { createPrivateKey, sign } from "node:crypto"
import type { JsonObject } from "../Model.ts"
import type { Adapter } from "./Adapter.ts"
import { baseOf, baseUrlSchema, failure, isSuccess, limits, objectOf, textOf } from "./ProviderResponses.ts"

const LOGIN = "https://login.salesforce.com"
const ASSERTION_SECONDS = 180

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")

/** Signs the assertion that the client acts for the user. Returns `undefined` if the private key is not an RSA key. */
const assertionOf = (settings: JsonObject, audience: string, at: Date): string | undefined => {
  const claims = {
    iss: textOf(settings, "clientId"),
    sub: textOf(settings, "username"),
    aud: audience,
    exp: Math.floor(at.getTime() / 1000) + ASSERTION_SECONDS,
  }
  const text = `${encoded({ alg: "RS256", typ: "JWT" })}.${encoded(claims)}`
  try {
    const key = createPrivateKey(textOf(settings, "privateKey"))
    if (key.asymmetricKeyType !== "rsa") return undefined
    return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`
  } catch {
    return undefined
  }
}

export const salesforce: Adapter = {
  id: "00000000-0000-7000-8000-0000000000c3",
  name: "service.integration.crm.salesforce",
  version: "1",
  schema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Salesforce",
    type: "object",
    additionalProperties: false,
    required: ["clientId", "username", "privateKey"],
    properties: {
      loginUrl: baseUrlSchema(
        "Login address: https://login.salesforce.com for production, https://test.salesforce.com for sandboxes, or My Domain",
        LOGIN,
      ),
      clientId: { type: "string", title: "Consumer key of the connected app", minLength: 1, maxLength: 1024 },
      username: { type: "string", title: "User that the connected app acts for", minLength: 1, maxLength: 255 },
      privateKey: {
        type: "string",
        title: "RSA private key of the connected app's certificate, as PEM",
        pattern: "^-----BEGIN [A-Z ]*PRIVATE KEY-----",
        maxLength: 16_384,
        writeOnly: true,
      },
      apiVersion: { type: "string", title: "Version of the REST API", pattern: "^v\\d{2}\\.0$", default: "v67.0" },
      object: {
        type: "string",
        title: "Object that represents customers",
        pattern: "^[A-Za-z][A-Za-z0-9_]*$",
        maxLength: 255,
        default: "Account",
      },
      externalIdField: {
        type: "string",
        title: "Field with the external id",
        pattern: "^[A-Za-z][A-Za-z0-9_]*$",
        maxLength: 255,
        default: "Id",
      },
      fieldMap: {
        type: "object",
        title: "Fields that a customer's properties are read from",
        additionalProperties: false,
        properties: {
          name: { type: "string", pattern: "^[A-Za-z][A-Za-z0-9_.]*$", maxLength: 255, default: "Name" },
          domain: { type: "string", pattern: "^[A-Za-z][A-Za-z0-9_.]*$", maxLength: 255, default: "Website" },
        },
      },
    },
  },
  verify: Effect.fnUntraced(function* (settings, http, at) {
    const base = baseOf(settings, "loginUrl", LOGIN)
    const assertion = assertionOf(settings, base, at)
    if (assertion === undefined) return { succeeded: false, message: "The private key is not an RSA key in PEM format" }
    const granted = yield* http.send({
      method: "POST",
      url: `${base}/services/oauth2/token`,
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion }).toString(),
      ...limits,
    })
    const grant = objectOf(granted)
    const token = grant["access_token"]
    if (!isSuccess(granted) || !Predicate.isString(token) || !/^[\x21-\x7e]+$/.test(token)) {
      return { ...failure("Salesforce", granted, grant["error_description"] ?? grant["error"]), secrets: [assertion] }
    }
    const secrets = [assertion, token]
    const response = yield* http.send({
      method: "GET",
      url: `${base}/services/oauth2/userinfo`,
      headers: { accept: "application/json", authorization: `Bearer ${token}` },
      ...limits,
    })
    const user = objectOf(response)
    if (!isSuccess(response) || !Predicate.isString(user["user_id"])) {
      return { ...failure("Salesforce", response, user["error_description"] ?? user["error"]), secrets }
    }
    const name = textOf(user, "preferred_username", textOf(settings, "username"))
    return { succeeded: true, message: `Salesforce accepted the app for ${name}`, secrets }
  }),
}
