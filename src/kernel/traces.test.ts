import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { beforeEach, expect, test } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { FakeTransport } from './netlink/testing/fake-transport.ts'
import { KernelTraces, LegacyChains } from './traces.ts'

const PLACE = { family: 4, table: 'nat', chain: 'KUBE-SERVICES' } as const

let names: string[]
let calls: string[]
const table = { entries: 3, size: 600, text: '' }
let chains: LegacyChains

beforeEach(() => {
  names = ['nat']
  calls = []
  Object.assign(table, { entries: 3, size: 600, text: 'ERROR\0KUBE-SERVICES\0' })
  const reader = {
    info(family: number, name: string) {
      calls.push(`info ${family} ${name}`)
      return { entries: table.entries, size: table.size }
    },
    entries(family: number, name: string) {
      calls.push(`entries ${family} ${name}`)
      return Buffer.from(table.text)
    },
    close: () => {},
  }
  chains = new LegacyChains(reader, async () => names)
})

test('a chain is found by its full name only', async () => {
  expect(await chains.has(PLACE)).toBe(true)
  table.text = 'ERROR\0KUBE-SERVICES-2\0'
  table.entries = 4
  expect(await chains.has(PLACE)).toBe(false)
  table.text = 'ERROR\0MY-KUBE-SERVICES\0'
  table.entries = 5
  expect(await chains.has(PLACE)).toBe(false)
})

test('a table that has not changed is not read again', async () => {
  await chains.has(PLACE)
  await chains.has(PLACE)
  expect(calls).toEqual(['info 4 nat', 'entries 4 nat', 'info 4 nat'])
})

test('a table that does not exist is not read, because reading would create it', async () => {
  names = []
  expect(await chains.has(PLACE)).toBe(false)
  expect(calls).toEqual([])
})

/** The states of the processes of any network namespace with this name: `S` sleeps, `Z` has ended. */
function statesOf(name: string): string[] {
  const stats = readdirSync('/proc').flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/stat`, 'latin1')]
    } catch {
      return []
    }
  })
  return stats.flatMap((stat) => stat.split(` (${name}) `)[1]?.[0] ?? [])
}

test('a process is found by its name until it has ended, also if its parent does not collect it', async () => {
  const folder = mkdtempSync(`${tmpdir()}/np-traces-`)
  const name = `np-end-${process.pid}`
  copyFileSync('/bin/cat', `${folder}/${name}`)
  // The shell becomes a program that collects no child.
  const child = spawn('sh', ['-c', `'${folder}/${name}' <&3 & exec sleep 600`], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  try {
    const traces = new KernelTraces(new FakeTransport().open, systemClock)
    await expect.poll(() => statesOf(name)).toEqual(['S'])
    expect(await traces.processes([name])).toMatchObject([{ name }])
    child.stdio[3]?.destroy()
    await expect.poll(() => statesOf(name)).toEqual(['Z'])
    expect(await traces.processes([name])).toEqual([])
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
})
