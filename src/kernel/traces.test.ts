import { beforeEach, expect, test } from 'vitest'
import { LegacyChains } from './traces.ts'

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
