/** A page of the reference that is written from the sources, so that it cannot disagree with them. */
export interface Page {
  /** Where it goes, from the root of the repository. */
  readonly path: string
  readonly render: () => string
}

export function page(title: string, ...blocks: readonly string[]): string {
  const notice = '<!-- Written by `npm run docs` from the sources. Edit those. -->'
  return `${[notice, `# ${title}`, ...blocks].join('\n\n')}\n`
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

export function code(text: string): string {
  return `\`${text}\``
}

export function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``
}
