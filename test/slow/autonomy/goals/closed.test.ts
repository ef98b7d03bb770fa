import { expect, test } from 'vitest'
import { openStore } from '../../../../src/app/open-store.ts'
import { createStatewright, type Statewright } from '../../../../src/app/statewright.ts'
import { call, say } from '../../../../src/runtime/scripted-model.ts'
import { note, planOf, worker } from '../../../scenarios/goal-cast.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { openQuestion } from '../../../support/coordinator.ts'
import { type Connection, connect, firstLife } from '../../../support/dying-runelog.ts'
import { registryIn } from '../../../support/goal-registry.ts'
import { scenario } from '../../../support/scenario.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { storeWith } from '../../../support/store-with.ts'

const registry = registryIn(scratchFolder('closed-goals').fresh())
const asking = {
  ...(planOf(note('ta')) as object),
  open_questions: [{ ...openQuestion('which'), evidence_refs: ['ev1'] }],
}
const look = { ...note('ta'), command: 'cmd_look' }
const review = planOf({ ...note('tw'), command: 'cmd_write' })

const begun = 'has just begun'
const plans: Readonly<Record<string, object>> = {
  'asks about its plan': { plan: asking },
  'waits for its plan to be approved': { plan: planOf(note('ta')) },
  'waits for a review': { plan: review, auto: true },
  [begun]: { plan: planOf(look, note('tb', 'ta')), auto: true },
}

/** A goal is set and its session closed. The client repeats what it got no answer to. */
async function play(submission: object, arrange: (connection: Connection, sw: () => Statewright) => void) {
  const disk = await openStore('memory:')
  const agents = { worker: worker({ ta: [call('shop.look'), say('done')] }) }
  const warnings: string[] = []
  let living: Statewright | undefined
  async function live(connection: Connection): Promise<Statewright> {
    const sw = await createStatewright({
      store: storeWith(disk, { runelog: connection.runelog }),
      agents,
      plans: { registry },
      warn: (message, details) => warnings.push(`${message} ${JSON.stringify(details)}`),
    })
    living = sw
    const { sessionId } = await sw.goals.start({ goal: 'Go', ...submission, idempotencyKey: 'one' } as never)
    if (submission !== plans[begun]) await sw.idle()
    const [session] = await sw.sessions.list()
    if (session?.state === 'active') await sw.sessions.close(sessionId)
    await sw.idle()
    return sw
  }
  const lived = await firstLife(disk.runelog, live, (first) => arrange(first, () => living as Statewright))
  const sw = await live(connect(disk.runelog))
  const goals = await sw.goals.list()
  const inbox = await sw.inbox.list()
  const runes = await disk.runelog.read(goals[0]?.session_id ?? '')
  await sw.close()
  const subjects = new Map(
    runes.flatMap(({ machine, subject_id = '', to }) =>
      machine === 'goal' || machine === 'coordination' ? [[subject_id, `${machine} ${to}`] as const] : [],
    ),
  )
  const left = [...subjects.values()].filter((one) => !/stopped|goal_met|DONE|BLOCKED|ABORTED/.test(one))
  const last = runes.at(-1)?.kind
  const problems = [...auditRunes(runes), ...warnings.filter((one) => !one.includes('the process was killed'))]
  return { ...lived, outcome: { left, last, inbox, problems } }
}

const nothingLeft = { left: [], last: 'session.closed', inbox: [], problems: [] }

for (const [what, submission] of Object.entries(plans))
  scenario('GO-06', `killed at any append, a session that is closed leaves no goal behind that ${what}`, async () => {
    const whole = await play(submission, () => {})
    expect(whole.outcome).toEqual(nothingLeft)
    for (let at = 1; at <= whole.appends; at++)
      for (const when of ['before', 'after'] as const) {
        const { wasKilled, outcome } = await play(submission, (connection) => connection.dieAt(at, when))
        if (what !== begun) expect({ at, when, wasKilled }).toEqual({ at, when, wasKilled: true })
        expect({ at, when, ...outcome }).toEqual({ at, when, ...nothingLeft })
      }
    console.log(`${what}: killed before and after each of ${whole.appends} appends`)
  })

test('goals closed: a goal that is set while its session is about to be closed is given up with it', async () => {
  const { first, outcome } = await play({ plan: planOf(note('ta')) }, (connection, sw) =>
    connection.intercept(
      ({ runes }) => runes.some(({ kind }) => kind === 'session.closing'),
      async () => {
        const [session] = await sw().sessions.list()
        await sw().goals.start({ goal: 'Late', sessionId: session?.session_id ?? '', plan: planOf(note('ta')) })
      },
    ),
  )
  expect(first.hasIntercepted()).toBe(true)
  expect(outcome).toEqual(nothingLeft)
})
