/** The state of the checkout that a release depends on. */
export interface ReleaseState {
  /** The version that was asked for on the command line. */
  readonly asked: string
  /** The fields of package.json. */
  readonly manifest: Readonly<Record<string, unknown>> & { readonly version: string }
  /** The version in package-lock.json. */
  readonly locked: string
  /** The answer of `git status --porcelain`. */
  readonly changes: string
  readonly tags: readonly string[]
  readonly changelog: string
}

/** They are set by the owner of the registry entry; an invented address would be worse than none. */
const metadata = ['description', 'license', 'author', 'repository', 'homepage', 'bugs']

/** Why no release can be made, each with the remedy; empty if one can. */
export function releaseProblems({ asked, manifest, locked, changes, tags, changelog }: ReleaseState): string[] {
  const { version } = manifest
  const missing = metadata.filter((field) => manifest[field] === undefined || manifest[field] === '')
  const section = sectionOf(changelog, version)
  return [
    asked === version ? '' : `package.json has the version ${version}; name that one: npm run release -- ${version}`,
    locked === version ? '' : `package-lock.json has the version ${locked}; run npm install`,
    changes === '' ? '' : 'the tree has changes that are not committed',
    tags.includes(`v${version}`) ? `the tag v${version} exists already` : '',
    section === undefined ? `CHANGELOG.md has no heading "## [${version}] - YYYY-MM-DD"` : '',
    section === '' ? `CHANGELOG.md says nothing below the heading of ${version}` : '',
    missing.length === 0 ? '' : `package.json lacks ${missing.join(', ')}`,
  ].filter((problem) => problem !== '')
}

/** The text below the dated heading of a version; undefined without such a heading. */
function sectionOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m)
  for (const section of sections) {
    const [heading = '', ...lines] = section.split('\n')
    const date = heading.startsWith(`[${version}] - `) ? heading.slice(version.length + 5) : ''
    if (/^\d{4}-\d{2}-\d{2}$/.test(date)) return lines.join('\n').trim()
  }
  return undefined
}
