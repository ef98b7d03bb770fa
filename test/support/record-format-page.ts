import { readFileSync } from 'node:fs'

const page = readFileSync(new URL('../../docs/record-format.md', import.meta.url), 'utf8')

/** The texts of the page that are hashed, and their digests. */
export const digests = [...page.matchAll(/^\| `(statewright\/2 .+)` \| `([0-9a-f]{64})` \|$/gm)].map(
  ([, text = '', sha256 = '']) => ({ text: text.replaceAll('\\n', '\n'), sha256 }),
)

/** The bundle of the page, and its key. */
export const pageBundle = /```ndjson\n([^`]+)```/.exec(page)?.[1] ?? ''
export const pageKey = /signed with `([0-9a-f]{64})`/.exec(page)?.[1] ?? ''

/** Changes of the bundle, and the first bad event of each. */
export const pageChanges = [...page.matchAll(/^\| `(.+?)` \| `(.+?)` \| (\d+) \|$/gm)].map(
  ([, from = '', to = '', event_id = '']) => ({ from, to, event_id: Number(event_id) }),
)

/** The bundle of the page with a change. */
export const changedBundle = ({ from, to }: (typeof pageChanges)[number]) =>
  Buffer.from(pageBundle.replace(from, () => to))
