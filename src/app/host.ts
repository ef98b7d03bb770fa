import { createInterface } from 'node:readline/promises'
import { hostPorts } from '../adapters/host/ports.ts'
import { checkSignature } from '../adapters/host/secret-files.ts'
import type { Host, Planning, Terminal } from '../cli/host.ts'

const { sha256, now } = hostPorts

const planning: Planning = {
  readDocument: async (file) => (await import('../adapters/files/documents.ts')).readDocument(file),
  isFolder: async (path) => (await import('../adapters/files/plan-folder.ts')).isFolder(path),
  readRegistry: async (folder) => (await import('./open-plans.ts')).readRegistry(folder, sha256),
  rules: async () => (await import('./open-plans.ts')).loadRules(),
  scan: async (folder, project_id) =>
    (await import('../adapters/facts/project-folder.ts')).scanProject(folder, project_id, sha256),
  writePlan: async (folder, files) => (await import('../adapters/files/plan-folder.ts')).writePlan(folder, files),
  readPlan: async (folder) => (await import('../adapters/files/plan-folder.ts')).readPlan(folder),
  readKey: async (file) => (await import('./open-plans.ts')).readKey(file),
  readPublicKey: async (file) => (await import('./open-plans.ts')).readPublicKey(file),
  writeNew: async (file, text) => (await import('../adapters/files/documents.ts')).writeNew(file, text),
}

/** The ports of commands on this machine. Each part is loaded on first use, so that short commands stay quick. */
export const systemHost: Host = {
  sha256,
  now,
  checkSignature,
  openStore: async (url, use) => (await import('./open-store.ts')).openExisting(await named(url), use),
  backUp: async (url, folder) => (await import('./open-store.ts')).backUp(await named(url), folder),
  async openClient(where, use) {
    if (use === 'look') return (await import('./open-client.ts')).openLookingClient(where)
    const working = await import('./working-client.ts')
    return use === 'act' ? working.openActingClient(where) : working.openWorkingClient(where)
  },
  hasConfig: async (file) => (await import('./load-config.ts')).hasConfig(file),
  examine: async (where) => (await import('./examine.ts')).examine(where),
  startWorker: async (where, io) => (await import('./start-worker.ts')).startWorker(where, io),
  planning,
  openPlans: async (where, asked) => (await import('./working-client.ts')).openPlanClient(where, asked),
  startServer: async (asked, io) => (await import('./serve.ts')).startServer(asked, io),
  playDemo: async (io, options) => (await import('../demo/play.ts')).playDemo(io, options),
  onInterrupt,
  everySecond,
  untilSignal,
  within,
}

async function named(url: string | undefined): Promise<string> {
  return (await import('./load-config.ts')).storeOf({ store: url, server: undefined, config: undefined })
}

function onInterrupt(listener: (asked?: 'leave') => void): () => void {
  const interrupted = () => listener()
  const terminated = () => listener('leave')
  process.on('SIGINT', interrupted)
  process.on('SIGTERM', terminated)
  return () => {
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', terminated)
  }
}

function everySecond(listener: () => void): () => void {
  const timer = setInterval(listener, 1_000)
  return () => clearInterval(timer)
}

async function within(ms: number, work: () => Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work().catch(() => {}), late])
  clearTimeout(timer)
}

/** Only the first signal is handled: a second one ends the process at once. */
function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    // Keeps the process alive: an idle worker has no other open handle.
    const waiting = setInterval(() => {}, 2 ** 30)
    const signals = ['SIGINT', 'SIGTERM'] as const
    const received = (signal: NodeJS.Signals) => {
      clearInterval(waiting)
      for (const name of signals) process.off(name, received)
      resolve(signal)
    }
    for (const name of signals) process.on(name, received)
  })
}

/** The terminal of this process. Questions go to standard error, so that the output can go into a pipe. */
export function openTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true && env.CI === undefined
  return {
    isInteractive,
    isScreen: stdout.isTTY === true,
    hasColor: stdout.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb',
    async ask(question, signal) {
      const lines = createInterface({ input: stdin, output: stderr, terminal: isInteractive })
      const over = Promise.withResolvers<undefined>()
      lines.once('close', () => over.resolve(undefined))
      // In raw mode the terminal swallows Ctrl-C, so the signal is sent by hand.
      lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
      try {
        const asked = signal === undefined ? lines.question(question) : lines.question(question, { signal })
        const typed = await Promise.race([asked.catch(() => undefined), over.promise])
        // Ctrl-D leaves the cursor behind the question; the next output starts on a new line.
        if (typed === undefined && isInteractive && signal?.aborted !== true) stderr.write('\n')
        return typed
      } finally {
        lines.close()
      }
    },
  }
}
