import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

const loopback = [
  { family: 4, ip: '127.0.0.1', device: 'lo', scope: 'host' },
  { family: 6, ip: '::1', device: 'lo', scope: 'host' },
]

test('addresses are listed, also of interfaces that are down, and changes are heard', async () => {
  const setup = [
    ['ip', 'link', 'add', 'down0', 'type', 'veth', 'peer', 'name', 'down1'],
    ['sysctl', '-q', '-w', 'net.ipv4.ip_forward=0'],
  ]
  expect(await runInside('addresses.script.ts', { setup })).toEqual({
    before: loopback,
    after: [...loopback, { family: 4, ip: '10.5.0.1', device: 'down0', scope: 'global' }],
    sysctl: [true, false, '1'],
  })
})
