import { expect, test } from 'vitest'
import type { ServiceKey } from '../../forwarding/entry.ts'
import { entry, frontend, ip } from '../testing/mode-fixtures.ts'
import { bindingKey, listeningOf } from './settings.ts'

const service = 'shop/cart' as ServiceKey
const at = (port: number) => ({ ip: ip('127.0.0.1'), port })

test.each([
  [{ portRef: 'http', protocol: 'TCP' }, 'shop/cart:http/TCP'],
  [{ portRef: '80', protocol: 'UDP' }, 'shop/cart:80/UDP'],
  [{ protocol: 'TCP' }, 'shop/cart/TCP'],
] as const)('%j is %s', (port, key) => {
  expect(bindingKey({ service, ...port })).toBe(key)
})

test('a port is found by its name, by its number and as the only one, each address once', () => {
  const bindings = new Map([
    ['shop/cart:http/TCP', [at(1), at(9)]],
    ['shop/cart:80/TCP', [at(2), at(9)]],
    ['shop/cart/TCP', [at(3)]],
    ['shop/cart:https/TCP', [at(4)]],
    ['shop/cart:http/UDP', [at(5)]],
    ['shop/other:http/TCP', [at(6)]],
  ])
  const ports = listeningOf(entry(), 'TCP', bindings).map(({ port }) => port)
  expect(ports).toEqual([1, 9, 2, 3])
})

test('the number is that of the Service, whatever external addresses say; a name may be missing', () => {
  const external = frontend({ kind: 'nodePort', ip: 'node', port: 30_080 })
  const one = entry({ portName: '', frontends: [external, frontend({ port: 8443 })] })
  const bindings = new Map([
    ['shop/cart:30080/TCP', [at(1)]],
    ['shop/cart:8443/TCP', [at(2)]],
    ['shop/cart:/TCP', [at(3)]],
  ])
  expect(listeningOf(one, 'TCP', bindings)).toEqual([at(2)])
})
