import { beforeAll, describe, expect, test } from 'vitest'
import { expectFound } from '../../support/doctor/broken-node.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { SERVICES } from '../../support/doctor/services.ts'
import { deployAll } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** A healthy node in the modes that are tested elsewhere in iptables mode, and a firewall in the way. */
describe.each(['nftables', 'userspace'] as const)('mode %s', (mode) => {
  const lab = useLab({ config: { mode } })
  beforeAll(() => deployAll(lab(), SERVICES))

  test('nothing is found on a healthy node', async () => {
    expect(await nodeFindings(lab(), '--connect')).toEqual([])
  })

  test('node ports are closed', () =>
    expectFound(lab(), {
      name: '',
      run: ['iptables -t raw -I PREROUTING -p tcp --dport 30000:32767 -j DROP'],
      undo: ['iptables -t raw -D PREROUTING -p tcp --dport 30000:32767 -j DROP'],
      check: 'node-firewall',
      cause: /iptables raw PREROUTING/,
    }))

  test('the policy of FORWARD is DROP, as Docker sets it', async () => {
    const broken = {
      name: '',
      run: ['iptables -P FORWARD DROP'],
      undo: ['iptables -P FORWARD ACCEPT'],
      check: 'node-firewall',
      cause: /iptables filter FORWARD: -P FORWARD DROP/,
    }
    // What a process of the node forwards passes no FORWARD chain.
    const isInTheWay = mode === 'nftables'
    if (isInTheWay) await expectFound(lab(), broken)
    else await expect(expectFound(lab(), broken)).rejects.toThrow(/undefined/)
  })
})
