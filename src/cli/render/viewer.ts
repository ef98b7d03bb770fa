import type { Rune } from '../../runes/rune.ts'
import type { Received } from '../../surface/client.ts'
import type { Io } from '../host.ts'
import { recordLine, storyLine } from './story.ts'
import { clockTime, inOrder, paintFor, safe, safeJson } from './text.ts'

/** The live output of a run. */
export type Viewer = ReturnType<typeof createViewer>

type Detail = 'text' | 'story' | 'events' | 'json'

/** Streams the agent's text to standard output, and the rest to standard error; `json` prints each event instead. */
export function createViewer({ out, err, write, terminal }: Io, detail: Detail) {
  const paint = paintFor(terminal.hasColor)
  /** The streamed text of each answer. Its durable text replaces it and is not shown again. */
  let streamed = { place: '', text: '' }
  let isMidLine = false

  const toLineEnd = () => {
    if (isMidLine) write('\n')
    isMidLine = false
  }
  const say = (text: string) => {
    toLineEnd()
    err(text)
  }
  const stream = (text: string) => {
    if (text === '') return
    write(safe(text))
    isMidLine = !text.endsWith('\n')
  }

  function showRune(rune: Rune) {
    const text = textOf(rune)
    if (text !== undefined) {
      const isKnown = text.startsWith(streamed.text)
      if (!isKnown) toLineEnd()
      stream(isKnown ? text.slice(streamed.text.length) : text)
      streamed = { place: '', text: '' }
      toLineEnd()
    }
    if (detail === 'events') {
      const row = [String(rune.event_id).padStart(5), clockTime(rune.at), rune.actor, recordLine(rune)]
      say(paint.faint(row.join('  ')))
    } else if (detail === 'story' && text === undefined) {
      const line = storyLine(rune)
      if (line !== undefined) say(paint.faint(line))
    }
  }

  return {
    show(received: Received) {
      if (detail === 'json') out(safeJson(inOrder(received)))
      else if (received.type === 'rune') showRune(received.rune)
      else if (received.delta.channel === 'text') {
        const { turn_id, round, offset, text } = received.delta
        const place = `${turn_id}/${round}`
        if (place !== streamed.place) streamed = { place, text: '' }
        // A late subscriber missed the beginning; the durable text brings all of it.
        if (offset !== streamed.text.length) return
        streamed = { place, text: streamed.text + text }
        stream(text)
      }
    },
    /** A line that is not part of the run: a hint, a question. It begins on a line of its own. */
    say: (text: string) => (detail === 'json' ? undefined : say(text)),
    end: toLineEnd,
  }
}

function textOf(rune: Rune): string | undefined {
  if (rune.kind === 'turn.completed') return rune.payload.final_output || undefined
  return rune.kind === 'turn.tool_calls_received' ? rune.payload.text || undefined : undefined
}
