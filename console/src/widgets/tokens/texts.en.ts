/** Texts of tokens. */
export const t = {
  token: "Token",
  scopes: "Scopes",
  lastUsed: "Last used",
  states: { valid: "Active", expired: "Expired", revoked: "Revoked" },
  unseen: "A token exists whose secret was lost on the way. Revoke it, and issue another one.",
} as const
