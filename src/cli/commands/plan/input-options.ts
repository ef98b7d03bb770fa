import type { Option } from '../../command.ts'

/** What a plan is made of, by file. */
export const inputOptions: Readonly<Record<'policy' | 'registry' | 'facts' | 'memory' | 'answers', Option>> = {
  policy: {
    type: 'string',
    summary: 'what the operator allows; without it, people are asked and nothing is destroyed',
  },
  registry: { type: 'string', summary: 'the folder of workflows, agents, commands and rules; else ./registry' },
  facts: { type: 'string', summary: 'a fact pack, or a project folder to scan; else the repo_root of the intent' },
  memory: { type: 'string', summary: 'a memory pack; else an empty one' },
  answers: { type: 'string', summary: 'answers, round by round: answer packs, or maps from question to answer' },
}
