import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createStatewright, type Json, type Statewright } from 'statewright'
import type { PlanView } from 'statewright/plans'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runToEnd } from './support/process.ts'

/** The lines of `spec/prose.md` that speak of the Coordinator. */
const examples = fileURLToPath(new URL('../../examples/plans', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'statewright-outside-'))
const registry = join(folder, 'registry')
let facts: Json = null
let sw: Statewright

beforeAll(async () => {
  cpSync(join(examples, 'registry'), registry, { recursive: true })
  const scanned = await runToEnd(['facts', join(examples, 'shop'), '--json'])
  facts = JSON.parse(scanned.out) as Json
  sw = await createStatewright({ store: 'memory:', agents: {}, maxConcurrentRuns: 0, plans: { registry } })
})
afterAll(async () => {
  await sw.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Intent {
  readonly planned_commands: readonly { readonly command_id: string }[]
  readonly [field: string]: Json | Intent['planned_commands']
}

/** The intent of an example, as it was frozen, to be sealed again. */
function intentOf(example: string, change: (intent: Intent) => object = (intent) => intent): Json {
  const frozen = JSON.parse(readFileSync(join(examples, example, 'frozen/intent.json'), 'utf8')) as Intent
  const audit = { ...(frozen.audit as object), checksum: '' }
  return JSON.parse(JSON.stringify({ ...frozen, ...change(frozen), audit })) as Json
}

const planned = (example: string, ...more: readonly string[]) =>
  runToEnd([
    ...['plan', join(examples, example, 'intent.yaml'), '--registry', join(examples, 'registry')],
    ...['--facts', join(examples, 'shop'), '--memory', join(examples, 'memory.yaml')],
    ...['--policy', join(examples, 'policy.yaml'), ...more],
  ])

test('P-044 whole flows: each ends as it should, with a summary, a numbered tape and files that verify', async () => {
  const flows = [
    { example: 'read-only', state: 'DONE', exit: 0 },
    { example: 'ask-first', state: 'DONE', exit: 0, hasAnswers: true },
    { example: 'conflict', state: 'DONE', exit: 0, hasAnswers: true },
    { example: 'denied', state: 'ABORTED', exit: 1 },
    { example: 'red-line', state: 'ABORTED', exit: 1 },
  ]
  await Promise.all(
    flows.map(async ({ example, state, exit, hasAnswers = false }) => {
      const out = join(folder, example)
      const answers = hasAnswers ? ['--answers', join(examples, example, 'answers.yaml')] : []
      const ended = await planned(example, ...answers, '-o', out)
      expect({ example, exit: ended.exit }).toEqual({ example, exit })
      expect(ended.out + ended.err).toMatch(new RegExp(`^${state}\\b`, 'm'))
      const summary = JSON.parse(readFileSync(join(out, exit === 0 ? 'run_summary.json' : 'failure_pack.json'), 'utf8'))
      const { actions, overall_risk, review_gates, message } = summary as Readonly<Record<string, unknown>>
      if (exit === 0)
        expect(ended.out).toMatch(
          new RegExp(
            `^${actions} actions? in \\d+ phases?, risk ${overall_risk}, ${review_gates} review gates?\\.$`,
            'm',
          ),
        )
      else expect(ended.out + ended.err).toContain(`${state}: ${message}`)
      const tape = JSON.parse(readFileSync(join(out, 'run_tape.json'), 'utf8')) as {
        entries: readonly { sequence: number; from_state: string; to_state: string }[]
      }
      expect(tape.entries.map(({ sequence }) => sequence)).toEqual(tape.entries.map((_, index) => index + 1))
      for (const [index, { from_state }] of tape.entries.entries())
        expect(from_state).toBe(tape.entries[index - 1]?.to_state ?? 'INIT')
      expect(tape.entries.at(-1)?.to_state).toBe(state)
      expect(await runToEnd(['plan', 'verify', out])).toMatchObject({ exit: 0 })
    }),
  )
})

test('P-046 red lines: a crossed one puts a notice into the inbox, which stays until a person has acknowledged it', async () => {
  const aborted = await sw.plans.submit({ intent: intentOf('red-line'), facts })
  expect(aborted.state).toBe('ABORTED')
  // It stays, whatever else is planned.
  await sw.plans.submit({ intent: intentOf('read-only'), facts })
  const notices = (await sw.inbox.list()).filter(({ session_id }) => session_id === aborted.session_id)
  expect(notices).toMatchObject([{ interaction_kind: 'notice' }])
  const [notice] = notices
  await sw.inbox.reply(notice?.interaction_id ?? '', { reply: { acknowledged: true } })
  expect((await sw.inbox.list()).filter(({ session_id }) => session_id === aborted.session_id)).toEqual([])
})

test.each<[string, () => Promise<PlanView>, () => Promise<PlanView>]>([
  [
    'a corrected intent',
    () =>
      plan({
        change: ({ planned_commands: [first, ...rest] }) => ({
          planned_commands: [{ ...first, command_id: 'cmd_gone' }, ...rest],
        }),
      }),
    () => plan(),
  ],
  ['another registry', () => withoutCommand('cmd_read_code', () => plan()), () => plan()],
  [
    'another policy',
    () =>
      plan({
        policy: {
          schema_version: '1.0.0',
          mode: 'interactive',
          constraints: { forbidden_operations: ['cmd_read_code'] },
        },
      }),
    () => plan(),
  ],
  ['the missing evidence', () => plan({ facts: null }), () => plan()],
])('P-048 blocked plans: %s brings a new plan that names the blocked one', async (_, block, recover) => {
  const blocked = await block()
  expect(blocked).toMatchObject({ state: 'BLOCKED' })
  const named = await sw.plans.recovery(blocked.coordination_id)
  recovers = named
  const plan = await recover().finally(() => {
    recovers = undefined
  })
  expect(plan.state).toBe('DONE')
  const files = await sw.plans.files(plan.coordination_id)
  expect(JSON.parse(files['lineage.json'] ?? '{}')).toMatchObject({ recovers: named })
})

test('P-050 review packs: they estimate duration and complexity', async () => {
  const estimated = async (change?: Planned['change']) => {
    const { coordination_id } = await plan(change === undefined ? {} : { change })
    const files = await sw.plans.files(coordination_id)
    const { plan_summary } = JSON.parse(files['review_pack.json'] ?? '{}') as {
      plan_summary: Readonly<Record<string, number>>
    }
    return { duration: Number(plan_summary.estimated_duration_ms), complexity: Number(plan_summary.complexity_score) }
  }
  const steps =
    (...more: readonly object[]): Planned['change'] =>
    ({ planned_commands: [first] }) => ({
      planned_commands: more.map((one, n) => ({ ...first, step_id: `step_${n}`, ...one })),
    })
  // GIVEN one step, two steps side by side, and two steps of which one comes after the other
  const one = await estimated(steps({}))
  const beside = await estimated(steps({}, {}))
  const after = await estimated(steps({}, { depends_on: ['step_0'] }))
  // THEN what is done one after the other takes the time of both
  expect(one.duration).toBeGreaterThan(0)
  expect([beside.duration, after.duration]).toEqual([one.duration, 2 * one.duration])
  // AND many steps are less simple than one
  const many = await estimated(steps(...Array(12).fill({})))
  expect(many.complexity).toBeGreaterThan(one.complexity)
})

let recovers: Awaited<ReturnType<Statewright['plans']['recovery']>> | undefined

interface Planned {
  readonly change?: (intent: Intent) => object
  readonly policy?: Json
  readonly facts?: null
}

function plan({ change, policy, facts: none }: Planned = {}): Promise<PlanView> {
  return sw.plans.submit({
    intent: intentOf('read-only', change),
    ...(none === null ? {} : { facts }),
    ...(policy === undefined ? {} : { policy }),
    ...(recovers === undefined ? {} : { recovers }),
  })
}

/** While it plans, this command of the registry is out of use. */
async function withoutCommand<T>(command_id: string, use: () => Promise<T>): Promise<T> {
  const file = join(registry, 'commands.yaml')
  const whole = readFileSync(file, 'utf8')
  const active = `id: ${command_id}\nversion: 1.0.0\nstatus: active`
  expect(whole).toContain(active)
  writeFileSync(file, whole.replace(active, active.replace('active', 'deprecated')))
  return use().finally(() => writeFileSync(file, whole))
}
