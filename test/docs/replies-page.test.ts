import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ReplyKind, replyShapes } from '../../src/wire/interaction.ts'

test('docs: the page on tools shows a reply for each kind of question, and each is one that is taken', () => {
  const page = readFileSync('docs/tools.md', 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)`[^|]*\| `(\{.*?\})` \|/gm)].map(
    ([, kind, reply]) => [kind, reply] as const,
  )
  expect(rows.map(([kind]) => kind).toSorted()).toEqual(Object.keys(replyShapes).toSorted())
  for (const [kind, reply] of rows)
    expect(replyShapes[kind as ReplyKind].safeParse(JSON.parse(reply ?? '')).error, kind).toBeUndefined()
})
