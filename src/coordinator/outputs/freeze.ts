import { faults } from '../../faults/catalogue.ts'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import { asJson } from '../../kernel/json.ts'
import type { Coordination } from '../coordinate.ts'
import type { CoordinationInput, Ports } from '../progress.ts'
import { listArtifacts } from './artifacts.ts'
import { markdownOf } from './markdown/pages.ts'
import { envelopeFile, journalFile, type Signer, seal, statementFile, statementOf } from './statement.ts'

/** Name to text. JSON files hold the canonical text and no more, so `sha256sum` gives an artifact's checksum. */
export type FrozenFiles = Readonly<Record<string, string>>

/** Everything an ended coordination leaves behind. Each artifact is there for machines and for people. */
export function freeze(
  coordination: Pick<Coordination, 'run_id' | 'artifacts' | 'tape' | 'audit' | 'lineage'>,
  input: Pick<CoordinationInput, 'intent' | 'policy'>,
  { sha256 }: Pick<Ports, 'sha256'>,
  signer?: Signer,
): FrozenFiles {
  const { run_id, artifacts, tape, audit, lineage } = coordination
  if (!tape.is_closed) throw faults.coordination_not_over({ coordination_id: run_id, state: tape.state })
  const log = { schema_version: '1.0.0', coordinator_run_id: run_id, entries: audit }
  const documents: readonly { type: string; name: string; artifact: unknown }[] = [
    ...listArtifacts(artifacts).filter(({ type }) => type !== 'lineage'),
    { type: 'lineage', name: 'lineage', artifact: lineage },
    { type: 'run_tape', name: 'run_tape', artifact: tape },
    { type: 'audit_log', name: 'audit_log', artifact: log },
  ]
  const files: Record<string, string> = {
    'intent.json': canonicalJson(input.intent),
    'policy.json': canonicalJson(input.policy),
  }
  for (const { type, name, artifact } of documents) {
    files[`${name}.json`] = canonicalJson(asJson(artifact))
    files[`${name}.md`] = markdownOf(type, asJson(artifact))
  }
  const statement = canonicalJson(statementOf(lineage, digests(files, sha256)))
  files[statementFile] = statement
  if (signer !== undefined) files[envelopeFile] = canonicalJson(asJson(seal(statement, signer)))
  return files
}

/** Sorted by name; the statement and its envelope speak about the others and not about themselves, nor about times. */
export function digests(files: FrozenFiles, sha256: Ports['sha256']) {
  return Object.keys(files)
    .filter((name) => name !== statementFile && name !== envelopeFile && name !== journalFile)
    .sort()
    .map((name) => ({ name, sha256: sha256(files[name] ?? '') }))
}
