import { canonicalJson } from '../../kernel/canonical-json.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { command } from '../command.ts'
import { safeJson } from '../render/text.ts'

/** The command `facts`. */
export const factsCommand = command({
  name: 'facts',
  usage: 'statewright facts DIR [--project ID] [-o FILE] [--json]',
  summary: 'Scan a project folder: languages, manifests, scripts, pipelines, tests, owners, each with file and line.',
  takes: 1,
  options: {
    project: { type: 'string', summary: 'the project_id of the pack; else "project"' },
    out: { type: 'string', short: 'o', summary: 'write the fact pack to this file' },
    json: { type: 'boolean', summary: 'print the fact pack' },
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
