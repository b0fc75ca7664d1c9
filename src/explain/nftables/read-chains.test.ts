import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { firstPacket } from '../packet/packet-state.ts'
import { readNftablesChains } from './read-chains.ts'

const PACKET = firstPacket({
  ...{ family: 4, protocol: 'TCP', src: '10.0.0.1' as IpAddress, srcPort: undefined },
  ...{ dst: '10.0.0.2' as IpAddress, dstPort: 80 },
})

function listing(...chains: object[]) {
  const nftables = [{ metainfo: { version: '1.0.6' } }, ...chains.map((chain) => ({ chain }))]
  return async () => ({ status: 0, stdout: JSON.stringify({ nftables }), stderr: '' })
}

const FORWARD = { hook: 'forward', prio: 10, type: 'filter', policy: 'accept', name: 'fwd' }

test('a base chain of another program makes a packet uncertain, and is named', async () => {
  const run = listing({ family: 'inet', table: 'firewalld', ...FORWARD })
  const [found, ...others] = await readNftablesChains(run)
  expect(others).toEqual([])
  expect(found).toMatchObject({ hook: 'forward', priority: 10, families: [4, 6], isNat: false })
  expect(found?.apply(PACKET)[0]?.verdict).toEqual({
    kind: 'uncertain',
    reason: 'rules of the chain fwd of the nftables table inet firewalld are not interpreted',
  })
})

test('chains that are no base chains, of bridges, or of iptables do not count', async () => {
  const run = listing(
    { family: 'ip', table: 'mine', name: 'helper' },
    { family: 'bridge', table: 'mine', ...FORWARD },
    { family: 'ip', table: 'filter', ...FORWARD },
  )
  expect(await readNftablesChains(run)).toEqual([])
})

test('a machine without nft has none; one whose nft fails cannot be explained', async () => {
  const without = async () => ({ status: 127, stdout: '', stderr: '' })
  expect(await readNftablesChains(without)).toEqual([])
  const failing = async () => ({ status: 1, stdout: '', stderr: 'Operation not permitted' })
  await expect(readNftablesChains(failing)).rejects.toMatchObject({ code: 'NP_EXPLAIN_READ' })
})
