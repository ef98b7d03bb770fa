import { stat, writeFile } from 'node:fs/promises'
import { readPlan, writePlan } from './adapters/files/plan-folder.ts'
import { hostPorts } from './adapters/host/ports.ts'
import type { Planning } from './cli/planning.ts'
import { faults } from './faults/catalogue.ts'
import { loadRules, readKey, readPublicKey, readRegistry } from './open-plans.ts'

/** Planning with the files and the rules of this machine. Parsers and Cedar are loaded when they are needed. */
export const planning: Planning = {
  readDocument: async (file) => (await import('./adapters/files/document.ts')).readDocument(file),
  isFolder: (path) =>
    stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    ),
  readRegistry: (folder) => readRegistry(folder, hostPorts.sha256),
  rules: loadRules,
  async scan(folder, project_id) {
    const { scanProject } = await import('./adapters/facts/project-folder.ts')
    return scanProject(folder, project_id, hostPorts.sha256).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw faults.not_found({ what: 'folder', id: folder })
      throw faults.file_unusable({ file: folder, problem: error.message })
    })
  },
  writePlan,
  readPlan,
  readKey,
  readPublicKey,
  async writeNew(file, text) {
    await writeFile(file, text, { flag: 'wx' }).catch((error: Error) => {
      throw faults.file_unusable({ file, problem: error.message })
    })
  },
}
