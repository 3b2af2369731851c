/** Forms in which a client may send a credential, and forms that a careless reader could take for one. */

/** The spellings of `Authorization: Bearer <credential>` (RFC 9110, sections 5.5, 11.1 and 11.4). */
export const spellings = (credential: string): ReadonlyArray<string> => [
  `Authorization: Bearer ${credential}`,
  `authorization:Bearer ${credential}`,
  `AUTHORIZATION: BEARER   ${credential}`,
  `Authorization: \tBearer ${credential}`,
  `Authorization:\t bEARER ${credential} \t `,
]

/** Values that are no spelling of a credential, but that some reader could take for one. */
export const valuesLike = (credential: string): ReadonlyArray<string> => [
  `Bearer\t${credential}`,
  `Bearer \t${credential}`,
  `Bearer\t ${credential}`,
  `Bearer\u00a0${credential}`,
  `\u00a0Bearer ${credential}`,
  `\u0085Bearer ${credential}`,
  `Bearer ${credential}\u00a0`,
  `Bearer ${credential} x`,
  `Bearer ${credential}\tx`,
  `Bearer x ${credential}`,
  `Bearer Bearer ${credential}`,
  `Bearer  Bearer ${credential}`,
  `Bearer ${credential};`,
  `Bearer ;${credential}`,
  `Bearer "${credential}"`,
  `"Bearer ${credential}"`,
  `Bearer <${credential}>`,
  `Bearer=${credential}`,
  `Bearer:${credential}`,
  `Bearer%20${credential}`,
  `Bearer${credential}`,
  `B\u00e9arer ${credential}`,
  `Basic ${credential}`,
  `Token ${credential}`,
  `DPoP ${credential}`,
  `Digest username="${credential}"`,
  credential,
  "Bearer",
  "",
  `Bearer ${credential},`,
  `,Bearer ${credential}`,
  `,\tBearer ${credential}`,
  `Bearer, ${credential}`,
  `Bearer ${credential}, Bearer ${credential}`,
  `Bearer ${credential},${credential}`,
  `Bearer a.b.c, Bearer ${credential}`,
  `Bearer eyJh.eyJh.AA,\tBearer ${credential}`,
  `Basic eDp5, Bearer ${credential}`,
  `Digest realm="x",\tBearer ${credential}`,
]

/** Header lines that are not one credential in one well-formed header, but that some reader could take for it. */
export const linesLike = (credential: string): ReadonlyArray<ReadonlyArray<string>> => [
  ...valuesLike(credential).map((value) => [`Authorization: ${value}`]),
  ["Authorization: Basic eDp5", `Authorization: Bearer ${credential}`],
  ["Authorization:", `Authorization: Bearer ${credential}`],
  [`Authorization: Bearer ${credential}`, "authorization:"],
  [`Authorization: Bearer ${credential}`, `AUTHORIZATION: Bearer ${credential}`],
  ["Authorization: Bearer eyJh.eyJh.AA", `Authorization:\tBearer ${credential}`],
  [`Authorization: Bearer \0${credential}`],
  [`Authorization: \0Bearer ${credential}`],
  [`Authorization: \u000bBearer ${credential}`],
  [`Authorization: Bearer\f${credential}`],
  ["Authorization: Basic eDp5", ` Bearer ${credential}`],
  ["Authorization: Basic eDp5", `\tBearer ${credential}`],
  [`Authorization : Bearer ${credential}`],
  [`Authorization\t: Bearer ${credential}`],
  [` Authorization: Bearer ${credential}`],
  [`Authorization_: Bearer ${credential}`],
  [`X-Authorization: Bearer ${credential}`],
  [`Proxy-Authorization: Bearer ${credential}`],
  [`X-Forwarded-Authorization: Bearer ${credential}`],
  [`X-Original-Authorization: Bearer ${credential}`],
  [`Cookie: authorization=Bearer ${credential}; token=${credential}`],
]

/** Lines that a gateway may read as one credential, or not: they must never let an internal JWT pass. */
export const ambiguousLines = (credential: string): ReadonlyArray<ReadonlyArray<string>> => [
  ["Authorization:", `\tBearer ${credential}`],
  ["Authorization: Bearer", ` ${credential}`],
  [`Authorization: Bearer ${credential}`, "Connection: Authorization"],
  [`Authorization: \tBearer ${credential}`, "Connection: close, authorization"],
  [`Authorization: \tBearer ${credential}`, "X-Forwarded-For: 127.0.0.1", "X-Original-URL: /tokens/validate"],
]
