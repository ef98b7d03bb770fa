import { faults } from '../../faults/catalogue.ts'
import type { Command } from '../command.ts'
import { planAnswer } from './plan/answer.ts'
import { planExplain } from './plan/explain.ts'
import { planInit } from './plan/init.ts'
import { planMake } from './plan/make.ts'
import { planShow } from './plan/show.ts'
import { planVerify } from './plan/verify.ts'

const verbs: Readonly<Record<string, Command>> = {
  answer: planAnswer,
  show: planShow,
  verify: planVerify,
  explain: planExplain,
  init: planInit,
}

/** `plan INTENT` makes a plan; a verb in its place does something with one. */
export const planCommand: Command = {
  name: 'plan',
  usage: [planMake, ...Object.values(verbs)].map(({ usage }) => usage).join('\n       '),
  summary:
    'Judge a plan before anything runs: make one of an intent, answer it, look at it, prove it, explain its verdicts, begin an intent.',
  options: Object.assign({}, planMake.options, ...Object.values(verbs).map(({ options }) => options)),

  async run({ positionals, values }, io) {
    const [word = '', ...rest] = positionals
    const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
    const chosen = verb ?? planMake
    for (const name of Object.keys(values))
      if (!Object.hasOwn(chosen.options, name))
        throw faults.bad_usage({ problem: `${chosen.name} takes no --${name}.`, usage: chosen.usage })
    return chosen.run({ positionals: verb === undefined ? positionals : rest, values }, io)
  },
}
