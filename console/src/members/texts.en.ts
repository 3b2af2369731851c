export const t = {
  title: "Members",
  hint: "The operator of the installation adds people and changes their roles.",
  name: "Person",
  role: "Role",
  since: "Member since",
  empty: "No members",
  emptyDetail: "People become members when the operator adds them, or when they first sign in with the provider.",
} as const
