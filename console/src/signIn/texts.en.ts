export const t = {
  title: "Sign in to Keyshelf",
  operatorTitle: "Keyshelf operator",
  again: "Sign in again",
  againHint: "Your credential is not valid any more. What you typed stays.",
  withProvider: "Continue with your organization's account",
  or: "or",
  token: "Access token",
  tokenHint: "Begins with ksh_. It stays in the memory of this tab.",
  credential: "Platform credential",
  credentialHint:
    "Begins with ksm_. It stays in the memory of this tab, and is dropped after 15 minutes without activity.",
  keep: "Keep it until this tab is closed",
  keepHint: "The token is then stored in this tab. Do not choose this on a shared computer.",
  signIn: "Sign in",
  signOutInstead: "Sign out",
  ended: {
    never: "",
    "signed-out": "You are signed out.",
    locked: "Locked, because nothing happened for a while.",
    "other-tab": "You signed out in another tab.",
  },
  wrongKind: {
    token: "This is a platform credential (ksm_). It was not sent. Use it on the platform listener.",
    platform: "This is an organization's token (ksh_). It was not sent. Use it on the core listener.",
  },
  notAToken: { token: "A token begins with ksh_.", platform: "A platform credential begins with ksm_." },
  refused: "The service does not accept this. It may be revoked or expired.",
  notAMember:
    "You are signed in at the provider, but you are not a member of an organization here. Ask the operator for a membership, or check the claim that names the organization.",
  opaque:
    "The provider's access token was not accepted. It must be a JWT for this service's audience: set SERVICE_OIDC_PARAMETERS (for example audience=...) or SERVICE_OIDC_SCOPE, see the documentation of sign-in.",
  failed: "The sign-in failed",
  denied: "It was cancelled, or the provider did not allow it. You can try again.",
  providerFailed: "The provider reported an error. You can try again.",
  providerSaid: (description: string) => `The provider says: ${description}`,
  tryAgain: "You can try again.",
  version: (version: string) => `Version ${version}`,
} as const
