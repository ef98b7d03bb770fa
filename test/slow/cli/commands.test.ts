import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { exampleConfig } from '../../../src/cli/example-config.ts'
import { createProject, exampleProject, idIn, type Project } from '../../support/cli-project.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli')
let project: Project
beforeEach(() => {
  project = createProject(scratch.fresh())
})

const sessions = async () =>
  JSON.parse((await project.cli(['ps', '--json'])).out) as { items: { session_id: string }[] }

/** A refund that waits for a yes: its ids. */
async function waiting(input = 'refund 7') {
  const { exit, err } = await project.cli(['run', input])
  expect(exit).toBe(4)
  const { items } = JSON.parse((await project.cli(['ps', '--json'])).out) as {
    items: { session_id: string; run_id: string; waiting_for: { interaction_id: string } }[]
  }
  const [first] = items
  if (first === undefined) throw new Error(`No session was made: ${err}`)
  const asked = await project.cli(['inbox', first.waiting_for.interaction_id, '--json'])
  return {
    session_id: first.session_id,
    run_id: first.run_id,
    interaction_id: first.waiting_for.interaction_id,
    card: JSON.parse(asked.out) as { digest: string; state: string },
  }
}

describe('run: one run', () => {
  test('run: text of the agent goes to standard output, events to standard error', async () => {
    const { exit, out, err } = await project.cli(['run', 'hello there'])
    expect({ exit, out }).toEqual({ exit: 0, out: 'You said: hello there' })
    expect(err).toMatch(
      /^Asked of obedient: “hello there”\nThe run succeeded\.\nNext: statewright show ses_\w+ --config /,
    )
  })

  test('run: prints tools and their results; with -q it does not', async () => {
    expect((await project.cli(['run', 'look 7'])).err).toMatch(/It calls orders\.look \{"order":7\}\n.*success/)
    expect((await project.cli(['run', 'look 7', '-q'])).err).not.toContain('orders.look')
  })

  test('run: without a terminal it stops at the question, says how to answer, and exits 4', async () => {
    const { exit, out, err } = await project.cli(['run', 'refund 7'])
    expect({ exit, out }).toEqual({ exit: 4, out: '' })
    expect(err).toMatch(/Next: statewright inbox int_\w+ --config .*\n {6}statewright watch run_\w+ --work --config /)
  })

  test('run --auto: asks no person, denies calls that need approval, and tells the agent', async () => {
    expect(await project.cli(['run', 'refund 7', '--auto'])).toMatchObject({ exit: 0, out: 'It is REJECTED.' })
  })

  test('run: a run that fails exits 1 and says where to look', async () => {
    const { exit, err } = await project.cli(['run', 'fail'])
    expect(exit).toBe(1)
    expect(err).toMatch(/The run failed: .*\nNext: statewright show run_/)
  })

  test('run: with --json every line is one event', async () => {
    const { exit, out, err } = await project.cli(['run', 'hello', '--json'])
    const heard = out.split('\n').map((line) => JSON.parse(line) as { type: string; rune?: { kind: string } })
    expect({ exit, err }).toEqual({ exit: 0, err: '' })
    expect(heard.flatMap(({ rune }) => rune?.kind ?? [])).toContain('turn.completed')
    expect(heard.some(({ type }) => type === 'delta')).toBe(true)
  })

  test('run: continues an existing session, named by the beginning of its id', async () => {
    await project.cli(['run', 'first'])
    const [first] = (await sessions()).items
    const again = await project.cli(['run', 'second', '--session', first?.session_id.slice(4, 20) ?? ''])
    expect(again).toMatchObject({ exit: 0, out: 'You said: second' })
    expect((await sessions()).items).toHaveLength(1)
  })

  test.each([
    [['run'], 'It takes 1 argument, not 0.'],
    [['run', ' '], 'Name the job.'],
    [['chat'], 'A chat needs a terminal'],
  ])('%j is not understood', async (args, problem) => {
    expect(await project.cli(args)).toMatchObject({ exit: 2, err: expect.stringContaining(problem) })
  })

  test('run: with several agents one must be named, and the refusal lists them', async () => {
    project = createProject(scratch.fresh(), '{ obedient, other: obedient }')
    const { exit, err } = await project.cli(['run', 'hello'])
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining('Agents: obedient, other.') })
    expect(await project.cli(['run', 'hello', '--agent', 'other'])).toMatchObject({ exit: 0 })
    expect(await project.cli(['run', 'hello', '--agent', 'nobody'])).toMatchObject({ exit: 3 })
  })
})

describe('run: at a terminal', () => {
  test('run at a terminal: an irreversible action is approved by typing the beginning of its digest, and by nothing else', async () => {
    const asked: string[] = []
    const typed = (question: string) => {
      asked.push(question)
      return asked.length < 3 ? ['y', 'ffff!'][asked.length - 1] : /Type ([0-9a-f]{4}),/.exec(question)?.[1]
    }
    const { exit, out, err } = await project.cli(['run', 'refund 7'], { typed })
    expect({ exit, out }).toEqual({ exit: 0, out: 'It is SUCCESS.' })
    expect(asked).toHaveLength(3)
    expect(err.match(/Nothing was approved/g)).toHaveLength(2)
    expect(err).toMatch(/│ arguments {3}\{\n│ +"order": 7\n/)
  })

  test('run at a terminal: one that can be undone is approved with a y; a no carries its reason to the agent', async () => {
    expect(await project.cli(['run', 'note 7'], { typed: () => 'y' })).toMatchObject({ exit: 0, out: 'It is SUCCESS.' })
    const typed = (question: string) => (question.startsWith('Why') ? 'too much' : 'n')
    const { exit, out, err } = await project.cli(['run', 'refund 7'], { typed })
    expect({ exit, out }).toEqual({ exit: 0, out: 'It is REJECTED.' })
    expect(err).toContain('Denied: too much')
  })

  test('run at a terminal: an empty line leaves the question open, and the run waiting', async () => {
    expect(await project.cli(['run', 'refund 7'], { typed: () => '' })).toMatchObject({ exit: 4, out: '' })
    expect((await project.cli(['inbox'])).out).toContain('orders.refund is declared to need approval')
  })

  test('run at a terminal: a form is filled in field by field, with each value in its declared type', async () => {
    const typed = (question: string) => (/^Type/.test(question) ? 'y' : /^colour/.test(question) ? 'blue' : '3')
    const { exit, err } = await project.cli(['run', 'form'], { typed })
    expect(exit).toBe(0)
    const { out } = await project.cli(['show', `${/ses_\w+/.exec(err)}`, '--events', '--json'])
    expect(out).toContain('{"action":"approve","data":{"colour":"blue","count":3}}')
  })

  test('run at a terminal: Ctrl-C lets calls under way finish and stops the run: exit 130, and nothing is lost', async () => {
    let press: (() => void) | undefined
    const onInterrupt = (listener: () => void) => {
      press = listener
      return () => {}
    }
    const typed = () => {
      press?.()
      return undefined
    }
    const { exit, err } = await project.cli(['run', 'refund 7'], { typed, host: { onInterrupt } })
    expect(exit).toBe(130)
    expect(err).toContain('Interrupting: effects under way finish first.')
    expect(await project.cli(['inbox'])).toMatchObject({ out: '', err: 'No question is open.' })
    expect((await project.cli(['ps'])).out).toContain('canceled')
  })

  test('run at a terminal: a chat is one session, message by message', async () => {
    const lines = ['one', 'two', '']
    const { exit, out, err } = await project.cli(['chat'], { typed: () => lines.shift() })
    expect({ exit, out }).toEqual({ exit: 0, out: 'You said: one\nYou said: two' })
    expect((await sessions()).items).toHaveLength(1)
    const more = ['three', undefined]
    const again = await project.cli(['chat', '--session', idIn(err, 'ses')], { typed: () => more.shift() })
    expect(again.out).toBe('You said: three')
  })
})

describe('answering', () => {
  test('F-06 approve: without a terminal an irreversible action needs --yes and the digest that the inbox shows', async () => {
    const { interaction_id, run_id, card } = await waiting()
    const approve = (...more: string[]) => project.cli(['approve', interaction_id, ...more])
    for (const given of [[], ['--yes'], ['--yes', '--digest', 'ab'.repeat(32)]]) {
      // A refusal never says the digest that would have been right.
      expect(await approve(...given)).toMatchObject({ exit: 2, out: '', err: expect.not.stringContaining(card.digest) })
    }
    expect((await approve()).err).toContain(`statewright inbox ${interaction_id}`)
    expect((await project.cli(['inbox', interaction_id])).out).toContain(`│ digest      ${card.digest}`)

    const yes = await approve('--yes', '--digest', card.digest, '--as', 'ann')
    expect(yes).toMatchObject({ exit: 0, out: `${interaction_id}: approved.` })
    const late = await project.cli(['deny', interaction_id])
    expect(late).toMatchObject({ exit: 6, err: expect.stringContaining('is answered already, by ann') })
    const { exit, out } = await project.cli(['watch', run_id, '--work'])
    expect({ exit, out }).toEqual({ exit: 0, out: 'It is SUCCESS.' })
  })

  test('answers: a command without agents may answer; the run goes on in the program that has its agent', async () => {
    const { interaction_id, run_id, card } = await waiting()
    const second = await waiting('refund 8')
    const yes = ['--yes', '--digest', card.digest]

    // Without any config, and with one that knows nothing of the agent.
    const alone = await runCli(['approve', interaction_id, ...yes, '--store', project.store])
    expect(alone).toMatchObject({
      exit: 0,
      out: `${interaction_id}: approved.`,
      err: expect.stringContaining('when the program that has its agent starts again'),
    })
    const stranger = createProject(scratch.fresh(), '{ slow }')
    const denied = await stranger.cli(['deny', second.interaction_id, '--store', project.store])
    expect(denied).toMatchObject({ exit: 0, out: `${second.interaction_id}: denied.` })

    expect(await project.cli(['watch', run_id, '--work'])).toMatchObject({ exit: 0, out: 'It is SUCCESS.' })
    expect(await project.cli(['watch', second.run_id, '--work'])).toMatchObject({ exit: 0, out: 'It is REJECTED.' })
  })

  test('answers: a look and a refusal leave no trace in the log', async () => {
    const { session_id, interaction_id } = await waiting()
    const events = async () =>
      (JSON.parse((await project.cli(['show', session_id, '--json'])).out) as { event_id: number }).event_id
    const before = await events()
    await project.cli(['approve', interaction_id])
    await project.cli(['settle', interaction_id, '--happened'])
    await project.cli(['answer', interaction_id, 'yes'])
    await project.cli(['timeline', session_id])
    expect(await events()).toBe(before)
  })

  test('answers: at a terminal the first four characters of the digest are enough, and anything else is a no', async () => {
    const { interaction_id, card } = await waiting()
    const typing = (text: string) => project.cli(['approve', interaction_id], { typed: () => text })
    expect(await typing('y')).toMatchObject({ exit: 4, err: expect.stringContaining('the question stays open') })
    expect(await typing(card.digest.slice(0, 4))).toMatchObject({ exit: 0 })
  })

  test('approve: at a terminal the whole digest is taken, and one that differs at its end is not', async () => {
    const { interaction_id, card } = await waiting()
    const typing = (text: string) => project.cli(['approve', interaction_id], { typed: () => text })
    expect(await typing(`${card.digest}0`)).toMatchObject({ exit: 4 })
    expect(await typing(card.digest)).toMatchObject({ exit: 0 })
  })

  test('answers: a denial carries its reason', async () => {
    const { interaction_id, run_id } = await waiting()
    expect(await project.cli(['deny', interaction_id, '-m', 'not this one'])).toMatchObject({ exit: 0 })
    const { out, err } = await project.cli(['watch', run_id, '--work'])
    expect(out).toBe('It is REJECTED.')
    expect(err).toContain('Denied: not this one')
  })

  test('answers: a form is answered by NAME=VALUE; a value that does not fit is refused with its field', async () => {
    const { interaction_id, run_id } = await waiting('form')
    const answer = (...words: string[]) => project.cli(['answer', interaction_id, ...words])
    expect(await answer('colour=green')).toMatchObject({ exit: 2, err: expect.stringContaining('/data/colour') })
    expect(await answer('colour')).toMatchObject({ exit: 2, err: expect.stringContaining('NAME=VALUE') })
    expect(await answer('colour=red', 'count=2')).toMatchObject({ exit: 0 })
    expect(await project.cli(['watch', run_id, '--work'])).toMatchObject({ exit: 0, out: 'It is SUCCESS.' })
  })

  test('answers: the same answer with the same key may be sent again', async () => {
    const { interaction_id } = await waiting()
    const deny = () => project.cli(['deny', interaction_id, '--key', 'k-1', '-m', 'no'])
    expect(await deny()).toMatchObject({ exit: 0, out: `${interaction_id}: denied.` })
    expect(await deny()).toMatchObject({ exit: 0, out: `${interaction_id}: denied, as before.` })
  })

  test('answers: a run is cancelled once; the second time it is a conflict', async () => {
    const { run_id } = await waiting()
    expect(await project.cli(['cancel', run_id, '-m', 'changed my mind'])).toMatchObject({ exit: 0 })
    expect(await project.cli(['cancel', run_id])).toMatchObject({
      exit: 6,
      out: expect.stringContaining('was canceled already'),
    })
  })

  test('answers: a session is paused, resumed and closed; an illegal command is exit 6', async () => {
    const { session_id } = await waiting()
    expect(await project.cli(['pause', session_id])).toMatchObject({ exit: 0, out: `${session_id} is paused.` })
    expect(await project.cli(['pause', session_id])).toMatchObject({ exit: 6, err: expect.stringContaining('refuses') })
    expect(await project.cli(['resume', session_id])).toMatchObject({ exit: 0, out: `${session_id} is active.` })
    expect(await project.cli(['close', session_id])).toMatchObject({ exit: 0, out: `${session_id} is closed.` })
    expect(await project.cli(['run', 'hello', '--session', session_id])).toMatchObject({ exit: 6 })
  })
})

describe('looking', () => {
  test('views: ps shows the work and the questions of each session, and says when nothing matched', async () => {
    await project.cli(['run', 'hello'])
    await waiting()
    const { out, err } = await project.cli(['ps'])
    expect(out).toMatch(
      /^ses_\w+ +waiting_user .* refund 7 +asks: orders\.refund is declared.*\nses_\w+ +succeeded .* hello$/,
    )
    expect(err).toContain('Next: statewright inbox')
    expect((await project.cli(['ps', '--waiting'])).out.split('\n')).toHaveLength(1)
    expect(await project.cli(['ps', '--failed'])).toMatchObject({ exit: 0, out: '', err: 'Nothing matched.' })
    expect(await project.cli(['ps', '--failed', '--waiting'])).toMatchObject({ exit: 2 })
    expect(await project.cli(['ps', '--limit', 'many'])).toMatchObject({ exit: 2 })
  })

  test('views: show fits a screen and names the command that answers', async () => {
    const { session_id, run_id, interaction_id } = await waiting()
    const shown = await project.cli(['show', session_id])
    expect(shown.out.split('\n').length).toBeLessThan(24)
    expect(shown.out).toMatch(
      /session active \d+ m?s {2}▸ agent running_turn .* ▸ run waiting_user .* ▸ contract waiting/,
    )
    expect(shown.err).toContain(`Next: statewright approve ${interaction_id}`)
    expect((await project.cli(['show', run_id])).out).toContain('waiting_user, attempt 1, interactive')
    const events = (await project.cli(['show', run_id, '--events'])).out.split('\n')
    expect(events[0]).toMatch(/run\.submitted {2}run_\w+ · → queued$/)
    const json = (await project.cli(['show', session_id, '--events', '--json'])).out.split('\n')
    expect(json.map((line) => (JSON.parse(line) as { event_id: number }).event_id)).toEqual(json.map((_, i) => i + 1))
  })

  test('views: timeline, trace and replay tell the same story', async () => {
    const { session_id, run_id } = await waiting()
    expect((await project.cli(['timeline', session_id])).out).toMatch(
      /orders\.refund .* waiting .*exe_\w+, cannot be undone/,
    )
    expect((await project.cli(['trace', run_id])).out).toMatch(
      /create_contract:exe_.*\n.*pending→running +start\n.*running→waiting +suspend$/,
    )
    const at = (event: string) => project.cli(['replay', session_id, '--at', event])
    expect((await at('1')).out).toMatch(
      /^ses_\w+ after event 1, .*\nsession\.created .*\nThe session begins\.\n→ {2}session .* created/,
    )
    expect((await project.cli(['replay', session_id])).out).toMatch(/ run +run_\w+ +waiting_user +may: /)
    expect(await at('999')).toMatchObject({ exit: 3 })
    expect(await at('one')).toMatchObject({ exit: 2 })
  })

  test('views: replay steps on and back at a terminal', async () => {
    await project.cli(['run', 'hello'])
    const typed = ['', '', 'b', '1', 'q']
    const { out } = await project.cli(['replay', (await sessions()).items[0]?.session_id ?? ''], {
      typed: () => typed.shift(),
    })
    expect(out.match(/after event \d+/g)).toEqual([1, 2, 3, 2, 1].map((at) => `after event ${at}`))
  })

  test('views: a watched run ends with its exit code; programs get one line of JSON for each rune', async () => {
    await project.cli(['run', 'fail'])
    const { run_id } = (JSON.parse((await project.cli(['ps', '--json'])).out) as { items: { run_id: string }[] })
      .items[0] ?? { run_id: '' }
    expect(await project.cli(['watch', run_id])).toMatchObject({ exit: 1 })
    const { out } = await project.cli(['watch', run_id, '--json'])
    expect(out.split('\n').map((line) => (JSON.parse(line) as { type: string }).type)).not.toContain(undefined)
    expect((await project.cli(['watch', run_id, '--events'])).err).toMatch(/run\.moved .* → failed on turn\.failed/)
  })

  test('short ids: an ambiguous one lists its matches, an unknown one is not found', async () => {
    await project.cli(['run', 'one'])
    await project.cli(['run', 'two'])
    expect(await project.cli(['ps', '-n', '0'])).toMatchObject({ exit: 2, err: expect.stringContaining('1 to 200') })
    const ids = (await sessions()).items.map(({ session_id }) => session_id)
    const { exit, err } = await project.cli(['show', 'ses_'])
    expect(exit).toBe(3)
    for (const id of ids) expect(err).toContain(id)
    expect(await project.cli(['show', ids[0]?.slice(0, -1) ?? ''])).toMatchObject({ exit: 0 })
    expect(await project.cli(['show', 'ses_zz'])).toMatchObject({ exit: 3, err: 'There is no session ses_zz.' })
    const { err: json } = await project.cli(['show', 'ses_zz', '--json'])
    expect(JSON.parse(json)).toMatchObject({ code: 'not_found', details: { id: 'ses_zz' } })
  })

  test('views: a store that is not there is not made by looking', async () => {
    expect(await project.cli(['ps'])).toMatchObject({ exit: 7, err: expect.stringContaining('there is no such file') })
    expect(await project.cli(['deny', 'int_1'])).toMatchObject({ exit: 7 })
  })
})

describe('beginning', () => {
  test('setup: the project that init writes runs as it is, asks before it refunds, and is not written over', async () => {
    const file = join(scratch.fresh(), 'mine.config.ts')
    const { exit, out, err } = await runCli(['init', file])
    expect({ exit, out, err }).toEqual({
      exit: 0,
      out: `${file} is written.`,
      err: `Next: statewright run "Please refund order 7" --config ${file}`,
    })
    expect(readFileSync(file, 'utf8')).toBe(exampleConfig)
    expect(await runCli(['init', file])).toMatchObject({ exit: 1, err: expect.stringContaining('it exists already') })

    // A package.json that makes it CommonJS, as `npm init` writes it, has to be changed first.
    const folder = scratch.fresh()
    writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
    const { err: steps } = await runCli(['init', join(folder, 'mine.ts')])
    expect(steps).toMatch(/^Next: npm pkg set type=module\n {6}statewright run /)

    project = exampleProject(scratch.fresh())
    const { card, interaction_id, run_id } = await waiting('Please refund order 7')
    await project.cli(['approve', interaction_id, '--yes', '--digest', card.digest])
    expect(await project.cli(['watch', run_id, '--work'])).toMatchObject({ exit: 0, out: 'That is SUCCESS.' })
  })

  test('setup: doctor finds nothing wrong with a project that works', async () => {
    expect(await project.cli(['doctor'])).toMatchObject({ exit: 0, out: expect.stringContaining('is not there yet') })
    await project.cli(['run', 'hello'])
    const { exit, out } = await project.cli(['doctor'])
    expect(exit).toBe(0)
    expect(out).toMatch(
      /^ok +Node .*\nok +config +the agents obedient can be set up\nok +disk .*\nok +store .* holds 1 session,/,
    )
  })

  test('doctor: names each problem and its fix', async () => {
    const broken = createProject(scratch.fresh(), '{}')
    const { exit, out, err } = await broken.cli(['doctor', '--store', `sqlite:${broken.folder}/no/such.db`])
    expect(exit).toBe(1)
    expect(out).toMatch(/bad +config .*Expected at least one agent/)
    expect(out).toMatch(/bad +disk +there is no folder/)
    expect(err).toContain(`Next, for the disk: mkdir -p ${broken.folder}/no`)
    const { is_well } = JSON.parse((await broken.cli(['doctor', '--json'])).out) as { is_well: boolean }
    expect(is_well).toBe(false)
  })
})
