import fs from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'

/** Global state that the test files of one process share, and that a test may replace while it runs. */
function shared(): Record<string, unknown> {
  return {
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    setImmediate,
    clearImmediate,
    queueMicrotask,
    fetch,
    Date,
    'Date.now': Date.now,
    'performance.now': performance.now,
    'Math.random': Math.random,
    'process.nextTick': process.nextTick,
    ...prefixed('fs', fs),
    ...prefixed('process.env', process.env),
    'process.exitCode': process.exitCode,
    'process.cwd()': process.cwd(),
  }
}

function prefixed(name: string, values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`${name}.${key}`, value]))
}

/** Names of what the test runner itself changes. */
const OF_THE_RUNNER = /^process\.env\.VITEST_/

/** The key of the state that the first file of this process found. */
const FOUND = Symbol.for('leave-as-found')
const kept: Record<symbol, Record<string, unknown> | undefined> = globalThis
const found = (kept[FOUND] ??= shared())

/**
 * Expects the state that the first file found. What a file leaves changed would fail another file, in some orders of
 * the files. The check also runs before a file, because the runner undoes spies only after the file before.
 */
function expectAsFound(): void {
  const left = shared()
  const names = [...new Set([...Object.keys(found), ...Object.keys(left)])]
  const others = names.filter((name) => !Object.is(left[name], found[name]))
  expect(others.filter((name) => !OF_THE_RUNNER.test(name))).toEqual([])
}

beforeAll(expectAsFound)
afterAll(expectAsFound)
