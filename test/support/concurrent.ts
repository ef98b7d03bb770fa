import { AsyncLocalStorage } from 'node:async_hooks'
import { onTestFinished, type TestContext, test } from 'vitest'

const current = new AsyncLocalStorage<TestContext>()

/** A test that waits most of its time: it runs in parallel with the others of its kind in the same file. */
export function concurrently(title: string, body: () => Promise<void>): void {
  test.concurrent(title, (context) => current.run(context, body))
}

/** Vitest's own hook belongs to the test that began last, which need not be the one that asks. */
export function whenFinished(clean: () => unknown): void {
  const hook = current.getStore()?.onTestFinished ?? onTestFinished
  hook(async () => void (await clean()))
}
