import { fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { answerTo, createOutside, type Effect, type Note, type Outside } from './outside.ts'

/**
 * The outside as a process of its own, which is never killed. Every effect is on
 * its disk before it answers; worlds are kept apart, so that many can be played
 * against one witness. It ends with its standard input.
 */
const [folder = '.'] = process.argv.slice(2)
const socket = `${folder}/witness.sock`
const worlds = new Map<string, Outside>()
const book = openSync(`${folder}/effects.jsonl`, 'a')

export type Question = { readonly id: number; readonly world: string } & (
  | { readonly ask: 'receive'; readonly effect: Effect }
  | { readonly ask: 'note'; readonly note: Note }
  | { readonly ask: 'effects' | 'notes' }
)

async function answer(question: Question): Promise<unknown> {
  const outside = worlds.get(question.world) ?? createOutside()
  worlds.set(question.world, outside)
  switch (question.ask) {
    case 'receive':
      writeSync(book, `${JSON.stringify({ world: question.world, ...question.effect })}\n`)
      fsyncSync(book)
      await outside.receive(question.effect)
      return answerTo(question.effect)
    case 'note':
      return outside.note(question.note)
    default:
      return outside[question.ask]()
  }
}

const server = createServer((client) => {
  const lines = createInterface({ input: client })
  // Clients die while they are answered; that is what they are for.
  for (const end of [client, lines]) end.on('error', () => client.destroy())
  lines.on('line', async (line) => {
    const question = JSON.parse(line) as Question
    const said = await answer(question)
    client.write(`${JSON.stringify({ id: question.id, answer: said ?? null })}\n`)
  })
})
rmSync(socket, { force: true })
server.listen(socket, () => console.log('listening'))
process.stdin.resume().on('end', () => process.exit(0))
