export const t = {
  scopes: "Scopes",
  noScopes: "Choose at least one scope.",
  module: "Module",
  allModules: "All modules",
  presets: "Presets",
  notHeld: "You can give only scopes that you have. The others are disabled.",
  scopeOf: (action: string, module: string) => `${action}: ${module}`,
} as const
