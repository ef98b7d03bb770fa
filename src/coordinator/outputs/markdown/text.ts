/** Words from outside stand in Markdown as words: they cannot open a table cell, a heading or a link. */
export function plain(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|]/g, (mark) => `\\${mark}`).replaceAll(/\s*\n\s*/g, ' ')
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '_None._'
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

export function bullets(items: readonly string[]): string {
  return items.length === 0 ? '_None._' : items.map((item) => `- ${item}`).join('\n')
}

/** Parts with a blank line between them, and a newline at the end. */
export function page(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}
