import { faults } from '../../src/faults/catalogue.ts'
import { code, type Page, page, table } from './page.ts'

const retries = {
  never: 'never: the same request will be refused again',
  at_once: 'at once',
  later: 'later',
}

export const faultsPage: Page = {
  path: 'docs/reference/faults.md',
  render: () =>
    page(
      'Faults',
      'Every way in which a request is refused. An answer that is a fault has `code`, `message`, `retry` and `details`; branch on `code`, which never changes its meaning. The message says what is the case, what was asked, and what would be accepted.',
      table(
        ['code', 'HTTP', 'may the same request be sent again?'],
        Object.entries(faults).map(([name, { row }]) => [code(name), String(row.http), retries[row.retry]]),
      ),
    ),
}
