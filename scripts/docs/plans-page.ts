import { payloadCompanions, payloadNames } from '../../src/coordinator/payload-keys.ts'
import { ruleAttributes, ruleVocabulary } from '../../src/coordinator/rules/engine.ts'
import { goneFields, policyFields } from '../../src/coordinator/schemas/context.ts'
import { code, fenced, type Page, page, table } from './page.ts'

export const plansPage: Page = {
  path: 'docs/reference/plans.md',
  render: () =>
    page(
      'Plans',
      'What the Coordinator reads and enforces. [Plans](../plans.md) explains how it is used.',
      '## Policy',
      'Every field is enforced; an unknown field is refused by name (`policy_invalid`).',
      table(
        ['field', 'what it does', 'without it'],
        Object.entries(policyFields).map(([field, { effect, usual }]) => [code(field), effect, usual]),
      ),
      'Refused, since the Coordinator executes nothing and could not enforce them:',
      table(
        ['field', 'instead'],
        [
          ...Object.entries(goneFields).map(([field, instead]) => [code(field), instead]),
          [
            '`constraints.lock_scope` of an intent',
            'only `{ mode: none, paths: [] }` is taken: no part of Statewright takes locks on files or tasks.',
          ],
        ],
      ),
      '## Keys that carry something to execute',
      'Red line 1: an intent or an answer pack with such a key, at any depth, is aborted or refused. A key is compared by how it looks: NFKD, without accents, separators and invisible characters, in small letters, with look-alike letters of other scripts (UTS #39) and digits (`0`, `1`) read as the Latin letters they look like, and without a number at its end. Texts may say what they like; step ids in `set_risk` are names of steps.',
      `Names: ${payloadNames.map(code).join(', ')}.`,
      `A key is also found if it is made of these names and of words that stand next to them, as in \`shell_command\`: ${payloadCompanions.map(code).join(', ')}.`,
      '## What a rule sees',
      `A rule is a Cedar policy over \`principal\` (the agent of the step), \`action == Action::"plan"\`, \`resource\` (the command) and \`context\` with ${Object.keys(ruleAttributes).length} attributes. Every attribute is always there.`,
      table(
        ['attribute', 'type', 'meaning'],
        Object.entries(ruleAttributes).map(([name, { type, meaning }]) => [code(name), code(type), meaning]),
      ),
      'The schema that every rule is validated against, strictly:',
      fenced('cedar', ruleVocabulary.trimEnd()),
    ),
}
