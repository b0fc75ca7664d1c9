import { expect, test } from 'vitest'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { rangeWarnings } from './range-warnings.ts'

const SANDBOX = {
  name: '',
  addresses: [],
  bridge: 'cbr0',
  namespacePrefix: 'p',
  clusterDNS: [],
  resolvConf: '',
}

function warnings(change: { own?: string; pods?: string; pool?: string; port?: number }) {
  const { own = '192.0.2.1', pods = '10.244.0.0/24', pool = '192.0.2.0/28', port = 6443 } = change
  const config = {
    securePort: port,
    services: {
      clusterIPRange: ['10.96.0.0/16', 'fd00:96::/112'] as Cidr[],
      nodePortRange: { first: 30_000, last: 32_767 },
    },
    sandboxNode: { ...SANDBOX, enabled: true, podCIDRs: [pods as Cidr] },
    loadBalancer: {
      addressPools: [{ name: '', addresses: [pool], namespaces: [], autoAssign: true }],
      loadBalancerClass: '',
    },
  }
  return rangeWarnings(config, [own as IpAddress])
}

test('ranges that nothing else uses need no warning', () => {
  expect(warnings({})).toEqual([])
})

test.each([
  [{ own: '10.96.3.4' }, /10\.96\.0\.0\/16 contains 10\.96\.3\.4, an address of this machine/],
  [{ own: 'fd00:96::7' }, /fd00:96::\/112 contains fd00:96::7/],
  [{ pods: '10.96.8.0/24' }, /contains addresses of Pods, --pod-cidr 10\.96\.8\.0\/24/],
  [{ pool: '10.96.0.9-10.96.0.12' }, /--load-balancer-pool 10\.96\.0\.9-10\.96\.0\.12/],
  [{ pool: '10.95.255.250-10.96.0.3' }, /--load-balancer-pool/],
  [{ port: 30_443 }, /--secure-port 30443 is in --service-node-port-range 30000-32767/],
])('%j is warned of', (change, message) => {
  expect(warnings(change)).toEqual([expect.stringMatching(message)])
})
