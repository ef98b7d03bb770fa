/**
 * Makes a release: checks the tree, the version and the changelog, checks the package, and tags. It pushes and publishes
 * nothing. `npm run release -- 0.2.0`
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [asked = ''] = process.argv.slice(2)
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const git = (...args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
const tag = `v${version}`
const heading = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d{2}-\\d{2}$`, 'm')

const problems = [
  asked === version ? '' : `package.json has the version ${version}; name that one: npm run release -- ${version}`,
  git('status', '--porcelain') === '' ? '' : 'the tree has changes that are not committed',
  git('tag', '--list', tag) === '' ? '' : `the tag ${tag} exists already`,
  heading.test(readFileSync('CHANGELOG.md', 'utf8'))
    ? ''
    : `CHANGELOG.md has no heading "## [${version}] - YYYY-MM-DD"`,
].filter((problem) => problem !== '')
for (const problem of problems) console.error(`release: ${problem}`)
if (problems.length > 0) process.exit(1)

execFileSync('npm', ['run', 'build'], { stdio: 'inherit' })
execFileSync('npm', ['run', 'pack:check'], { stdio: 'inherit' })
git('tag', '--annotate', tag, '--message', `statewright ${version}`)
console.log(`release: ${tag} is tagged. Push it with "git push origin ${tag}", then "npm publish".`)
