import { defineConfig } from 'vitest/config'

const project = (name: string, timeoutMs: number, concurrent = true) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    fileParallelism: concurrent,
    pool: 'forks' as const,
  },
})

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    projects: [
      project('unit', 20_000),
      project('property', 120_000),
      project('fault', 60_000),
      project('process', 180_000),
      project('host', 300_000),
    ],
  },
})
