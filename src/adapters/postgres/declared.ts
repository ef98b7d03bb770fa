import type { Damage } from '../../runelog/damage.ts'
import { isFileOf } from '../../runelog/segment.ts'
import type { Connection } from './connection.ts'
import { tableDamage } from './declared-tables.ts'
import { erasing, schema, sharedNumber, sharedSchema } from './schema.ts'

type Trigger = { readonly name: string; readonly definition: string; readonly enabled: string }

const functionPattern = /CREATE (?:OR REPLACE )?FUNCTION (?:statewright\.)?(\w+)\([\s\S]*?AS \$\$([\s\S]*?)\$\$/g
const triggerPattern = /CREATE TRIGGER (\w+) [^;]*/g

const functionsIn = (sql: string) =>
  new Map([...sql.matchAll(functionPattern)].map(([, name = '', body]) => [name, body]))
const triggersIn = (sql: string) => new Map([...sql.matchAll(triggerPattern)].map(([text, name = '']) => [name, text]))

/** A definition of a trigger as the schema and the server write it alike: without names of schemas, brackets and defaults. */
function alike(definition: string): string {
  return definition
    .toLowerCase()
    .replace(/statewright\.|for each statement|["()]/g, '')
    .replace(/(?<=before )[a-z\s]+?(?= on )/, (events) => events.split(' or ').sort().join(' or '))
    .replace(/\s+/g, ' ')
    .trim()
}

/** Each mark, trigger, function, rule, column, constraint and index of a database that differs from the declared schema. */
export async function* schemaDamage(connection: Connection): AsyncGenerator<Damage, void, void> {
  const { text } = connection
  const meta = new Map(
    (await text<{ name: string; value: string }>('SELECT name, value FROM statewright.meta')).map((m) => [
      m.name,
      m.value,
    ]),
  )
  const [shared] = await text<{ there: boolean }>(`SELECT to_regclass('statewright.lease') IS NOT NULL AS there`)
  const marks = ['schema', 'models', ...(shared?.there ? ['shared'] : [])]
  for (const name of marks) if (!meta.has(name)) yield { what: `meta ${name}`, problem: 'it is missing.' }
  const isNote = (name: string, value: string) =>
    name.startsWith(erasing) && isFileOf(value, name.slice(erasing.length))
  for (const [name, value] of meta)
    if (!marks.includes(name) && !isNote(name, value))
      yield { what: `meta ${name}`, problem: 'it was added to the database.' }

  const triggers = `SELECT tgname AS name, pg_get_triggerdef(t.oid) AS definition, tgenabled AS enabled
    FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    WHERE c.relnamespace = 'statewright'::regnamespace AND NOT tgisinternal ORDER BY tgname`
  yield* triggerDamage(await text<Trigger>(triggers))

  const bodies = `SELECT proname AS name, prosrc AS body FROM pg_proc WHERE pronamespace = 'statewright'::regnamespace`
  const found = Map.groupBy(await text<{ name: string; body: string }>(bodies), ({ name }) => name)
  // Tables of another version have other functions; the next worker makes them again.
  const declared = schema + (meta.get('shared') === String(sharedNumber) ? sharedSchema : '')
  for (const [name, body] of functionsIn(declared)) {
    const own = found.get(name)
    if (own === undefined) yield { what: `function ${name}`, problem: 'it is missing from the database.' }
    else if (own.some((one) => one.body !== body)) yield { what: `function ${name}`, problem: 'it was changed.' }
  }

  const rules = `SELECT rulename AS name FROM pg_rules WHERE schemaname = 'statewright' ORDER BY 1`
  for (const { name } of await text<{ name: string }>(rules))
    yield { what: `rule ${name}`, problem: 'it was added to the database.' }

  yield* tableDamage(connection, declared)
}

function* triggerDamage(found: readonly Trigger[]): Generator<Damage, void, void> {
  const declared = triggersIn(schema)
  const missing = new Set(declared.keys())
  for (const { name, definition, enabled } of found) {
    const what = `trigger ${name}`
    const right = declared.get(name)
    missing.delete(name)
    if (right === undefined) yield { what, problem: 'it was added to the database.' }
    else if (alike(right) !== alike(definition)) yield { what, problem: 'it was changed.' }
    else if (enabled !== 'O' && enabled !== 'A') yield { what, problem: 'it is disabled.' }
  }
  for (const name of missing) yield { what: `trigger ${name}`, problem: 'it is missing from the database.' }
}
