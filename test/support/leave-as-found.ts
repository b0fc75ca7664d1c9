import fs from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'

/** What the files of one process share, and a test may replace for its own time. */
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

/** What the runner of the tests changes itself. */
const OF_THE_RUNNER = /^process\.env\.VITEST_/

/** As the first file of this process found it. */
const FOUND = Symbol.for('leave-as-found')
const kept: Record<symbol, Record<string, unknown> | undefined> = globalThis
const found = (kept[FOUND] ??= shared())

/**
 * What a file leaves behind fails another one, in some orders of the files. What is replaced only
 * when the file is over, by the runner that undoes spies, shows before the next.
 */
function expectAsFound(): void {
  const left = shared()
  const names = [...new Set([...Object.keys(found), ...Object.keys(left)])]
  const others = names.filter((name) => !Object.is(left[name], found[name]))
  expect(others.filter((name) => !OF_THE_RUNNER.test(name))).toEqual([])
}

beforeAll(expectAsFound)
afterAll(expectAsFound)
