/**
 * Makes a release: checks the tree, the version, the changelog and the metadata, runs every test, and tags. It pushes
 * and publishes nothing. `npm run release -- 0.2.0`
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type ReleaseState, releaseProblems } from './release-checks.ts'

const [asked = ''] = process.argv.slice(2)
const git = (...args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as ReleaseState['manifest']
const { version: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { version: string }

const problems = releaseProblems({
  asked,
  manifest,
  locked,
  changes: git('status', '--porcelain'),
  tags: git('tag', '--list').split('\n'),
  changelog: readFileSync('CHANGELOG.md', 'utf8'),
})
for (const problem of problems) console.error(`release: ${problem}`)
if (problems.length > 0) process.exit(1)

const { version } = manifest
// A test that this machine cannot run fails here: a release leaves none out.
const env = { ...process.env, STATEWRIGHT_REQUIRE_ALL: '1' }
execFileSync('npm', ['run', 'build'], { stdio: 'inherit' })
execFileSync('npm', ['test'], { stdio: 'inherit', env })
git('tag', '--annotate', `v${version}`, '--message', `statewright ${version}`)
console.log(`release: v${version} is tagged. Push it with "git push origin v${version}", then "npm publish".`)
