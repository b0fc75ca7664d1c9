import { expect, test } from 'vitest'
import { ip } from '../../../forwarding/testing/fixtures.ts'
import type { NodeProxyConfiguration } from '../../../nodeproxy/config/fields/configuration.ts'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import { bindMap } from './bind-map.ts'
import { userspaceSettings } from './userspace-settings.ts'

function inputs(
  values: Readonly<Record<string, unknown>> = {},
): ModeInputs<NodeProxyConfiguration> {
  return {
    config: configuration(values),
    node: undefined,
    facts: { families: [4, 6], hairpin: 'bpf', randomFully: true, routesLocalnet: false },
    localAddresses: ['127.0.0.1', '192.0.2.1', '2001:db8::1'].map(ip),
  }
}

test('redirected packets: to the addresses that serve node ports', () => {
  const values = { 'userspace.scheduler': 'lc', 'iptables.localhostNodePorts': true }
  expect(userspaceSettings(inputs(values), 'redirect')).toMatchObject({
    balancing: 'lc',
    listening: {
      kind: 'transparent',
      nodeAddresses: ['192.0.2.1', '2001:db8::1'],
      netfilter: { families: [4, 6], localhostNodePorts: true, dropMartians: false },
    },
  })
})

test('bindings: by the port that they name, several for one of them', () => {
  const read = bindMap.decode([
    '127.0.0.1:80=shop/cart:http',
    '[::1]:80=shop/cart:http',
    '127.0.0.1:53=shop/dns/UDP',
  ])
  const values = { 'userspace.bindMap': read.ok ? read.value : [] }
  expect(userspaceSettings(inputs(values), 'bind')).toEqual({
    balancing: 'rr',
    listening: {
      kind: 'bound',
      bindings: new Map([
        [
          'shop/cart:http/TCP',
          [
            { ip: '127.0.0.1', port: 80 },
            { ip: '::1', port: 80 },
          ],
        ],
        ['shop/dns/UDP', [{ ip: '127.0.0.1', port: 53 }]],
      ]),
    },
  })
})
