import type { Client } from '../../surface/client.ts'
import { listRunes, stateAt } from '../../surface/operations/runes.ts'
import { countOf, jsonOption, take, whereOptions } from '../arguments.ts'
import { type Arguments, command, type Options } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { next, print } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { guardLines, recordLine, storyLine } from '../render/story.ts'
import { columns, fullTime, paintFor } from '../render/text.ts'

const options = {
  at: { type: 'string', summary: 'the event to look at; else the first one at a terminal, the last one elsewhere' },
  ...whereOptions,
  ...jsonOption,
} as const satisfies Options

/** The command `replay`. */
export const replayCommand = command({
  name: 'replay',
  usage: 'statewright replay SESSION [--at EVENT]',
  summary: 'Where every machine of a session was after an event. At a terminal, step on with Enter, back with b.',
  options,

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    const at = countOf(this, args, 'at')
    return withClient(io, args, 'look', async (client) => {
      const { session_id } = await resolveId(client, given, 'session', 'run')
      const replay = { client, session_id, args, io }
      if (at !== undefined || !io.terminal.isInteractive || args.values.json) await look(replay, at)
      else await step(replay)
      return exits.ok
    })
  },
})

interface Replay {
  readonly client: Client
  readonly session_id: string
  readonly args: Arguments<typeof options>
  readonly io: Io
}

async function look({ client, session_id, args, io }: Replay, at: number | undefined) {
  const state = await client.call(stateAt, { params: { session_id }, query: at === undefined ? {} : { at } })
  const { items } = await client.call(listRunes, {
    params: { session_id },
    query: { after: Math.max(0, state.event_id - 1), before: state.event_id + 1 },
  })
  const paint = paintFor(io.terminal.hasColor)
  print(io, args, { ...state, rune: items[0] ?? null }, () => [
    `${session_id} after event ${state.event_id}${state.at === null ? '' : `, ${fullTime(state.at)}`}`,
    ...items.flatMap((rune) => [
      recordLine(rune),
      ...(storyLine(rune) ?? '').split('\n').filter((line) => line !== ''),
      ...guardLines(rune),
    ]),
    ...columns(
      state.subjects.map(({ machine, subject_id, state: at_state, event_id, allowed }) => {
        const moved = event_id === state.event_id
        const ways = [...new Set(allowed.map(({ trigger }) => trigger))].join(', ')
        return [
          moved ? '→' : ' ',
          machine,
          subject_id,
          moved ? paint.strong(at_state) : at_state,
          ways === '' ? 'over' : `may: ${ways}`,
        ]
      }),
    ),
  ])
  return state.event_id
}

async function step(replay: Replay) {
  const { client, session_id, args, io } = replay
  const { event_id: last } = await client.call(stateAt, { params: { session_id }, query: {} })
  for (let at = 1; ; ) {
    await look(replay, at)
    const typed = await io.terminal.ask(`${at} of ${last}. Enter: on, b: back, a number: there, q: end `)
    if (typed === undefined || typed.trim() === 'q') break
    const wanted = typed.trim() === 'b' ? at - 1 : /^\d+$/.test(typed.trim()) ? Number(typed) : at + 1
    at = Math.min(last, Math.max(1, wanted))
  }
  next(io, args, `timeline ${session_id}`)
}
