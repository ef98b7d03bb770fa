/** The thread of a heartbeat, which goes on while the main thread is busy. See `heart.ts`. */

import { parentPort, workerData } from 'node:worker_threads'
import { type HeartData, keepBeating, type Order } from './heartbeat.ts'

const obey = keepBeating(workerData as HeartData, (told) => parentPort?.postMessage(told))

parentPort?.on('message', async (order: Order) => {
  await obey(order)
  if (order.order === 'stop') parentPort?.close()
})
