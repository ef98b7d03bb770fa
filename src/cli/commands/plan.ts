import { isoTime } from '../../kernel/instant.ts'
import { canonicalJson } from '../../kernel/json.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import { command, withVerbs } from '../command.ts'
import { flag, text } from '../options.ts'
import { safeJson } from '../render/text.ts'
import { answerOptions, explainOptions, makeOptions, showOptions, verifyOptions } from './plan/options.ts'

const make = command({
  name: 'plan INTENT',
  usage:
    'statewright plan INTENT [--registry DIR] [--policy FILE] [--facts FILE|DIR] [--memory FILE] [--answers FILE] [--recovers ID|DIR] [-o DIR] [--key FILE] [--store URL] [--server URL] [--json]',
  summary: 'Make a plan from an intent: judged, frozen, with a reason for every verdict. Nothing runs.',
  takes: 1,
  options: makeOptions,
  run: async (call) => (await import('./plan/make.ts')).makePlan(call),
})

const answer = command({
  usage: 'statewright plan answer ID NAME=VALUE … | FILE [--as NAME] [-o DIR] [--store URL] [--server URL] [--json]',
  summary:
    'Answer the questions of a plan. Other questions get their defaults. If an answer breaks a rule, the plan asks again.',
  takes: [2, 60],
  options: answerOptions,
  run: async (call) => (await import('./plan/stored.ts')).answerQuestions(call),
})

const show = command({
  usage: 'statewright plan show [ID] [--moves] [-o DIR] [--store URL] [--server URL] [--json]',
  summary: 'Show the state of a plan and its questions. Without an id, list all plans of the store.',
  takes: [0, 1],
  options: showOptions,
  run: async (call) => (await import('./plan/stored.ts')).showPlan(call),
})

const verify = command({
  usage: 'statewright plan verify DIR [--key FILE] [--json]',
  summary: 'Prove that no byte of a frozen plan was changed; with a key, also its signature. Exit 5 if not.',
  takes: 1,
  options: verifyOptions,
  run: async (call) => (await import('./plan/explain.ts')).verifyFolder(call),
})

const explain = command({
  usage:
    'statewright plan explain INTENT|DIR|ID [--registry DIR] [--policy FILE] [--facts FILE|DIR] [--memory FILE] [--answers FILE] [--json]',
  summary: 'Explain the verdict of each command: the rules that fired, their reasons, the evidence, the guards.',
  takes: 1,
  options: explainOptions,
  run: async (call) => (await import('./plan/explain.ts')).explainPlan(call),
})

const init = command({
  usage: 'statewright plan init [FILE]',
  summary: 'Write a commented intent to start from. Without a file, print it.',
  takes: [0, 1],
  options: {},
  async run({ words: [file], io: { host, out, err } }) {
    const { intentTemplate } = await import('./plan/intent-template.ts')
    const text = intentTemplate(isoTime(host.now()))
    if (file === undefined) return out(text.trimEnd())
    await host.planning.writeNew(file, text)
    err(`Wrote ${file}. Fill it in, then: statewright plan ${file} --registry DIR -o plan`)
  },
})

/** `plan INTENT` makes a plan; a verb in its place does something with one. */
export const planCommand = withVerbs(
  {
    name: 'plan',
    summary: 'Judge a plan before anything runs: write its intent, make it, answer, show, verify or explain it.',
  },
  make,
  { answer, show, verify, explain, init },
)

/** The command `facts`. */
export const factsCommand = command({
  usage: 'statewright facts DIR [--project ID] [-o FILE] [--json]',
  summary: 'Scan a project folder: languages, manifests, scripts, pipelines, tests, owners, each with file and line.',
  takes: 1,
  options: {
    project: text('the project_id of the pack. Default: project'),
    out: text('the file for the fact pack', 'o'),
    json: flag('print the fact pack'),
  },
  async run({ words: [folder = ''], values: { project = 'project', out: file, json }, io: { host, out, err } }) {
    const facts = await host.planning.scan(folder, project)
    const text = canonicalJson(withoutUndefined(facts))
    if (file !== undefined) {
      await host.planning.writeNew(file, `${text}\n`)
      err(`Wrote ${file}.`)
    }
    if (json) out(safeJson(JSON.parse(text)))
    else
      for (const { id, source_file, line, description } of facts.evidence)
        out(`${id.padEnd(5)}  ${source_file}:${line}  ${description}`)
  },
})
