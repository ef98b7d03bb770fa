import { defineConfig } from 'vitest/config'

/** `fast` is the inner loop; `slow` starts real processes, databases and browsers. `npm test` runs both. */
export default defineConfig({
  test: {
    reporters: ['default', './scripts/reporter.ts'],
    projects: [
      { test: { name: 'fast', include: ['test/**/*.test.ts'], exclude: ['test/slow/**'] } },
      {
        test: {
          name: 'slow',
          include: ['test/slow/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
