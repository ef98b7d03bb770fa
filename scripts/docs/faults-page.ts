import { faults } from '../../src/faults/catalogue.ts'
import type { FaultKind } from '../../src/faults/fault.ts'
import { code, type Page, page, table } from './page.ts'

const retries = { never: 'no', at_once: 'at once', later: 'later' }

const kinds: Readonly<Record<FaultKind, string>> = {
  refusal: 'Refusals: the request is well formed and cannot be done now, or not in this state',
  usage: 'Usage: the request itself is wrong',
  store: 'Store: the store is broken, closed or out of reach',
}

const rowsOf = (kind: string) =>
  Object.entries(faults)
    .filter(([, { row }]) => row.kind === kind)
    .map(([name, { row }]) => [code(name), row.meaning, row.remedy, String(row.http), retries[row.retry]])

export const faultsPage: Page = {
  path: 'docs/reference/faults.md',
  render: () =>
    page(
      'Faults',
      'Every way in which a request is refused. A fault has `code`, `message`, `retry` and `details`. Branch on `code`: it never changes its meaning. The message names the value that is wrong, what is allowed, and what to do.',
      'In TypeScript, `isFault(error, code)` tells a fault from every other error and types its `details`. `fault.kind` is `refusal`, `usage` or `store`. The last column says whether the same request may be sent again unchanged.',
      ...Object.entries(kinds).flatMap(([kind, title]) => [
        `## ${title}`,
        table(['code', 'meaning', 'what to do', 'HTTP', 'send again'], rowsOf(kind)),
      ]),
    ),
}
