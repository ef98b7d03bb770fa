import { faults } from '../../faults/catalogue.ts'
import type { Command } from '../command.ts'
import { goalApprove, goalCancel, goalReject } from './goal/decide.ts'
import { goalCritique, goalList, goalShow, goalWatch } from './goal/look.ts'
import { goalStart } from './goal/start.ts'

const verbs: Readonly<Record<string, Command>> = {
  show: goalShow,
  watch: goalWatch,
  list: goalList,
  critique: goalCritique,
  approve: goalApprove,
  reject: goalReject,
  cancel: goalCancel,
}

/** `goal "…"` sets a goal; a verb in its place does something with one. */
export const goalCommand: Command = {
  name: 'goal',
  usage: [goalStart, ...Object.values(verbs)].map(({ usage }) => usage).join('\n       '),
  summary: 'Set a goal and work towards it: plan, approve, execute, review, until it is met or stopped.',
  options: Object.assign({}, goalStart.options, ...Object.values(verbs).map(({ options }) => options)),

  async run({ positionals, values }, io) {
    const [word = '', ...rest] = positionals
    const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
    const chosen = verb ?? goalStart
    for (const name of Object.keys(values))
      if (!Object.hasOwn(chosen.options, name))
        throw faults.bad_usage({ problem: `${chosen.name} takes no --${name}.`, usage: chosen.usage })
    return chosen.run({ positionals: verb === undefined ? positionals : rest, values }, io)
  },
}
