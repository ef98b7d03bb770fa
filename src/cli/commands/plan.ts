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
  summary: 'Make a plan of an intent: judged, frozen, with a reason for every verdict. Nothing runs.',
  takes: 1,
  options: makeOptions,
  run: async (call) => (await import('./plan/make.ts')).makePlan(call),
})

const answer = command({
  usage: 'statewright plan answer ID NAME=VALUE … | FILE [--as NAME] [-o DIR] [--store URL] [--server URL] [--json]',
  summary: 'Answer what a plan asks. What is not named gets its default; against the rules, it asks again.',
  takes: [2, 60],
  options: answerOptions,
  run: async (call) => (await import('./plan/stored.ts')).answerQuestions(call),
})

const show = command({
  usage: 'statewright plan show [ID] [--moves] [-o DIR] [--store URL] [--server URL] [--json]',
  summary: 'Where a plan of a store stands, and what it asks; without an id, every plan there is.',
  takes: [0, 1],
  options: showOptions,
  run: async (call) => (await import('./plan/stored.ts')).showPlan(call),
})

const verify = command({
  usage: 'statewright plan verify DIR [--key FILE] [--json]',
  summary: 'Prove that no byte of a frozen plan was changed; with a key, also who signed it. Exit 5 if not.',
  takes: 1,
  options: verifyOptions,
  run: async (call) => (await import('./plan/explain.ts')).verifyFolder(call),
})

const explain = command({
  usage:
    'statewright plan explain INTENT|DIR|ID [--registry DIR] [--policy FILE] [--facts FILE|DIR] [--memory FILE] [--answers FILE] [--json]',
  summary: 'Say why each command got its verdict: the rules that spoke, their reasons, the evidence, the guards.',
  takes: 1,
  options: explainOptions,
  run: async (call) => (await import('./plan/explain.ts')).explainPlan(call),
})

const init = command({
  usage: 'statewright plan init [FILE]',
  summary: 'Write an intent to begin with, every field explained; without a file, print it.',
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
    summary:
      'Judge a plan before anything runs: make one of an intent, answer it, look at it, prove it, explain its verdicts, begin an intent.',
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
    project: text('the project_id of the pack; else "project"'),
    out: text('write the fact pack to this file', 'o'),
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
