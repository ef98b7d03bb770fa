import { expect, test } from 'vitest'
import { type ReleaseState, releaseProblems } from '../../scripts/release-checks.ts'

const changelog = `# Changelog

## [0.2.0] - 2026-11-18

### Added

- A thing.

## [0.1.0] - not published
`

const ready: ReleaseState = {
  asked: '0.2.0',
  manifest: {
    version: '0.2.0',
    description: 'A runtime.',
    license: 'Apache-2.0',
    author: 'Statewright contributors',
    repository: 'https://example.invalid/repository',
    homepage: 'https://example.invalid',
    bugs: 'https://example.invalid/bugs',
  },
  locked: '0.2.0',
  changes: '',
  tags: ['v0.1.0'],
  changelog,
}

test('release: a complete state has no problems', () => {
  expect(releaseProblems(ready)).toEqual([])
})

test.each<[string, Partial<ReleaseState>, string]>([
  ['another version', { asked: '0.3.0' }, 'name that one: npm run release -- 0.2.0'],
  ['no version', { asked: '' }, 'name that one: npm run release -- 0.2.0'],
  ['an old lockfile', { locked: '0.1.0' }, 'package-lock.json has the version 0.1.0; run npm install'],
  ['an uncommitted file', { changes: ' M README.md' }, 'the tree has changes that are not committed'],
  ['an existing tag', { tags: ['v0.2.0'] }, 'the tag v0.2.0 exists already'],
  ['an undated section', { changelog: changelog.replace('2026-11-18', 'unreleased') }, 'no heading "## [0.2.0]'],
  ['a similar version', { changelog: changelog.replace('0.2.0', '0x2.0') }, 'no heading "## [0.2.0]'],
  [
    'an empty section',
    { changelog: '## [0.2.0] - 2026-11-18\n\n## [0.1.0]' },
    'says nothing below the heading of 0.2.0',
  ],
  ['missing metadata', { manifest: { version: '0.2.0', author: '' } }, 'license, author, repository, homepage, bugs'],
])('release: %s is refused with its remedy', (_, change, problem) => {
  const problems = releaseProblems({ ...ready, ...change })
  expect(problems).toEqual([expect.stringContaining(problem)])
})
