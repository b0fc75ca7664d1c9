import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { FakeNamespace } from '../../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../../kernel/nftables/testing/fake-object-monitor.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { NodeProxyConfiguration } from '../../../nodeproxy/config/fields/configuration.ts'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import { TABLE } from '../keys/names.ts'
import { nftablesDriver } from './nftables-driver.ts'

const COUNTING = { 'nftables.trafficCounters': true }

/** The driver over a kernel that refuses commands with this text, and the sockets that it opened. */
function rig(refused: string) {
  const namespace = new FakeNamespace(new FakeClock())
  const sockets: FakeNftables[] = []
  const driver = nftablesDriver({
    families: [4],
    iptables: { ok: true },
    open: async () => {
      const nftables = new FakeNftables(namespace)
      sockets.push(nftables)
      nftables.refuse(constants.errno.EOPNOTSUPP, (command) =>
        JSON.stringify(command).includes(refused),
      )
      const options = { table: TABLE, exceptPort: nftables.port }
      return { nftables, monitor: new FakeObjectMonitor(namespace, options) }
    },
  })
  return { driver, sockets }
}

function inputs(
  values: Readonly<Record<string, unknown>> = {},
): ModeInputs<NodeProxyConfiguration> {
  const facts = {
    families: [4],
    hairpin: 'bpf',
    randomFully: false,
    routesLocalnet: false,
  } as const
  return { config: configuration(values), node: undefined, facts, localAddresses: [] }
}

test('what is missing is named with the command that brings it; nothing stays open', async () => {
  const { driver, sockets } = rig('"type":"random"')
  const { missing } = await driver.prepare(inputs())
  expect(missing).toEqual([
    {
      code: 'NP_NFTABLES_KERNEL',
      what: expect.stringContaining('IPv4 random choice of an endpoint from a map: '),
      remedy: 'load the kernel modules: modprobe -a nft_numgen nft_nat',
    },
  ])
  expect(() => driver.spec(inputs())).toThrow('the nftables mode is not prepared')
  await driver.prepare(inputs())
  expect(sockets).toHaveLength(2)
})

test('where it forwards, counters are tried before a configuration with them is adopted', async () => {
  const { driver, sockets } = rig('"set":"connections"')
  expect((await driver.prepare(inputs())).missing).toEqual([])
  const demands = [inputs(), inputs(COUNTING)].map(({ config }) => driver.demands(config))
  expect(demands[0]).not.toEqual(demands[1])
  expect(await driver.prepare(inputs(COUNTING))).toMatchObject({
    missing: [{ what: expect.stringContaining('IPv4 counters that packets add: ') }],
  })
  expect(driver.spec(inputs()).mode).toBe('nftables')
  expect(sockets).toHaveLength(1)
})
