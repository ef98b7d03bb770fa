import type { Sha256 } from '../../kernel/digest.ts'
import { checksumOf } from '../checksum.ts'
import type { FactEvidence, FactPack } from '../schemas/context.ts'
import {
  detectLanguages,
  detectManifests,
  detectOwners,
  detectPipelines,
  detectScripts,
  detectTests,
  type Find,
  type SourceFile,
} from './detect.ts'

/** More tests than this add nothing to a plan; the scan says how many it saw by listing the first of them. */
const mostTests = 200

/** Turns the files of a project into facts. Same files, same pack: their order does not matter, and no time is in it. */
export function factsOf(project_id: string, given: readonly SourceFile[], sha256: Sha256): FactPack {
  const files = given.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const evidence: FactEvidence[] = []
  const cite = <F>(
    category: FactEvidence['category'],
    finds: readonly Find<F>[],
  ): (F & { evidence_refs: string[] })[] =>
    finds.map(({ fact, file, line, snippet, description }) => {
      const id = `ev${evidence.length + 1}`
      evidence.push({ id, source_file: file, category, snippet, line, description })
      return { ...fact, evidence_refs: [id] }
    })
  return {
    schema_version: '1.0.0',
    project_id,
    repo_fingerprint: checksumOf(
      files.map(({ path, text }) => [path, sha256(text)]),
      sha256,
    ),
    languages: cite('language', detectLanguages(files)),
    manifests: cite('manifest', detectManifests(files)),
    scripts: cite('script', detectScripts(files)),
    ci: cite('ci', detectPipelines(files)),
    tests: cite('test', detectTests(files).slice(0, mostTests)),
    owners: cite('owner', detectOwners(files)),
    evidence,
  }
}
