import type { Planning } from '../cli/planning.ts'

/** Planning with the files and the rules of this machine. Each part is loaded when it is needed. */
export const planning: Planning = {
  readDocument: async (file) => (await import('../adapters/files/document.ts')).readDocument(file),
  isFolder: async (path) => (await import('../adapters/files/plan-folder.ts')).isFolder(path),
  readRegistry: async (folder) => {
    const { hostPorts } = await import('../adapters/host/ports.ts')
    return (await import('./open-plans.ts')).readRegistry(folder, hostPorts.sha256)
  },
  rules: async () => (await import('./open-plans.ts')).loadRules(),
  scan: async (folder, project_id) => {
    const { hostPorts } = await import('../adapters/host/ports.ts')
    return (await import('../adapters/facts/project-folder.ts')).scanProject(folder, project_id, hostPorts.sha256)
  },
  writePlan: async (folder, files) => (await import('../adapters/files/plan-folder.ts')).writePlan(folder, files),
  readPlan: async (folder) => (await import('../adapters/files/plan-folder.ts')).readPlan(folder),
  readKey: async (file) => (await import('./open-plans.ts')).readKey(file),
  readPublicKey: async (file) => (await import('./open-plans.ts')).readPublicKey(file),
  writeNew: async (file, text) => (await import('../adapters/files/document.ts')).writeNew(file, text),
}
