import type { Client } from '../../surface/client.ts'
import { listRunes, stateAt } from '../../surface/operations/runes.ts'
import type { Arguments, Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import type { Io } from '../host.ts'
import { print } from '../print.ts'
import { columns } from '../render/columns.ts'
import { paintFor } from '../render/paint.ts'
import { recordLine, storyLine } from '../render/story.ts'
import { fullTime } from '../render/when.ts'
import { resolveId } from '../resolve-id.ts'
import { countOf } from '../usage.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const replayCommand: Command = {
  name: 'replay',
  usage: 'statewright replay SESSION [--at EVENT]',
  summary: 'Where every machine of a session was after an event. At a terminal, step on with Enter, back with b.',
  options: {
    at: { type: 'string', summary: 'the event to look at; else the first one at a terminal, the last one elsewhere' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    const at = countOf(this, args, 'at')
    return withClient(io.host, args, async (client) => {
      const { session_id } = await resolveId(client, given, 'session', 'run')
      if (at !== undefined || !io.terminal.isInteractive || args.values.json)
        await look(client, session_id, at, args, io)
      else await step(client, session_id, args, io)
      return exits.ok
    })
  },
}

async function look(client: Client, session_id: string, at: number | undefined, args: Arguments, io: Io) {
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

async function step(client: Client, session_id: string, args: Arguments, io: Io) {
  const { event_id: last } = await client.call(stateAt, { params: { session_id }, query: {} })
  for (let at = 1; ; ) {
    await look(client, session_id, at, args, io)
    const said = await io.terminal.ask(`${at} of ${last}. Enter: on, b: back, a number: there, q: end `)
    if (said === undefined || said.trim() === 'q') break
    const wanted = said.trim() === 'b' ? at - 1 : /^\d+$/.test(said.trim()) ? Number(said) : at + 1
    at = Math.min(last, Math.max(1, wanted))
  }
  next(io, args, `timeline ${session_id}`)
}
