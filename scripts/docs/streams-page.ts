import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { fcmpEvent } from '../../src/wire/fcmp.ts'
import { sessionEvent } from '../../src/wire/session-event.ts'
import { code, type Page, table } from './page.ts'
import { json, type Schema, typeOf } from './schema.ts'

const file = fileURLToPath(new URL('../../docs/streams.md', import.meta.url))

const tables = {
  'session events': () => events(sessionEvent, 'payload'),
  'fcmp envelope': () => envelope(fcmpEvent),
  'fcmp events': () => events(fcmpEvent, 'data'),
}

/** A page that people write, with tables in it that are written from the sources. */
export const streamsPage: Page = {
  path: 'docs/streams.md',
  render: () =>
    Object.entries(tables).reduce(
      (page, [name, written]) => replaced(page, name, written()),
      readFileSync(file, 'utf8'),
    ),
}

/** Puts a table where the page has a place for it. */
function replaced(page: string, name: string, written: string): string {
  const begin = `<!-- begin ${name}: written by \`npm run docs\` from the sources -->`
  const end = `<!-- end ${name} -->`
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/streams.md has no place for "${name}".`)
  return `${page.slice(0, from + begin.length)}\n\n${written}\n\n${page.slice(to)}`
}

/** The fields of every event; `data` follows from its type. */
function envelope(union: z.ZodType): string {
  const { data: _, type: __, ...shared } = variants(union)[0]?.properties ?? {}
  return table(['Field', 'Type', ''], rowsOf(shared))
}

function rowsOf(properties: Readonly<Record<string, Schema>>, of = ''): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema.properties === undefined
      ? [[code(`${of}${name}`), typeOf(schema), schema.description ?? '']]
      : rowsOf(schema.properties, `${of}${name}.`),
  )
}

/** Every type of event; `content` is the field whose shape differs. */
function events(union: z.ZodType, content: string): string {
  return table(
    ['Event', 'When it comes', `Fields of ${code(content)}`],
    variants(union).map(({ description = '', properties }) => [
      code(String(properties?.type?.const)),
      description,
      fieldsOf(properties?.[content] ?? {}).join('<br>'),
    ]),
  )
}

function fieldsOf({ properties = {}, required = [] }: Schema): readonly string[] {
  return Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : ', optional'
    const says = schema.description === undefined ? '' : `: ${schema.description}`
    return `${code(name)} (${kindOf(schema)}${optional})${says}`
  })
}

/** As `typeOf`, with a list of objects spelled out. */
function kindOf(schema: Schema): string {
  if (schema.oneOf !== undefined) return schema.oneOf.map(kindOf).join(' or ')
  if (schema.properties === undefined) return typeOf(schema)
  const { required = [] } = schema
  const names = Object.entries(schema.properties).map(
    ([name, of]) => `${name}${required.includes(name) ? '' : '?'}: ${plain(of)}`,
  )
  return code(`{ ${names.join(', ')} }`)
}

/** The same without code marks, for a place that is code already. */
function plain(schema: Schema): string {
  return kindOf(schema)
    .replaceAll('`', '')
    .replaceAll('"', '')
    .replaceAll(', ', schema.enum === undefined ? ', ' : ' | ')
}

function variants(union: z.ZodType): readonly Schema[] {
  return json(union, 'output').oneOf ?? []
}
