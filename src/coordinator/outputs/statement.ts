import { z } from 'zod'
import type { Lineage } from '../schemas/lineage.ts'

export interface FileDigest {
  readonly name: string
  readonly sha256: string
}

export const statementFile = 'statement.json'
export const envelopeFile = 'statement.dsse.json'
/** Times stand beside what is frozen and outside its checksums: the same input gives the same frozen bytes, at any time. */
export const journalFile = 'journal.json'
export const payloadType = 'application/vnd.in-toto+json'

/** As much of a statement as is needed to say which file it disagrees with. */
export const statementSubjects = z.object({
  subject: z.array(z.object({ name: z.string(), digest: z.object({ sha256: z.string() }) })),
})

/** Lineage in the words of in-toto and SLSA, so that other tools can check it: inputs, content, every file by digest. */
export function statementOf(lineage: Lineage, files: readonly FileDigest[]) {
  const tape = files.find(({ name }) => name === 'run_tape.json')
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:statewright:coordination:v1',
        externalParameters: {
          intent: { id: lineage.derived_from_intent, digest: { sha256: lineage.intent_checksum } },
          answers: lineage.answer_checksums.map((sha256) => ({ digest: { sha256 } })),
        },
        internalParameters: {
          policy: { digest: { sha256: lineage.policy_checksum } },
          memory: { digest: { sha256: lineage.memory_checksum } },
          facts: { digest: { sha256: lineage.facts_checksum } },
          registry_snapshot: { digest: { sha256: lineage.registry_snapshot_id } },
          rule_engine: lineage.rule_engine,
        },
        resolvedDependencies: lineage.registry_versions.map(({ kind, id, version, checksum }) => ({
          name: `${kind}/${id}@${version}`,
          digest: { sha256: checksum },
        })),
      },
      runDetails: {
        builder: { id: `urn:statewright:coordinator:${lineage.coordinator_version}` },
        metadata: { invocationId: lineage.coordinator_run_id },
        byproducts: tape === undefined ? [] : [{ name: tape.name, digest: { sha256: tape.sha256 } }],
      },
    },
  }
}
