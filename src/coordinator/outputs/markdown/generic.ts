import type { Json } from '../../../kernel/json.ts'
import { isRecord } from '../../checksum.ts'
import { page, plain } from './text.ts'

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
