/** Texts of tokens. */
export const t = {
  token: "Token",
  scopes: "Scopes",
  lastUsed: "Last used",
  states: { valid: "Active", expired: "Expired", revoked: "Revoked" },
  revokeToken: (name: string) => `Revoke the token "${name}"?`,
  revokeTokenText: "The next request with it fails. This cannot be undone.",
  revokeKey: (name: string) => `Revoke the key "${name}"?`,
  revokeKeyText: "Requests with this key are rejected immediately.",
  credential: {
    ofAccount: "Token of the service account",
    ofInstance: "License key of the instance",
    ofOperator: "Token that the operator issued. Only the operator can revoke it.",
    unknown: "A credential of the operator, or one whose events are deleted",
  },
  unseen: "The token was created, but its secret was not received. Revoke it and issue a new one.",
} as const
