import type { Operation } from '../operation.ts'
import { getMachine, listMachines } from './machines.ts'

/** Everything that can be asked from outside and is answered at once. The server, the documents and the tests walk this list. */
export const operations: readonly Operation[] = [listMachines, getMachine]
