import { describe, expect, test } from 'vitest'
import { proxyMode } from '../lab/daemon-config.ts'
import { readSysctl } from '../lab/sysctl.ts'
import { useLab } from '../lab/use-lab.ts'
import { createFlowSequence } from './flow-sequence.ts'
import type { LabConfig, LabFlow } from './lab-flow.ts'
import { expectMartiansRefused } from './martian.ts'
import { proxyConfigOf, runFlow } from './replay.ts'
import { inUserspace } from './userspace-flow.ts'

/**
 * Declares a test with real packets for every flow of the configurations. Configurations with the same daemon settings
 * share one lab, so that each also starts from what the one before left in the kernel.
 */
export function testFlows(configs: readonly LabConfig[]): void {
  describe.each(groupByDaemon(configs))('daemon %#', (...group) => {
    testGroup(group)
  })
}

function testGroup(group: readonly LabConfig[]): void {
  const lab = useLab({
    config: proxyConfigOf(group[0]!),
    nodeLabels: group[0]?.node?.labels ?? {},
  })

  describe.each(group)('$id', (config) => {
    const sequence = createFlowSequence(lab, config)
    test.each(flowsOf(config))('%s', async (_name, { flow, step }) => {
      await sequence.reach(step)
      const faults = await runFlow(lab(), flow, sequence.memory)
      expect(faults.length === 0 ? [] : [...faults, lab().daemon.logs()]).toEqual([])
    })
  })

  describe.each(group.filter(isMartianTest))('$id', (config) => {
    test('packets from the wire to a loopback address stay unheard', async () => {
      await createFlowSequence(lab, config).reach(0)
      const allowed = await readSysctl(lab().node.agent, 'net/ipv4/conf/all/route_localnet')
      expect(allowed).toBe(isOpen(config) ? '1' : '0')
      await expectMartiansRefused(lab())
    })
  })
}

/** Whether the configuration says, for IPv4, if a rule of node-proxy drops such packets, or the kernel itself. */
function isMartianTest({ expectAntiMartianRule, family }: LabConfig): boolean {
  return expectAntiMartianRule !== undefined && family === 'IPv4'
}

/** Whether the kernel routes loopback addresses, which IPVS does not need for node ports. */
function isOpen({ expectAntiMartianRule }: LabConfig): boolean {
  return expectAntiMartianRule === true && ['iptables', 'nftables'].includes(proxyMode())
}

function groupByDaemon(configs: readonly LabConfig[]): LabConfig[][] {
  const groups = new Map<string, LabConfig[]>()
  for (const config of configs) {
    const key = JSON.stringify([proxyConfigOf(config), config.node?.labels ?? {}])
    groups.set(key, [...(groups.get(key) ?? []), config])
  }
  return [...groups.values()]
}

function flowsOf(config: LabConfig): (readonly [string, { flow: LabFlow; step: number }])[] {
  return config.steps.flatMap(({ flows }, step) =>
    flows.map((flow) => [flow.name, { flow: forMode(flow), step }] as const),
  )
}

function forMode(flow: LabFlow): LabFlow {
  if (proxyMode() === 'userspace') return inUserspace(flow)
  const deviation = flow.modes?.[proxyMode()]
  if (deviation && !isShared(deviation)) return flow
  return deviation === undefined ? flow : { ...flow, expect: { ...flow.expect, ...deviation } }
}

/**
 * Whether an expectation of the flow file for kube-proxy's nftables mode also holds for ours. Ours also refuses ports
 * of a ClusterIP that no Service has. Node ports and addresses without a Service are handled as in the other modes, so
 * that the mode can be changed.
 */
function isShared({ outcome }: Partial<LabFlow['expect']>): boolean {
  return proxyMode() !== 'nftables' || outcome === 'reject'
}
