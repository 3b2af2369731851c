/** Formats rows as text under a heading, with columns two spaces apart. Pure. */
export const table = (heading: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const lines = [heading.map((cell) => cell.toUpperCase()), ...rows]
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
