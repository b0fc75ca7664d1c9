import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Run } from './run.ts'
import { runFaults } from './run-faults.ts'

/** The most faults that the message names; the file has all of them. */
const NAMED = 8

/** @throws Error that names the seed, the faults and a file with the whole history */
export function expectConsistent(run: Run): void {
  const faults = runFaults(run)
  if (faults.length === 0) return
  const file = join(tmpdir(), `consistency-${run.seed}-${process.pid}.json`)
  writeFileSync(file, JSON.stringify({ faults, ...run }, plain))
  const named = [...faults.slice(0, NAMED), ...(faults.length > NAMED ? ['…'] : [])]
  throw new Error(
    `${faults.length} faults; again with NP_CONSISTENCY_SEED=${run.seed}, history in ${file}\n${named.join('\n')}`,
  )
}

/** The seed of a run: a new one each time, unless the environment names one. */
export function seedOfRun(): number {
  const given = process.env['NP_CONSISTENCY_SEED']
  return given === undefined ? Date.now() % 1_000_000 : Number(given)
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value)
  return value === Number.POSITIVE_INFINITY ? 'never known' : value
}
