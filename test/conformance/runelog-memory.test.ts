import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import type { OpenStore } from './runelog/store.ts'
import { describeRunelog } from './runelog.ts'

const open: OpenStore = async (options) => {
  const runelog = openMemoryRunelog(hostPorts, options)
  return { runelog, dispose: runelog.close }
}

describeRunelog('memory', open, { lasting: false })
