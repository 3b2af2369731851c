/** Texts of tokens. */
export const t = {
  token: "Token",
  scopes: "Scopes",
  lastUsed: "Last used",
  states: { valid: "Active", expired: "Expired", revoked: "Revoked" },
  unseen: "The token was created, but its secret was not received. Revoke it and issue a new one.",
} as const
