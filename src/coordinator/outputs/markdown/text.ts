import type { Json } from '../../../kernel/json.ts'
import { isRecord } from '../../checksum.ts'

/** Words from outside stand in Markdown as words: they cannot open a table cell, a heading or a link. */
export function plain(text: string): string {
  const marked = text.replaceAll(/[\\`*_{}[\]<>#|]/g, (mark) => `\\${mark}`)
  if (!marked.includes('\n')) return marked
  // Line by line: a pattern with blanks on both sides of the break takes minutes over a long row of blanks.
  const lines = marked.split('\n')
  const last = lines.length - 1
  return lines
    .map((line, i) => (i === 0 ? line.trimEnd() : i === last ? line.trimStart() : line.trim()))
    .filter((line, i) => line !== '' || i === 0 || i === last)
    .join(' ')
}

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '_None._'
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** A Markdown list. */
export function bullets(items: readonly string[]): string {
  return items.length === 0 ? '_None._' : items.map((item) => `- ${item}`).join('\n')
}

/** Parts with a blank line between them, and a newline at the end. */
export function page(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}

/** Any JSON value as nested lists, keys sorted: for artifacts that people look into rarely. */
export function genericMarkdown(title: string, value: Json): string {
  return page(`# ${plain(title)}`, lines(value, 0).join('\n') || '_Empty._')
}

function lines(value: Json, depth: number): string[] {
  const indent = '  '.repeat(depth)
  const item = (label: string, member: Json) =>
    isLeaf(member)
      ? [`${indent}- ${label}${leaf(member)}`]
      : [`${indent}- ${label.trimEnd()}`, ...lines(member, depth + 1)]
  if (Array.isArray(value)) return value.flatMap((member: Json, i) => item(isLeaf(member) ? '' : `${i + 1}:`, member))
  if (!isRecord(value)) return [`${indent}- ${leaf(value)}`]
  return Object.keys(value)
    .sort()
    .flatMap((key) => item(`**${plain(key)}**: `, value[key] as Json))
}

function isLeaf(value: Json): boolean {
  return (
    value === null ||
    typeof value !== 'object' ||
    (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0)
  )
}

function leaf(value: Json): string {
  if (typeof value === 'string') return plain(value)
  return value !== null && typeof value === 'object' ? '_none_' : String(value)
}
