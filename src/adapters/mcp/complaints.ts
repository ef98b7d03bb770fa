import type { Stream } from 'node:stream'

const most = 2_000

/**
 * The end of what a server says on its standard error. It is read for as long
 * as the server lives, since a server whose stderr is not read blocks;
 * nothing of it is kept but what explains why it would not start.
 */
export function hearComplaints(stderr: Stream | null): () => string {
  let heard = ''
  stderr?.on('data', (piece: Buffer) => {
    const all = `${heard}${piece}`
    // Only whole lines are kept: half a secret would not be found.
    heard = all.length <= most ? all : all.slice(all.indexOf('\n', all.length - most) + 1 || all.length)
  })
  return () => {
    const lines = heard.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
    return lines.slice(-3).join(' ')
  }
}
