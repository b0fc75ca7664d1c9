import { expect, test } from 'vitest'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { loadedTables } from './loaded-tables.ts'

async function rig(backend: 'nft' | 'legacy') {
  const real = new FakeIptables({ backend })
  await real.restore(4, '*nat\n:MINE - [0:0]\n-A MINE -j RETURN\nCOMMIT\n')
  const queries: string[] = []
  const save = real.save.bind(real)
  real.save = (family, table, options) => {
    queries.push(`save ${family} ${table}`)
    return save(family, table, options)
  }
  const listChain = real.listChain.bind(real)
  real.listChain = (family, table, chain) => {
    queries.push(`list ${family} ${table}`)
    return listChain(family, table, chain)
  }
  const iptables = loadedTables(real, (family, table) => family === 4 && table === 'nat')
  return { iptables, queries }
}

test('only loaded tables of the legacy variant are read', async () => {
  const { iptables, queries } = await rig('legacy')
  expect([...(await iptables.save(4, 'nat')).chains.keys()]).toContain('MINE')
  expect((await iptables.save(4, 'mangle')).chains.size).toBe(0)
  expect((await iptables.save(6, 'nat')).chains.size).toBe(0)
  expect(await iptables.listChain(4, 'nat', 'MINE')).toEqual(['-j RETURN'])
  expect(await iptables.listChain(6, 'nat', 'MINE')).toBeUndefined()
  expect(queries).toEqual(['save 4 nat', 'list 4 nat'])
  expect(await iptables.restore(4, '*nat\n-F MINE\nCOMMIT\n')).toMatchObject({ ok: true })
  expect(await iptables.listChain(4, 'nat', 'MINE')).toEqual([])
})

test('reading the nft variant loads nothing, so every table is read', async () => {
  const { iptables, queries } = await rig('nft')
  await iptables.save(6, 'mangle')
  expect(queries).toEqual(['save 6 mangle'])
})
