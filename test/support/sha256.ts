import { hostPorts } from '../../src/adapters/host/ports.ts'

export const { sha256 } = hostPorts
