import { expect, test } from 'vitest'
import { FakeTraces } from '../../kernel/testing/fake-traces.ts'
import { describeEnforcers } from './foreign-enforcers.ts'

function find(prepare: (traces: FakeTraces) => void): Promise<string | undefined> {
  const traces = new FakeTraces()
  prepare(traces)
  return describeEnforcers(traces, [4, 6])
}

test.each([
  ['4/filter/cali-FORWARD', 'Calico (chain cali-FORWARD in table filter of iptables-nft (IPv4))'],
  ['6/filter/KUBE-NWPLCY-DEFAULT', 'kube-router (chain KUBE-NWPLCY-DEFAULT in'],
  ['4/filter/ANTREA-FORWARD', 'Antrea (chain ANTREA-FORWARD in'],
  ['4/filter/WEAVE-NPC', 'Weave Net (chain WEAVE-NPC in'],
  ['4/filter/AZURE-NPM', 'Azure Network Policy Manager (chain AZURE-NPM in'],
])('chain %s', async (chain, text) => {
  expect(await find(({ chains }) => chains.set(chain, ['nft']))).toContain(text)
})

test.each([
  ['4/calico', 'Calico (table ip calico of nftables)'],
  ['inet/kube-network-policies', 'kube-network-policies (table inet kube-network-policies of'],
  ['inet/kindnet-network-policies', 'kindnet (table inet kindnet-network-policies of'],
])('table %s', async (table, text) => {
  expect(await find(({ nftTables }) => nftTables.add(table))).toContain(text)
})

test.each([
  ['bpfin.cali', 'Calico (device bpfin.cali)'],
  ['cilium_host', 'Cilium (device cilium_host)'],
  ['antrea-gw0', 'Antrea (device antrea-gw0)'],
  ['ovn-k8s-mp0', 'OVN-Kubernetes (device ovn-k8s-mp0)'],
])('device %s', async (device, text) => {
  expect(await find(({ present }) => present.add(device))).toBe(text)
})

test('Service proxies and networks without policies are none', async () => {
  const found = await find(({ chains, nftTables, present }) => {
    for (const chain of ['KUBE-SERVICES', 'KUBE-ROUTER-SERVICES']) {
      chains.set(`4/filter/${chain}`, ['nft'])
    }
    nftTables.add('4/kube-proxy').add('4/node-proxy-policies')
    for (const device of ['kube-ipvs0', 'flannel.1', 'cni0']) present.add(device)
  })
  expect(found).toBeUndefined()
})

test('several are all named', async () => {
  const found = await find(({ nftTables, present }) => {
    nftTables.add('4/calico').add('6/calico')
    present.add('cilium_host')
  })
  expect(found).toBe(
    'Calico (table ip calico of nftables, table ip6 calico of nftables); Cilium (device cilium_host)',
  )
})
