import { commands } from '../../src/cli/commands/all.ts'
import { helpFor, overview } from '../../src/cli/help.ts'
import { fenced, type Page, page } from './page.ts'

export const cliPage: Page = {
  path: 'docs/reference/cli.md',
  render: () =>
    page(
      'Command line',
      fenced('text', overview(commands)),
      ...commands.flatMap((command) => [`## statewright ${command.name}`, fenced('text', helpFor(command))]),
    ),
}
