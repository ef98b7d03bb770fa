import { commands } from '../../src/cli/commands/all.ts'
import { helpFor, overview } from '../../src/cli/run.ts'
import { fenced, type Page, page } from './page.ts'

export const cliPage: Page = {
  path: 'docs/reference/cli.md',
  render: () =>
    page(
      'Command line',
      fenced('text', overview(commands)),
      [
        '- Standard output is the result, standard error the talk around it: hints, cards, progress, refusals. What an agent says is the result of `run`.',
        '- `--json` gives JSON, one object per line where there are several (`run`, `watch`, `show --events`); a refusal is then the fault as JSON on standard error.',
        '- An id may be shortened to what is unambiguous, with or without its kind (`ses_`, `run_`, `int_`). One that fits several lists them.',
        '- Nothing is ever asked without a terminal, nor when `CI` is set. `NO_COLOR` is respected.',
        '- A command reaches the store by itself, or through a server: the one that `--server` names, or the one that holds the store. The token is in `STATEWRIGHT_TOKEN`, or in the file that the server wrote; `statewright doctor` says where. The output is the same.',
        '- Looking changes nothing. A command that acts on a store by itself needs the config, and first recovers the session that it acts on.',
        '- `worker` and `serve` carry out every run of the store. `run`, `chat`, `watch --work`, `goal` and `goal watch --work` carry out what they are asked for and nothing else: the run, the tasks that it hands on, and the runs that its agent has to finish first; or all runs of a session; or a goal. They recover only the session of that. A command that is refused starts nothing.',
      ].join('\n'),
      ...commands.flatMap((command) => [`## statewright ${command.name}`, fenced('text', helpFor(command))]),
    ),
}
