import { describe, expect, test } from 'vitest'
import type { Io } from '../../src/cli/host.ts'
import { type Asking, card } from '../../src/cli/render/card.ts'
import { shortIds, timelineLines } from '../../src/cli/render/show.ts'
import { storyLine } from '../../src/cli/render/story.ts'
import { columns, paintFor, safe, safeLine } from '../../src/cli/render/text.ts'
import { createViewer } from '../../src/cli/render/viewer.ts'
import { shorten } from '../../src/observation/describe.ts'
import { executionTimeline } from '../../src/observation/graph-state.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { refund, supportAgent } from '../support/backend.ts'
import { createWorld } from '../support/world.ts'

const plain = paintFor(false)
const esc = '\u001b'

describe('render: text of others cannot act on a terminal', () => {
  test.each([
    ['an escape sequence', `${esc}[2J`, '\\u{1b}[2J'],
    ['a right-to-left override', 'a\u202eb', 'a\\u{202e}b'],
    ['an invisible character', 'pay\u200bpal', 'pay\\u{200b}pal'],
    ['half a character', 'x\ud83dy', 'x\\u{d83d}y'],
    ['a return to the beginning of the line', 'no\ryes', 'no\\u{d}yes'],
    ['tags that spell a text', '\u{e0061}', '\\u{e0061}'],
  ])('%s is shown, not obeyed', (_, written, shown) => {
    expect(safe(written)).toBe(shown)
  })

  test('render: letters of all languages, whole emoji and line ends stay', () => {
    for (const text of ['Grüße, 世界', '😀', 'two\nlines']) expect(safe(text)).toBe(text)
    expect(safeLine(' two\n\tlines ')).toBe('two lines')
  })
})

describe('a card', () => {
  const asking: Asking = {
    interaction_id: 'int_1',
    interaction_kind: 'approval',
    prompt: 'payments.refund is declared to need approval each time.',
    request: {
      tool: 'payments.refund',
      arguments: { note: `${'long '.repeat(200)}end\u202e`, cents: 4_200, about: { z: 1, a: [2] } },
      irreversible: true,
      idempotency_key: 'key-1',
      definition_sha256: 'ab'.repeat(32),
    },
    deadline: 1_000_000,
    on_silence: 'cancel',
    digest: 'cd'.repeat(32),
    opened_at: 0,
  }

  test('card: shows everything that is approved, in the order of its canonical form, and shortens nothing', () => {
    const shown = card(asking, 60_000, plain).join('\n')
    expect(shown).toContain(`${'long '.repeat(200)}end\\u{202e}`)
    expect(shown.indexOf('"about"')).toBeLessThan(shown.indexOf('"cents"'))
    expect(shown.indexOf('"a"')).toBeLessThan(shown.indexOf('"z"'))
    for (const part of ['payments.refund', 'it cannot be undone', 'key-1', 'ab'.repeat(32), 'cd'.repeat(32)])
      expect(shown).toContain(part)
    expect(shown).toContain('asked 1 min ago')
    expect(shown).toContain('(in 15 min). The question is withdrawn, and nothing is done.')
  })

  test('card: a question without a deadline about a reversible action says both', () => {
    const request = { ...asking.request, irreversible: false }
    const shown = card({ ...asking, request, deadline: null, on_silence: 'wait' }, 0, plain).join('\n')
    expect(shown).toContain('no deadline; it waits until someone answers')
    expect(shown).not.toContain('cannot be undone')
  })
})

test('render: columns line up by their visible width, with and without colours', () => {
  const { good } = paintFor(true)
  expect(
    columns([
      ['a', 'x'],
      [good('ok'), 'y'],
      ['世界!', 'z'],
    ]),
  ).toEqual(['a    x', `${good('ok')}   y`, '世界!  z'])
  expect(columns([])).toEqual([])
  expect(shorten('abcdef', 4)).toBe('abc…')
  expect(shorten('abcd', 4)).toBe('abcd')
})

test('render: ids are cut where they still differ, and never below twelve characters', () => {
  expect(shortIds(['ses_0123456789', 'ses_0123x'])).toEqual(['ses_01234567', 'ses_0123x'])
  expect(shortIds(['ses_0123456789a1', 'ses_0123456789a2'])).toEqual(['ses_0123456789a1', 'ses_0123456789a2'])
  expect(shortIds(['ses_0123456789a1zz', 'ses_0123456789b2zz'])).toEqual(['ses_0123456789a', 'ses_0123456789b'])
  expect(shortIds([])).toEqual([])
})

/** A whole run with an approval, as it was recorded. */
async function refunded(): Promise<readonly Rune[]> {
  const world = await createWorld({ agents: { support: supportAgent([refund, say('Done,\nindeed.')]) } })
  const { sessionId, result } = await world.sw.runs.start({ agent: 'support', input: 'Refund 42' })
  const asked = await world.until(sessionId, (rune) => rune.kind === 'run.moved' && rune.to === 'waiting_user')
  await world.hand.advance(5_000)
  const [open] = await world.sw.inbox.list()
  await world.sw.inbox.reply(open?.interaction_id ?? '', { reply: { decision: 'approve' }, repliedBy: 'ann' })
  await result()
  expect(asked.to).toBe('waiting_user')
  const runes = await world.runes(sessionId)
  await world.end()
  return runes
}

test('render: a run is a story, one sentence per rune that matters to a person', async () => {
  const told = (await refunded()).flatMap((rune) => storyLine(rune) ?? [])
  expect(told).toEqual([
    'The session begins.',
    'Asked of support: “Refund 42”',
    'It calls payments.refund {"cents":500,"order":"42"}',
    expect.stringMatching(/^It asks \(approval int_\d+\): “payments.refund is declared to need approval each time.”$/),
    'The run waits for a person.',
    expect.stringMatching(/^Answered by ann \(int_\d+\): approve$/),
    'A worker takes the run again, attempt 2.',
    'Approved by ann.',
    'The tool ends with success after 0 ms: {"refund":"r-42"}',
    'It says: “Done, indeed.”',
    'The run succeeded.',
  ])
})

test('render: a timeline draws each action on one axis, with its moves', async () => {
  const timeline = executionTimeline('ses_1', await refunded(), 0)
  const lines = timelineLines(timeline, 0, plain)
  expect(lines[0]).toMatch(/^ses_1: 1 action, all over, 5 s from 2023-11-14 22:13:20 UTC on$/)
  expect(lines[3]).toMatch(
    /^22:13:20\.000 {2}payments\.refund {2}░{31}█ {2}completed {2}5 s {2}exe_\d+, cannot be undone$/,
  )
  expect(lines.slice(4)).toEqual([
    '  22:13:20.000  pending → running    start    by tool_node',
    '  22:13:20.000  running → waiting    suspend  by tool_node',
    '  22:13:25.000  waiting → running    resume   by graph_runner',
    '  22:13:25.000  running → completed  succeed  by tool_node',
  ])
})

describe('a viewer', () => {
  const delta = (offset: number, text: string) =>
    ({
      type: 'delta',
      delta: { session_id: 's', run_id: 'r', turn_id: 't', round: 0, offset, channel: 'text', text },
    }) as const
  const completed = (final_output: string) =>
    ({ type: 'rune', rune: { kind: 'turn.completed', payload: { final_output } } as unknown as Rune }) as const

  function watching(detail: Parameters<typeof createViewer>[1]) {
    const seen: string[] = []
    const io = {
      out: (text: string) => seen.push(`${text}\n`),
      err: (text: string) => seen.push(`[${text}]\n`),
      write: (text: string) => seen.push(text),
      terminal: { hasColor: false },
    } as unknown as Io
    return { seen, viewer: createViewer(io, detail) }
  }

  test('viewer: shows streamed text once, and missed text from the record', () => {
    const { seen, viewer } = watching('story')
    for (const heard of [delta(0, 'Hello '), delta(6, 'wor'), completed('Hello world')]) viewer.show(heard)
    expect(seen.join('')).toBe('Hello world\n')
  })

  test('viewer: a late subscriber gets the whole text once it is durable', () => {
    const { seen, viewer } = watching('story')
    for (const heard of [delta(6, 'world'), completed('Hello world')]) viewer.show(heard)
    expect(seen.join('')).toBe('Hello world\n')
  })

  test('viewer: events around the text begin on a line of their own', () => {
    const { seen, viewer } = watching('story')
    viewer.show(delta(0, `Hi${esc}`))
    viewer.say('wait')
    viewer.end()
    expect(seen.join('')).toBe('Hi\\u{1b}\n[wait]\n')
  })

  test('viewer: with json, each event is one line of JSON', () => {
    const { seen, viewer } = watching('json')
    viewer.show(delta(0, 'Hi'))
    viewer.say('unread')
    viewer.show(completed('Hi'))
    expect(seen.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['delta', 'rune'])
  })
})
