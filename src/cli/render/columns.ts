/** Rows as aligned columns, the last one as wide as it likes. An empty list is no lines at all. */
export function columns(rows: readonly (readonly string[])[], gap = '  '): readonly string[] {
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell))))
      .join(gap)
      .trimEnd(),
  )
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the one that begins a colour
const colour = /\u001b\[\d+m/g

function widthOf(cell: string): number {
  return [...cell.replace(colour, '')].length
}
